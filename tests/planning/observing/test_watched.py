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
from tests.support.stacks.existing import existing, of_pool

SGLANG = {"type": "sglang", "image": "registry.example/sglang:v0.5.6"}


def watched(stack: dict[str, Any]) -> Iterator[WatchedService]:
    """Yield the services of a stack as dashboards see them."""
    return deciding.watched_services(plan(stack).services, resolve(load(with_copies(stack)).stack))


@pytest.mark.parametrize(
    ("fields", "features"),
    [
        ({}, {"engine", "gateway", "picker", "requests"}),
        ({"prefill": {"replicas": 2}}, {"engine", "gateway", "picker", "requests", "prefill", "consumer", "nixl"}),
        ({"kvCache": {"cpuOffload": "8Gi"}}, {"engine", "gateway", "picker", "requests", "consumer", "offloading"}),
        ({"endpointPicker": {"enabled": False}}, {"engine", "requests"}),
        ({"metrics": {"picker": False}}, {"engine", "gateway", "requests"}),
        ({"metrics": {"decode": False}, "slo": None}, {"gateway", "picker"}),
        ({"engine": SGLANG, "slo": None}, {"gateway", "picker"}),
    ],
)
def test_features_follow_from_the_configuration(fields: dict[str, Any], features: set[str]):
    (service,) = watched(drawn(qwen=fields))
    assert service.variants[0].features == features


def test_a_service_has_features_that_no_variant_has():
    (service,) = watched(drawn(qwen={"canary": {"weight": 10}}))
    assert service.own_features == {"availability", "canary", "pods", "rules", "scraped", "tpot", "ttft"}
    assert service.features == {*service.own_features, "engine", "gateway", "picker", "requests"}


@pytest.mark.parametrize("fields", [{"engine": SGLANG}, {"canary": {"weight": 10, "engine": SGLANG}}])
def test_variants_whose_requests_are_not_all_counted_are_not_compared(fields: dict[str, Any]):
    (service,) = watched(drawn(qwen={"canary": {"weight": 10}, "slo": None, **fields}))
    assert "canary" not in service.own_features


def test_the_longest_interval_of_a_service_counts():
    canary = {"weight": 10, "metrics": {"interval": "2m"}}
    (service,) = watched(drawn(qwen={"metrics": {"interval": "1500ms"}, "canary": canary}))
    assert service.interval == "120s"
    (same,) = watched(drawn(qwen={"metrics": {"interval": "1500ms"}}))
    assert same.interval == "1500ms"


def test_each_version_of_a_role_has_a_scope():
    (service,) = watched(drawn(qwen={"engine": image("0.33.0"), "prefill": {"engine": image("0.19.1")}}))
    scopes = {scope.engine: scope.roles for scope in service.variants[0].engines}
    assert scopes == {"0.33.0": ("decode",), "0.19.1": ("prefill",)}
    (same,) = watched(drawn(qwen={"prefill": {"replicas": 2}}))
    assert [scope.roles for scope in same.variants[0].engines] == [()]


def test_a_service_that_nothing_scrapes_has_the_series_that_the_cluster_has():
    nothing = {"decode": False, "picker": False}
    bert, qwen = watched(drawn(qwen={}, bert={"metrics": nothing, "slo": None}))
    assert (bert.key, bert.interval, bert.own_features) == ("bert", None, {"pods", "rules"})
    assert "scraped" in qwen.own_features


def test_a_service_without_pods_is_left_out():
    assert not list(watched(of_pool() | {"observability": {"metrics": {"type": "gmp"}, "dashboards": {}}}))


def test_pods_of_somebody_else_are_no_pods_of_a_service():
    stack = existing() | {"observability": {"metrics": {"type": "gmp"}, "dashboards": {}}}
    (service,) = watched(stack)
    assert service.own_features == {"scraped"}
    assert service.features == {"gateway", "picker", "scraped"}
