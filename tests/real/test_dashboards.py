"""Every panel of rendered dashboards has data in a real Prometheus, whose targets report the series of the tables."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from models.routing import Gateway
from planning.ground import gateways
from planning.observing import metrics
from planning.observing.board_records import Board
from planning.releases import engine_series, picker_series
from tests.support.prometheus.promtool import Suite, failures
from tests.support.prometheus.server import Prometheus, Target, prometheus
from tests.support.stacks import plan
from tests.support.stacks.dashboards import drawn, image
from tests.support.stacks.watched import groups
from tests.support.traffic import expositions
from tests.support.traffic.expositions import Metric

pytestmark = pytest.mark.real

CHANNEL = "llm-d-0.10"
VERSIONS = {"primary": "0.33.0", "canary": "0.19.1"}
STACK = drawn(
    qwen={
        "engine": image(VERSIONS["primary"]),
        "prefill": {"replicas": 2},
        "canary": {"weight": 10, "replicas": 1, "engine": image(VERSIONS["canary"]), "prefill": {"replicas": 1}},
        "endpointPicker": {"flowControl": {}, "replicas": 2},
    }
)
VALUES = {
    "role": "decode",
    "status": "2xx",
    "method": "POST",
    "handler": "/v1/completions",
    "phase": "Running",
    "stage": "effective",
}
"""Values of labels; others have their own name as value."""
WINDOW = "10s"
BOUNDS = (0.1, 1.0, 10.0)
"""Bounds of histograms whose own bounds are unknown."""
BUDGETS = {
    "Budget left: Availability": ("requests", "failures", 0.001),
    "Budget left: TTFT": ("ttft", "slow_ttft", 0.05),
    "Budget left: TPOT": ("tpot", "slow_tpot", 0.05),
}
"""Recorded series of all requests and of bad ones, and the share of requests that may be bad, by panel."""


def labelled(names: Iterator[str] | frozenset[str] | list[str], **more: str) -> Mapping[str, str]:
    """Return labels with values."""
    return {name: VALUES.get(name, name) for name in sorted(names)} | more


def of_engine(version: str) -> Iterator[Metric]:
    """Yield the metrics of a version of vLLM and of its server."""
    for name, kind in engine_series.metrics(version).items():
        labels = labelled(engine_series.labels(version, name) or frozenset({"model_name"}))
        yield name, kind, labels, engine_series.bounds(version, name) or BOUNDS
    for metric in metrics.table().server.values():
        yield metric.name, metric.kind, labelled(metric.labels), metric.bounds


def of_picker() -> Iterator[Metric]:
    """Yield the metrics of the channel's picker."""
    for metric in picker_series.metrics(CHANNEL).values():
        labels = labelled(metric.labels, **({"streaming": "true"} if "streaming" in metric.labels else {}))
        yield metric.name, metric.kind, labels, metric.bounds


def of_gateway() -> Iterator[Metric]:
    """Yield the metrics of Istio about the requests to the pools of both variants."""
    facts = gateways.facts(Gateway(name="one", provider="istio"))
    assert facts is not None
    assert facts.requests is not None
    metric = facts.requests.requests
    for variant in plan(STACK).services[0].variants:
        matchers = facts.requests.of_pool("models", variant.names.pool, 8000)
        yield metric.name, metric.kind, labelled(metric.labels) | matchers, metric.bounds


def of_cluster() -> Iterator[Metric]:
    """Yield the metrics of kube-state-metrics, kubelets and devices about the pods of the service."""
    service = plan(STACK).services[0]
    for variant in service.variants:
        for workload in variant.workloads:
            for metric in metrics.table().cluster.values():
                pod = f"{workload.name}-7f9c-abcde"
                places = {"namespace": "models", "pod": pod, "deployment": workload.name}
                labels = labelled(metric.labels) | {key: value for key, value in places.items() if key != "pod"}
                yield metric.name, metric.kind, {**labels, "pod": pod}, metric.bounds


def targets(address: str) -> Iterator[Target]:
    """Yield the targets of the monitors of both variants, and that of the cluster."""
    for variant in VERSIONS:
        labels = {"namespace": "models", "inference_service": "qwen", "variant": variant}
        for role in ("decode", "prefill"):
            yield Target(address, {**labels, "role": role, "pod": f"{variant}-{role}"}, f"/{variant}")
        yield Target(address, {**labels, "pod": f"{variant}-picker"}, "/picker")
    yield Target(address, {}, "/cluster")
    yield Target(address, {"namespace": "gateways", "pod": "gateway"}, "/gateway")


