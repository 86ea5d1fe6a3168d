"""Features of services on which panels depend."""

from collections.abc import Iterator
from typing import Any

import pytest

from models.load import load
from planning import deciding
from planning.observing.watched import WatchedService
from planning.resolve import resolve
from tests.support.stacks import plan, with_copies
from tests.support.stacks.dashboards import drawn, image
from tests.support.stacks.existing import existing


def watched(stack: dict[str, Any]) -> Iterator[WatchedService]:
    """Yield the services of a stack as dashboards see them."""
    return deciding.watched_services(plan(stack).services, resolve(load(with_copies(stack)).stack))


@pytest.mark.parametrize(
    ("fields", "features"),
    [
        ({}, {"engine", "picker"}),
        ({"prefill": {"replicas": 2}}, {"engine", "picker", "prefill", "consumer", "nixl"}),
        ({"kvCache": {"cpuOffload": "8Gi"}}, {"engine", "picker", "consumer", "offloading"}),
        ({"endpointPicker": {"enabled": False}}, {"engine"}),
        ({"metrics": {"picker": False}}, {"engine"}),
        ({"metrics": {"decode": False}, "slo": None}, {"picker"}),
        ({"engine": {"type": "sglang", "image": "registry.example/sglang:v0.5.6"}, "slo": None}, {"picker"}),
    ],
)
def test_features_follow_from_the_configuration(fields: dict[str, Any], features: set[str]):
    (service,) = watched(drawn(qwen=fields))
    assert service.variants[0].features == features


def test_a_service_has_features_that_no_variant_has():
    (service,) = watched(drawn(qwen={"canary": {"weight": 10}}))
    assert service.own_features == {"availability", "canary", "pods", "rules", "tpot", "ttft"}
    assert service.features == {*service.own_features, "engine", "picker"}


def test_a_canary_whose_engines_count_no_requests_has_no_share():
    sglang = {"type": "sglang", "image": "registry.example/sglang:v0.5.6"}
    (service,) = watched(drawn(qwen={"canary": {"weight": 10, "engine": sglang}, "slo": None}))
    assert len(service.variants) == 2
    assert "canary" not in service.features


def test_each_version_of_a_role_has_a_scope():
    (service,) = watched(drawn(qwen={"engine": image("0.33.0"), "prefill": {"engine": image("0.19.1")}}))
    scopes = {scope.engine: scope.roles for scope in service.variants[0].engines}
    assert scopes == {"0.33.0": ("decode",), "0.19.1": ("prefill",)}
    (same,) = watched(drawn(qwen={"prefill": {"replicas": 2}}))
    assert [scope.roles for scope in same.variants[0].engines] == [()]


def test_a_service_that_nothing_scrapes_is_left_out():
    nothing = {"decode": False, "picker": False}
    keys = [service.key for service in watched(drawn(qwen={}, bert={"metrics": nothing, "slo": None}))]
    assert keys == ["bert", "qwen"], "its pods may be scraped by others, and the cluster has series of them"


def test_pods_of_somebody_else_are_no_pods_of_a_service():
    stack = existing() | {"observability": {"metrics": {"type": "gmp"}, "dashboards": {}}}
    (service,) = watched(stack)
    assert service.own_features == frozenset()
    assert service.features == {"picker"}
