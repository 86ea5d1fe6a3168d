"""Dashboards: which panels a service has, and that every query asks for series that exist."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import planning
from models.load import load
from models.routing import Gateway
from planning.ground import gateways
from planning.ground.marks import StackName
from planning.ground.metric_facts import ENDINGS, MetricFacts
from planning.observing import burn_rates, metrics
from planning.observing.board_records import Board, Panel
from planning.releases import engine_series, offered_channels, picker_series
from tests.support.prometheus import selectors
from tests.support.stacks import plan, with_copies
from tests.support.stacks.dashboards import board, drawn, image
from tests.support.stacks.existing import of_pool
from tests.support.stacks.watched import SLO, watched

GOLDENS = Path("tests/contracts/goldens/dashboards")
VERSIONS = ("0.11.2", "0.19.1", "0.33.0")
MONITORS = {"namespace", "inference_service", "variant", "role", "pod", "model_service", "job", "instance"}
"""Labels of every series that monitors scrape."""
FULL = {
    "prefill": {"replicas": 2},
    "canary": {"weight": 10, "replicas": 1},
    "endpointPicker": {"flowControl": {}, "replicas": 2},
}
GOOGLES = {"name": "inference", "namespace": "gateways", "provider": "gke"}
ADAPTED = {"name": "org/m", "source": "hf://org/m", "lora": {"adapters": {"sql": {"source": "hf://org/sql"}}}}


def panels(of: Board) -> dict[str, Panel]:
    """Return the panels of a dashboard by title."""
    return {panel.title: panel for panel in of.panels}


def listed(of: MetricFacts) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the series of a metric with their labels."""
    for ending in ENDINGS[of.kind]:
        yield f"{of.name}{ending}", frozenset({*of.labels, "le"} if ending == "_bucket" else of.labels)


def known(version: str, channel: str) -> dict[str, frozenset[str]]:
    """Return the labels of all series that a version of vLLM, a picker, a Prometheus and a cluster have."""
    series = dict[str, frozenset[str]]()
    for name, metric in engine_series.names(version).items():
        series[name] = engine_series.labels(version, metric) | MONITORS | {"le", "finished_reason"}
    for metric in picker_series.metrics(channel).values():
        series |= {name: labels | MONITORS for name, labels in listed(metric)}
    table = metrics.table()
    for metric in (*table.server.values(), *table.target.values(), *table.cluster.values()):
        series |= {name: labels | MONITORS for name, labels in listed(metric)}
    for provider in ("istio", "agentgateway"):
        facts = gateways.facts(Gateway(name="one", provider=provider))
        assert facts is not None
        assert facts.requests is not None
        series |= dict(listed(facts.requests.requests))
    for row in burn_rates.table().records:
        for window in burn_rates.table().windows:
            series[f"{metrics.RECORDED}:{row.name}:rate{window}"] = frozenset(MONITORS)
    return series


def unknown(of: Board, series: dict[str, frozenset[str]]) -> Iterator[str]:
    """Yield the series and labels of a dashboard that are not among known ones."""
    for panel in of.panels:
        for query in panel.queries:
            selected = selectors.of(query.expression.replace("$__rate_interval", "5m"))
            yield from (name for name in selected.series if name not in series)
            yield from (f"{name}{{{label}}}" for name, label in selected.matched if label not in series.get(name, ()))
            labels = frozenset[str]().union(*(series.get(name, frozenset()) for name in selected.series))
            legend = set(re.findall(r"\{\{(\w+)\}\}", query.legend))
            yield from ((selected.grouped | legend) - labels)


@pytest.mark.parametrize("channel", offered_channels())
@pytest.mark.parametrize("version", VERSIONS)
def test_every_series_and_label_of_every_query_exists_for_version_and_channel(version: str, channel: str):
    fields = {key: value for key, value in FULL.items() if key != "prefill" or channel.startswith("llm-d")}
    slo = {"availability": 99.9}
    stack = drawn(qwen={**fields, "engine": image(version), "release": channel, "slo": slo})
    boards = plan(stack).boards
    assert boards is not None
    series = known(version, channel)
    for whole in (boards.services["qwen"], boards.overview):
        assert list(unknown(whole, series)) == []


def test_the_check_of_series_notices_what_does_not_exist():
    stack = drawn(qwen={"engine": image("0.33.0")})
    series = known("0.33.0", "llm-d-0.10")
    for name in ("vllm:num_requests_running", "llm_d_epp_request_total", "http_requests_total"):
        assert name in set(unknown(board(stack), {key: labels for key, labels in series.items() if key != name}))


