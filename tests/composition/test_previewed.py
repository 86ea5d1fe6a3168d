"""Changes since the facts of an approved preview, of all that a stack needs."""

from dataclasses import replace
from pathlib import Path

import pytest

from composition import Composition, Given, Live, compose
from facts import facts_file
from judging.preflight.earlier_preview import FILE
from planning.ground.cluster_facts import (
    NOTHING_READ,
    Bundles,
    ClusterFacts,
    GatewayRef,
    Gateways,
    LiveGateway,
    LiveRoute,
    ParentRef,
    Routes,
    Served,
    Unknown,
)
from planning.ground.inventory import FactsOrigin, LiveNamespace, Namespaces, PriorityClasses, Secrets, StorageClasses
from planning.ground.marks import NO_MARK, Mark
from tests.support.stacks import NAME, tree

REF = GatewayRef("gateway.networking.k8s.io", "Gateway", "gateways", "gateway")
OTHER = replace(REF, name="other")
PULLED = {"model": {"name": "org/m", "source": "kit://registry.example/m:v1", "size": "1Gi", "secrets": ["registry"]}}
STORED = {"storage": {"type": "dedicated", "storageClassName": "fast"}}
STACK = tree(qwen={**PULLED, **STORED, "pod": {"priorityClassName": "high"}})


def route(name, ref=REF, mark=NO_MARK):
    return LiveRoute("models", name, (ParentRef(ref, None, None),), (f"{name}.example.com",), (), mark)


def composed(facts, earlier):
    found = compose(STACK, Given(facts, "prod", earlier), NAME)
    assert isinstance(found, Composition), found
    return found


def whole():
    kinds = frozenset(each.api for each in composed(NOTHING_READ, None).objects)
    ours = Mark(stack=str(NAME))
    return ClusterFacts(
        Served(kinds | {"example.com/v1/Other"}),
        Gateways(tuple(LiveGateway(ref, accepted=True, programmed=True) for ref in (REF, OTHER))),
        Routes((route("theirs"), route("ours", mark=ours), route("elsewhere", OTHER))),
        bundles=Bundles({}),
        namespaces=Namespaces({"models": LiveNamespace({}, {}), "chat": LiveNamespace({}, {})}),
        secrets=Secrets((("models", "registry"), ("chat", "registry"))),
        storage_classes=StorageClasses({"fast": False, "slow": True}),
        priority_classes=PriorityClasses({"high": False, "low": False}),
    )


def changes(facts, earlier):
    """Return what a run says of earlier facts."""
    found = [problem for problem in composed(facts, earlier).preflight if problem.path == FILE]
    assert {problem.severity for problem in found} <= {"warning"}
    return [str(problem).removeprefix("inference-stacks:previewed: ") for problem in found]


CHANGES = {
    "apis": (Served(frozenset()), "apis: apps/v1/Deployment is new"),
    "gateways": (Gateways(()), "gateways: gateways/gateway is new"),
    "routes": (Routes(()), "routes: models/theirs is new"),
    "bundles": (Bundles({"pools": "v1"}), "bundles: pools is gone"),
    "namespaces": (Namespaces({"models": LiveNamespace({"a": "b"}, {})}), "namespaces: models is different"),
    "secrets": (Secrets(()), "secrets: models/registry is new"),
    "storage_classes": (StorageClasses({}), "storage_classes: fast is new"),
    "priority_classes": (PriorityClasses({}), "priority_classes: high is new"),
}
"""Another earlier value of each part, and what a run says of the cluster as it is."""


@pytest.mark.parametrize("part", CHANGES)
def test_what_a_stack_needs_and_has_changed_is_told(part):
    earlier, change = CHANGES[part]
    found = changes(whole(), replace(whole(), **{part: earlier}))
    assert f"the cluster has changed since this file was written ({change})" in found
    assert part == "apis" or len(found) == 1


def test_nothing_is_told_of_what_a_stack_does_not_need():
    facts = whole()
    assert changes(facts, facts) == changes(facts, None) == []
    earlier = replace(
        facts,
        apis=Served(facts.apis.kinds - {"example.com/v1/Other"}),
        gateways=Gateways(facts.gateways.gateways[:1]),
        routes=Routes(facts.routes.routes[:1]),
        namespaces=Namespaces({"models": LiveNamespace({}, {})}),
        secrets=Secrets((("models", "registry"),)),
        storage_classes=StorageClasses({"fast": False}),
        priority_classes=PriorityClasses({"high": False}),
    )
    assert changes(facts, earlier) == changes(earlier, facts) == []


def test_what_one_reading_lacks_is_not_compared():
    facts = whole()
    assert changes(facts, replace(facts, secrets=Unknown("it was not asked for"))) == []
    assert changes(replace(facts, secrets=Unknown("it answered 403")), facts) == []
    assert changes(NOTHING_READ, facts) == []


def test_earlier_facts_of_another_cluster_or_another_day_are_told():
    (cluster, day) = changes(whole(), replace(whole(), origin=FactsOrigin("test", None, "2026-01-01T00:00:00Z")))
    assert cluster.startswith("the file describes cluster test, but this run is for prod")
    assert "hours old" in day


def test_the_file_is_that_of_the_configuration_key(tmp_path):
    (tmp_path / "facts.json").write_text(facts_file.text(whole()))
    read = Live(None, tmp_path, "facts.json").earlier_facts()
    assert (read.apis, read.routes) == (whole().apis, whole().routes)
    assert Live(None, tmp_path).earlier_facts() is None
    found = changes(whole(), Live(None, Path("/nowhere"), "facts.json").earlier_facts())
    assert found == [
        "facts.json cannot be read (No such file or directory); name a file that python -m cli facts wrote",
    ]
