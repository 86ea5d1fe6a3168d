"""Scraping of metrics: what is scraped by default, and how often at most; and addresses of runbooks."""

import pytest
from pydantic import ValidationError

from models.monitoring import AlertRules, Metrics, Monitors
from tests.support.stacks import mistakes, tree

WIKI = "https://wiki.example.com/inference"


def test_every_endpoint_is_scraped_and_no_monitor_objects_are_made_by_default():
    assert Monitors.model_validate({}).type == "none"
    metrics = Metrics.model_validate({})
    assert (metrics.decode, metrics.prefill, metrics.picker) == (True, True, True)
    assert (metrics.path, metrics.interval) == ("/metrics", "30s")


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"interval": "999ms"}, "interval: is below a second (999ms); write 1s or more"),
        ({"interval": 30}, "interval: is not a duration (30); write a number with h, m, s or ms, such as 10s"),
        ({"path": "metrics"}, "path: is not an absolute path (metrics); start with '/', such as /health"),
    ],
)
def test_mistaken_metrics_are_refused(metrics, message):
    assert mistakes(tree(qwen={"metrics": metrics})) == [f"services.qwen.metrics.{message}"]


def test_an_unknown_kind_of_monitor_objects_is_refused():
    assert mistakes(tree() | {"observability": {"metrics": {"type": "statsd"}}}) == [
        "observability.metrics.type: is not one of none, prometheus-operator or gmp (statsd); choose one of them"
    ]


@pytest.mark.parametrize("address", [WIKI, f"{WIKI}#{{alert}}", f"{WIKI}/{{alert}}", f"{WIKI}?page={{alert}}"])
def test_an_address_may_have_the_alert_anywhere(address):
    assert AlertRules.model_validate({"runbooks": address}).runbooks == address


@pytest.mark.parametrize(
    ("address", "what"),
    [
        (f"{WIKI}#{{}}", "another placeholder"),
        (f"{WIKI}#{{id}}", "another placeholder"),
        (f"{WIKI}#{{alert", "without its other half"),
        (f"{WIKI}#alert}}", "without its other half"),
        ("https://user:secret@wiki.example.com", "not the address"),
        ("wiki.example.com", "not the address"),
    ],
)
def test_an_address_that_cannot_be_filled_is_refused(address, what):
    with pytest.raises(ValidationError, match=what):
        AlertRules.model_validate({"runbooks": address})