def test_each_service_and_each_variant_asks_for_the_names_of_its_version():
    canary = {"weight": 10, "replicas": 1, "engine": image("0.11.2")}
    old = {"engine": image("0.9.1"), "slo": {"availability": 99.9}}
    stack = drawn(old=old, new={"engine": image("0.33.0"), "canary": canary})
    boards = plan(stack).boards
    assert boards is not None
    use = "Use of the KV cache"
    (old, _), (new, *_) = (panels(boards.services[key])[use].queries for key in ("old", "new"))
    assert "vllm:gpu_cache_usage_perc" in old.expression
    assert "vllm:kv_cache_usage_perc" in new.expression
    whole = [query.expression for query in panels(boards.overview)[use].queries]
    assert [expression.split("{")[0] for expression in whole] == [
        "max(vllm:kv_cache_usage_perc",
        "max(vllm:kv_cache_usage_perc",
        "max(vllm:gpu_cache_usage_perc",
    ]
    assert "Time between tokens" in panels(boards.services["new"])
    tpot = panels(boards.services["old"]).get("Time per output token, as engines see it")
    assert tpot is None, "0.9.1 has no such histogram"


def test_roles_with_several_versions_have_queries_of_their_own():
    stack = drawn(qwen={"engine": image("0.33.0"), "prefill": {"engine": image("0.19.1")}})
    running = panels(board(stack))["Running requests"].queries
    assert [re.findall(r'role=~"(\w+)"', query.expression) for query in running] == [["decode"], ["prefill"]]
    same = panels(board(drawn(qwen={"prefill": {"replicas": 2}})))["Running requests"].queries
    assert [re.findall("role=~", query.expression) for query in same] == [[]]


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        (FULL, "Failed transfers of KV caches"),
        (FULL, "Queue of the picker"),
        (FULL, "Leader"),
        (FULL, "Share of the canary"),
        ({"kvCache": {"cpuOffload": "8Gi"}}, "Bytes between devices and hosts"),
        ({"model": ADAPTED}, "Requests for LoRA adapters"),
    ],
)
def test_a_panel_is_there_only_with_the_feature_that_it_shows(fields: dict[str, Any], title: str):
    assert title in panels(board(drawn(qwen=fields)))
    assert title not in panels(board(drawn(qwen={})))


@pytest.mark.parametrize(
    ("provider", "query", "legend"),
    [
        (
            "istio",
            (
                'sum by (response_code) (rate(istio_requests_total{reporter="source",destination_service_name="POOL",'
                'destination_service_namespace="models"}[$__rate_interval]))'
            ),
            "primary {{response_code}}",
        ),
        (
            "agentgateway",
            (
                'sum by (status) (rate(agentgateway_requests_total{backend="NAME.models.inference.cluster.local:8000"}'
                "[$__rate_interval]))"
            ),
            "primary {{status}}",
        ),
    ],
)
def test_answers_of_the_gateway_are_asked_by_the_names_of_its_implementation(provider: str, query: str, legend: str):
    stack = drawn(qwen={})
    stack["gateway"] = {**stack["gateway"], "provider": provider}
    pool = plan(stack).services[0].primary.names.pool
    (answers,) = panels(board(stack))["Answers of the gateway"].queries
    expected = query.replace("POOL", gateways.pool_service(pool)).replace("NAME", pool)
    assert (answers.expression, answers.legend) == (expected, legend)


@pytest.mark.parametrize(
    "fields",
    [{"route": {"enabled": False}}, {"endpointPicker": {"enabled": False}}, {"route": {"gateway": GOOGLES}}],
    ids=["no route", "no pool", "no series"],
)
def test_a_gateway_that_counts_nothing_for_a_pool_has_no_panel(fields: dict[str, Any]):
    assert "Answers of the gateway" in panels(board(drawn(qwen={})))
    assert "Answers of the gateway" not in panels(board(drawn(qwen=fields)))


def test_objectives_are_drawn_where_they_are_counted():
    whole = panels(board(drawn(qwen={})))
    assert whole["Time to first token, as engines see it"].limit == 2.5
    assert whole["Time per output token, as engines see it"].limit == 0.1
    assert whole["Time to first token, as the picker sees it"].limit is None
    of_picker = {"source": "picker", "ttft": {"within": "2s", "percent": 95}}
    other = panels(board(drawn(qwen={"slo": of_picker})))
    assert other["Time to first token, as engines see it"].limit is None
    assert other["Time to first token, as the picker sees it"].limit == 2


def test_of_a_saturation_by_stage_that_of_all_pods_counts():
    query = panels(board(drawn(qwen=FULL)))["Saturation of the pool"].queries[0]
    assert query.expression.startswith("min(llm_d_epp_flow_control_pool_saturation{")
    assert 'stage="effective"' in query.expression
    older = drawn(qwen={"release": "gie-1.5", "endpointPicker": {"flowControl": {}}})
    assert "stage" not in panels(board(older))["Saturation of the pool"].queries[0].expression


def test_answers_of_prefill_pods_are_no_answers_to_clients():
    fields = {"prefill": {"replicas": 2}, "decode": {"sets": {"small": {}, "large": {"replicas": 2}}}}
    (query,) = panels(board(drawn(qwen=fields)))["Answers by status"].queries
    assert 'role=~"decode-large|decode-small"' in query.expression


def test_pods_are_those_of_the_service_alone():
    restarts = panels(board(drawn(qwen={"prefill": {"replicas": 2}})))["Restarts"].queries[0].expression
    (pattern,) = re.findall(r'pod=~"([^"]+)"', restarts)
    names = [workload.name for workload in plan(drawn(qwen={"prefill": {"replicas": 2}})).services[0].workloads]
    for name in names:
        assert re.fullmatch(pattern, f"{name}-7f9c6d-abcde")
        assert not re.fullmatch(pattern, f"{name}-two-7f9c6d-abcde")


