"""Alerts in a real Prometheus that scrapes a real engine: what is recorded is what the engine was asked."""

import pytest

from manifests.alert_rules import name
from tests.support.prometheus.server import Target, prometheus
from tests.support.stacks.watched import groups, watched

pytestmark = pytest.mark.engine

SLO = {
    "availability": 99.9,
    "ttft": {"within": "1ms", "percent": 95},
    "tpot": {"within": "80s", "percent": 95},
}
"""No engine gives its first token in a millisecond, and every engine gives the next one in 80 seconds."""
LABELS = {"namespace": "models", "inference_service": "qwen", "variant": "primary", "role": "decode", "pod": "a"}
PROBES = 4
MOST = 200
"""Requests until the alert fires."""


@pytest.fixture(scope="module")
def engine(new_engine):
    return new_engine()


@pytest.fixture(scope="module")
def watching(engine, tools, tmp_path_factory):
    """Return a Prometheus that evaluates the rules each second."""
    rules = groups(watched(qwen={"slo": SLO}))
    quick = [{"name": key, "interval": "1s", "rules": of_group} for key, of_group in rules.items()]
    target = Target(f"{engine.address}:{engine.port}", LABELS)
    with prometheus(tools["prometheus"].path, tmp_path_factory.mktemp("prometheus") / "run", [target], quick) as server:
        server.eventually("up == 1")
        yield server


def test_late_first_tokens_page_and_nothing_else_does(engine, watching):
    asked = 0
    while name("ttft-burns-fast") not in watching.firing():
        assert asked < MOST
        assert engine.complete("Is anybody there?").status == 200
        asked += 1
        for _ in range(PROBES):
            assert engine.ask("/v1/models").status == 200
    watching.eventually(f"vllm:time_to_first_token_seconds_count == {asked}")
    watching.eventually(f'http_requests_total{{method="POST"}} == {asked}')
    assert watching.query(f'http_requests_total{{method="GET"}} >= {asked * PROBES}')
    watching.eventually(
        "inference_stacks:slow_ttft:rate5m == inference_stacks:ttft:rate5m and inference_stacks:ttft:rate5m > 0"
    )
    watching.eventually("inference_stacks:slow_tpot:rate5m == 0 and inference_stacks:tpot:rate5m > 0")
    watching.eventually("inference_stacks:requests:rate5m > 0 unless inference_stacks:failures:rate5m > 0")
    assert {alert for alert in watching.firing() if "Burns" in alert} == {
        name("ttft-burns-fast"),
        name("ttft-burns-slowly"),
    }
