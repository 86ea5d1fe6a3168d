"""Settings of network policies that let nothing through, and mistakes below what is switched off."""

import pytest

from tests.support.stacks import lines, plan, tree

EGRESS = "networkPolicies.egressCIDRs: has no effect, because the stack fetches nothing from outside of the cluster "
EGRESS += "and sends nothing there; remove it"
SCRAPER = "networkPolicies.prometheusNamespace: has no effect, because nothing of the stack is scraped (watching); "
SCRAPER += "set observability.metrics.type, or remove it"
CLAIM = {"model": {"name": "org/m", "source": "pvc://weights/m"}}
RANGE = {"egressCIDRs": ["203.0.113.0/24"]}
WATCHING = {"prometheusNamespace": "watching"}
PREDICTOR = {"trainingServer": "https://train.example.com", "predictionServers": ["https://predict.example.com"]}
GROWING = {"type": "hpa", "maxReplicas": 2, "metrics": [{"type": "queue-size", "target": 5}]}
TRACED = {"observability": {"tracing": {"endpoint": "https://collector.example.com"}}}
CACHE = {"caches": {"m": {"source": "s3://bucket/m", "size": "1Gi"}}}


def warnings(policies, service, **more):
    return lines(plan(tree(qwen=service) | {"networkPolicies": policies} | more).warnings, "warning")


def test_ranges_that_nothing_is_fetched_from_are_told():
    """See defects C9."""
    assert warnings(RANGE, CLAIM) == [EGRESS]


@pytest.mark.parametrize(
    ("service", "more"),
    [
        ({}, {}),
        (CLAIM, TRACED),
        ({**CLAIM, "endpointPicker": {"preset": "predicted-latency", "latencyPredictor": PREDICTOR}}, {}),
    ],
    ids=["fetched", "traced", "predicted"],
)
def test_ranges_that_pods_reach_are_not_told(service, more):
    assert warnings(RANGE, service, **more) == []


def test_ranges_that_the_job_of_a_cache_reaches_are_not_told():
    shared = {"model": {"name": "org/m", "source": "s3://bucket/m"}, "storage": {"type": "shared", "cache": "m"}}
    assert warnings(RANGE, shared, **CACHE) == []


@pytest.mark.parametrize("more", [{}, {"observability": {"metrics": {"type": "none"}}}])
def test_a_namespace_of_a_scraper_of_nothing_is_told(more):
    """See defects C9."""
    assert warnings(WATCHING, {}, **more) == [SCRAPER]


@pytest.mark.parametrize(
    ("service", "more"),
    [({}, {"observability": {"metrics": {"type": "prometheus-operator"}}}), ({"autoscaling": GROWING}, {})],
    ids=["scraped", "followed"],
)
def test_a_namespace_of_a_scraper_is_not_told(service, more):
    assert warnings(WATCHING, service, **more) == []
