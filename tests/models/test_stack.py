"""A stack: its checks, names of other stacks, sources of facts, and its defaults."""

import pytest

from models.stack import Stack
from tests.support.stacks import mistakes, tree


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"checks": {"fit": "error"}},
            "checks.fit: is not one of strict, warn or skip (error); choose one of them",
        ),
        (
            {"platform": {"stack": "platform/prod"}},
            (
                "platform.stack: is not the full name of a stack (platform/prod); write organization/project/stack, "
                "such as organization/platform/prod"
            ),
        ),
        (
            {"formerly": ["staging"]},
            "formerly[0]: is not the name of a stack (staging); write project/stack, or organization/project/stack",
        ),
        (
            {"cluster": {"facts": {"type": "file"}}},
            "cluster.facts.path: is missing; add it, such as facts.json",
        ),
        (
            {"observability": {"tracing": {"endpoint": "http://traces:4317", "samplerArg": "1.5"}}},
            'observability.tracing.samplerArg: is not a share (1.5); write a quoted number from "0" to "1"',
        ),
        (
            {"allow": ["all"]},
            (
                "allow[0]: is not one of cluster, meaning, name, namespace, outage, release, removal or takeover "
                "(all); choose one of them"
            ),
        ),
        (
            {"images": {"kit": "registry.example/kitops"}},
            (
                "images.kit: is not an image reference (registry.example/kitops); write registry/repository with a tag "
                "or digest, such as ghcr.io/org/name:v1"
            ),
        ),
    ],
)
def test_a_mistaken_stack_is_refused(keys, message):
    assert mistakes(tree() | keys) == [message]


def test_a_stack_reads_facts_from_its_cluster_and_checks_what_it_needs():
    stack = Stack.model_validate(tree())
    assert (stack.cluster.facts.type, stack.cluster.domain) == ("live", "cluster.local")
    checks = stack.checks
    assert (checks.preflight, checks.capacity, checks.fit, checks.lock) == ("strict", "warn", "warn", "warn")
    assert (stack.allow, stack.formerly, stack.extends, stack.caches) == ((), (), (), {})
    options = stack.namespace_options
    assert (options.create, options.retain, options.protect) == (False, False, False)


def test_a_model_gets_its_source_from_the_cache_of_the_stack():
    storage = {"type": "shared", "cache": "mistral"}
    service = {"model": {"name": "m"}, "storage": storage}
    stack = Stack.model_validate(tree(qwen=service) | {"caches": {"mistral": {"source": "s3://acme/mistral"}}})
    assert stack.services["qwen"].model.source == "s3://acme/mistral"
