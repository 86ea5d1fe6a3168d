"""Caches that no service uses."""

import pytest

from tests.support.stacks import lines, plan, tree

SHARED = {"model": {"name": "org/model", "source": "s3://bucket/m"}, "storage": {"type": "shared", "cache": "m"}}
CACHE = {"source": "s3://bucket/m", "size": "10Gi"}
UNUSED = "caches.m: is used by no service, and its claim (11Gi) and its Job remain; remove it, and"


def warnings(cache, **services):
    return lines(plan(tree(**services) | {"caches": {"m": cache}}).warnings, "warning")


@pytest.mark.parametrize(
    ("retain", "effect"), [(False, "both are deleted"), (True, "the Job is deleted, but the claim remains (retain)")]
)
def test_a_cache_without_its_last_user_is_told_with_what_remains(retain, effect):
    """See defects C18."""
    assert warnings({**CACHE, "retain": retain}, qwen={}) == [f"{UNUSED} {effect}"]


@pytest.mark.parametrize("services", [{"qwen": SHARED}, {"qwen": {"canary": {"weight": 10, **SHARED}}}])
def test_a_cache_with_a_user_is_not_told(services):
    assert warnings(CACHE, **services) == []