@pytest.fixture(scope="module")
def server(tools, tmp_path_factory) -> Iterator[Prometheus]:
    """Return a Prometheus that scrapes played metrics, and evaluates the rules of the stack each second."""
    pages = {f"/{variant}": list(of_engine(version)) for variant, version in VERSIONS.items()}
    pages |= {"/picker": list(of_picker()), "/cluster": list(of_cluster()), "/gateway": list(of_gateway())}
    rules = [{"name": name, "interval": "1s", "rules": rows} for name, rows in groups(STACK).items()]
    folder = tmp_path_factory.mktemp("prometheus") / "run"
    with expositions.serving(pages) as address:
        scraped = list(targets(address))
        with prometheus(tools["prometheus"].path, folder, scraped, rules) as running:
            running.eventually('inference_stacks:slow_tpot:rate3d{inference_service="qwen",variant="canary"}')
            running.eventually(f"count(rate(up[{WINDOW}])) == {len(scraped)}")
            yield running


def boards() -> list[Board]:
    """Return the dashboards of the stack."""
    whole = plan(STACK).boards
    assert whole is not None
    return [*whole.services.values(), whole.overview]


def empty(server: Prometheus, board: Board) -> Iterator[str]:
    """Yield the titles of panels with a query that returns nothing."""
    for panel in board.panels:
        queries = [query.expression.replace("$__rate_interval", WINDOW) for query in panel.queries]
        if not all(server.query(query) for query in queries):
            yield panel.title


def test_every_panel_has_data(server):
    titles = {title for board in boards() for title in empty(server, board)}
    nothing_to_see = {"Alerts", "Pods that do not answer"}
    assert titles - nothing_to_see == set()
    assert all(panel.may_lack for board in boards() for panel in board.panels if panel.title in nothing_to_see)


def test_panels_of_series_that_nobody_reports_have_none(server):
    other = drawn(qwen={"engine": image("0.11.2"), "release": CHANNEL, "namespace": "elsewhere"})
    whole = plan(other).boards
    assert whole is not None
    board = whole.services["qwen"]
    assert set(empty(server, board)) == {panel.title for panel in board.panels}


def budget_suite(title: str, used: float) -> Suite:
    """Return a suite in which a share of the budget of a panel is used in 10 hours.

    The primary gets requests in all of the time, and the canary in the last 5 hours. Bad requests come in the last 100
    minutes, and have no series before.
    """
    (whole,) = [board for board in boards() if board.title.startswith("qwen ")]
    (panel,) = [panel for panel in whole.panels if panel.title == title]
    requests, bad, budget = BUDGETS[title]
    of_primary = '{namespace="models",inference_service="qwen",variant="primary"}'
    samples = {
        f"inference_stacks:{requests}:rate5m{of_primary}": "1x600",
        f"inference_stacks:{requests}:rate5m{of_primary.replace('primary', 'canary')}": "_x300 1x300",
        f"inference_stacks:{bad}:rate5m{of_primary}": f"_x500 {used * budget * (601 + 301) / 101}x100",
    }
    check = {
        "expr": f"round({panel.queries[0].expression}, 0.001)",
        "eval_time": "600m",
        "exp_samples": [{"labels": "{}", "value": round(1 - used, 3)}],
    }
    series = [{"series": name, "values": values} for name, values in samples.items()]
    return Suite(f"{title} {used}", [], [{"interval": "1m", "input_series": series, "promql_expr_test": [check]}])


def of_means(suite: Suite) -> Suite:
    """Return a suite whose query takes means, which leave out the time in which a series did not exist."""
    (test,) = suite.tests
    (check,) = test["promql_expr_test"]
    other = {**check, "expr": check["expr"].replace("sum_over_time", "avg_over_time")}
    return replace(suite, name=f"{suite.name} of means", tests=[{**test, "promql_expr_test": [other]}])


def test_a_budget_counts_all_requests_of_the_window(tools, tmp_path):
    suites = [budget_suite(title, used) for title in BUDGETS for used in (0.25, 1.5)]
    means = [of_means(suite) for suite in suites]
    results = failures(tools["promtool"].path, [*suites, *means], tmp_path / "suites")
    assert {suite.name: results[suite.name] for suite in suites} == {suite.name: [] for suite in suites}
    assert all(results[suite.name] for suite in means), "the check sees means"
