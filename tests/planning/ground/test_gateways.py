"""Facts of gateways: versions as numbers, and pages that say what the tables say."""

from pathlib import Path

import pytest

from models.routing import Gateway
from planning.ground import bundles, gateways
from planning.releases import channel, channels

SINCE = ["1.29.8", "1.30.6", "1.31.2", "1.32.0"]
PAGE = Path("docs/requirements.md").read_text(encoding="utf-8")


def gateway(provider, version=None):
    return Gateway.model_validate({"name": "one", "provider": provider} | ({"version": version} if version else {}))


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.28.9", False),
        ("1.29.7", False),
        ("1.29.8", True),
        ("1.30", False),
        ("1.30.10", True),
        ("1.31.1", False),
        ("1.31.2-distroless", True),
        ("1.32.0", True),
        ("v2", True),
    ],
)
def test_a_version_counts_in_its_own_line_or_beyond_the_last_one(version, expected):
    assert gateways.is_at_least_one(version, SINCE) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("v1.4.0", (1, 4, 0)), ("1.34.0-gke.1626000", (1, 34, 0)), ("1.10", (1, 10, 0)), ("main-dev", ()), ("", ())],
)
def test_the_numbers_of_a_version(text, expected):
    assert gateways.numbers(text) == expected


def test_of_an_unknown_gateway_nothing_is_known_and_of_an_unknown_version_the_worst():
    assert gateways.facts(gateway("none")) is None
    assert gateways.asks_each_picker(gateway("none"))
    assert not gateways.asks_each_picker(gateway("istio"))
    assert gateways.asks_each_picker(gateway("istio", "1.31.2"))
    assert gateways.asks_each_picker(gateway("gke"))


@pytest.mark.parametrize(
    ("provider", "counts"), [("istio", False), ("gke", False), ("agentgateway", True), ("none", True)]
)
def test_a_time_limit_includes_the_wait_in_the_picker_unless_the_implementation_starts_it_later(provider, counts):
    assert gateways.counts_wait(gateway(provider)) is counts


@pytest.mark.parametrize("provider", ["istio", "gke", "agentgateway"])
def test_a_defect_ends_with_a_version_that_lacks_it_or_is_known_up_to_one(provider):
    for defect in gateways.facts(gateway(provider)).defects:
        assert bool(defect.fixed) != bool(defect.last)
        assert defect.is_in(defect.since)
        assert not any(defect.is_in(version) for version in defect.fixed)
        assert defect.last is None or defect.is_in(defect.last)
        assert not defect.is_in("99")
        assert not defect.is_in("0.1")
        assert defect.fixed or defect.otherwise


def test_a_gateway_of_unknown_implementation_or_version_has_no_known_defect():
    assert gateways.defects(gateway("none", "1.28.1")) == gateways.defects(gateway("istio")) == []
    assert [defect.when for defect in gateways.defects(gateway("istio", "1.28.4"))] == ["severalRoutes", "poolProtocol"]
    assert [defect.when for defect in gateways.defects(gateway("istio", "1.29.0"))] == ["poolProtocol"]
    assert gateways.defects(gateway("istio", "1.31.0")) == []


@pytest.mark.parametrize("name", channels())
def test_what_is_installed_on_demand_is_never_older_than_what_a_release_requires(name):
    """See defects A15."""
    for requirement in channel(name).requirements.of_definitions:
        for bundle in bundles.all_bundles():
            if (bundle.definition or "").partition(".")[2] == requirement.group:
                assert gateways.numbers(bundle.version) >= gateways.numbers(requirement.version)
                assert f"{bundle.name.partition(',')[0]} {requirement.version}" in PAGE


@pytest.mark.parametrize("name", channels())
def test_the_page_of_requirements_has_the_versions_of_istio(name):
    """See defects A15."""
    assert channel(name).requirements.istio.version in PAGE
    assert name in PAGE


def test_the_page_of_requirements_says_what_the_tables_say():
    """See defects A1, A15."""
    for provider in ("istio", "gke", "agentgateway"):
        facts = gateways.facts(gateway(provider))
        assert all(version in PAGE for version in facts.weighted_pools.since)
        assert facts.minimum is None or facts.minimum.version in PAGE
        assert facts.proxies is None or facts.proxies.subnet in PAGE


def test_requests_to_a_pool_are_told_apart_by_the_labels_of_the_gateway():
    istio = gateways.facts(gateway("istio")).requests
    assert istio.of_pool("models", "chat", 8000) == {
        "reporter": "source",
        "destination_service_name": gateways.pool_service("chat"),
        "destination_service_namespace": "models",
    }
    agentgateway = gateways.facts(gateway("agentgateway")).requests
    assert agentgateway.of_pool("models", "chat", 8000) == {"backend": "chat.models.inference.cluster.local:8000"}
    assert gateways.facts(gateway("gke")).requests is None


def test_metrics_of_requests_have_the_labels_by_which_they_are_asked():
    for provider in ("istio", "agentgateway"):
        facts = gateways.facts(gateway(provider)).requests
        assert {facts.status, *facts.matchers} <= set(facts.requests.labels), provider
        assert facts.requests.labels == sorted(set(facts.requests.labels)), provider


@pytest.mark.parametrize(
    ("pool", "service"),
    [
        (
            "very-long-inference-pool-name-that-should-be-truncated-properly",
            "very-long-inference-pool-name-that-should-be-trunca-ip-6d24df6a",
        ),
        ("test-pool", "test-pool-ip-2bee061e"),
    ],
)
def test_the_service_of_a_pool_has_the_name_that_istiod_gives_it(pool, service):
    """The first name is that of istio's own test (pilot/pkg/config/kube/gateway/inferencepool_test.go)."""
    assert gateways.pool_service(pool) == service