def test_burn_rates_need_rules_and_objectives():
    whole = panels(board(drawn(qwen={})))
    assert whole["Burn rate: Availability"].limit == pytest.approx(14.4)
    assert "/ 0.001" in whole["Burn rate: Availability"].queries[0].expression
    assert "[30d]" in whole["Budget left: TTFT"].queries[0].expression
    assert "Burn rate: TTFT" not in panels(board(drawn(qwen={"slo": {"availability": 99}})))
    without = drawn(qwen={})
    del without["observability"]["rules"]
    assert not [title for title in panels(board(without)) if "urn" in title or "Budget" in title or title == "Alerts"]


def test_a_service_with_an_engine_of_another_kind_has_panels_of_its_picker_and_pods():
    sglang = {"type": "sglang", "image": "registry.example/sglang:v0.5.6"}
    whole = panels(board(drawn(qwen={"engine": sglang, "slo": {"availability": 99, "source": "picker"}})))
    assert "Time of a decision" in whole
    assert "Running requests" not in whole


def test_an_overview_has_a_border_only_if_it_is_that_of_all_services_in_the_panel():
    def border(**windows: str) -> float | None:
        services = {key: {"slo": {**SLO, "window": window}} for key, window in windows.items()}
        boards = plan(drawn(**services, quiet={"slo": None})).boards
        assert boards is not None
        return panels(boards.overview)["Burn rate: availability"].limit

    assert border(bert="30d", qwen="30d") == pytest.approx(14.4)
    assert border(qwen="28d") == pytest.approx(13.44), "a service without objectives has no border"
    assert border(bert="30d", qwen="28d") is None


def test_the_share_of_a_canary_is_drawn_only_if_all_requests_are_counted():
    sglang = {"type": "sglang", "image": "registry.example/sglang:v0.5.6"}
    title = "Share of the canary"
    assert title in panels(board(drawn(qwen={"canary": {"weight": 10}, "slo": None})))
    assert title not in panels(board(drawn(qwen={"canary": {"weight": 10, "engine": sglang}, "slo": None})))


def test_a_service_of_which_nothing_is_scraped_has_panels_of_the_cluster_alone():
    titles = {*panels(board(drawn(qwen={"metrics": {"decode": False, "picker": False}, "slo": None})))}
    assert {"Ready replicas", "Restarts"} < titles
    assert "Pods that do not answer" not in titles


def test_a_service_without_pods_of_the_stack_has_no_dashboard():
    assert plan(of_pool() | {"observability": {"metrics": {"type": "gmp"}, "dashboards": {}}}).boards is None


def test_nothing_is_drawn_without_the_key():
    assert plan(watched(qwen={})).boards is None


def test_dashboards_of_stacks_and_services_have_different_identities():
    boards = plan(drawn(qwen={}, bert={})).boards
    assert boards is not None
    uids = [boards.overview.uid, *(whole.uid for whole in boards.services.values())]
    assert len(set(uids)) == 3
    assert all(len(uid) <= 40 for uid in uids)
    prod = StackName("organization", "inference-stacks", "prod")
    other = planning.plan(load(with_copies(drawn(qwen={}))), prod).boards
    assert other is not None
    assert other.overview.uid != boards.overview.uid
    assert other.services["qwen"].name != boards.services["qwen"].name
    assert boards.services["qwen"].uid == board(drawn(qwen={}, other={})).uid


def test_config_maps_are_where_the_configuration_says():
    boards = plan(drawn({"namespace": "monitoring"}, qwen={"namespace": "search"})).boards
    absent = plan(drawn(qwen={"namespace": "search"})).boards
    assert boards is not None
    assert absent is not None
    assert (boards.services["qwen"].namespace, boards.overview.namespace) == ("monitoring", "monitoring")
    assert (absent.services["qwen"].namespace, absent.overview.namespace) == ("search", "models")


def test_the_objective_of_a_service_is_its_own():
    whole = board(drawn(qwen={"slo": SLO}, bert={"slo": {"availability": 99}}), "bert")
    assert "/ 0.01" in panels(whole)["Burn rate: Availability"].queries[0].expression


def listing(of: Board) -> Iterator[str]:
    """Yield the rows, panels and queries of a dashboard as lines."""
    for row in of.rows:
        yield f"# {row.title}"
        for panel in row.panels:
            limit = "" if panel.limit is None else f", border {panel.limit:g}"
            yield f"{panel.title} ({panel.unit}{limit})"
            yield from (f"  {query.legend}: {query.expression}" for query in panel.queries)


@pytest.mark.parametrize("channel", ["gie-1.3", "llm-d-0.10"])
def test_a_dashboard_changes_only_on_purpose(channel: str, golden: Any):
    stack = drawn(qwen={"release": channel, "endpointPicker": {"flowControl": {}, "replicas": 2}})
    golden(GOLDENS / f"{channel}.txt", "\n".join(listing(board(stack))) + "\n")
