"""Series of vLLM by version: the table, and everything of this project that asks for one of them."""

import re
from pathlib import Path

import pytest
import yaml

from planning.releases import channel, channels, engine_series, engine_versions
from planning.releases.engine_versions import EngineVersion
from tests.support.stacks import rendered, tree
from upstream.series import FILES

PICKER = frozenset(
    {
        "vllm:cache_config_info",
        "vllm:kv_cache_usage_perc",
        "vllm:lora_requests_info",
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
    }
)
"""Series that pickers read of an engine unless a setting names others.

Source: gateway-api-inference-extension v1.3.1 and v1.5.0, pkg/epp/server/options.go; v1.5.0,
pkg/epp/framework/plugins/datalayer/extractor/metrics/factories.go.
"""
CONNECTOR = re.compile(r"vllm/distributed/kv_transfer/kv_connector/v1/(\w+)/.*")
"""A module of a connector that has a directory of its own."""
WRITTEN = re.compile(r"(?<![\w:./])vllm:[a-z]\w+")
"""A series in a document or in a program, but no tag of an image."""


def version_of(release):
    return engine_versions.number_in(channel(release).images.engine["nvidia"].ref)


@pytest.mark.parametrize("release", channels())
def test_autoscalers_and_pickers_ask_for_series_that_the_engine_of_their_channel_reports(release):
    asked = PICKER | {metric.series for metric in channel(release).engine.metrics.values()}
    assert not asked - set(engine_series.names(version_of(release)))
    assert "vllm:gpu_cache_usage_perc" in engine_series.names("0.8.5")
    assert "vllm:gpu_cache_usage_perc" not in engine_series.names(version_of(release))


@pytest.mark.parametrize("release", channels())
@pytest.mark.parametrize("kind", ["hpa", "keda"])
def test_rendered_objects_ask_for_series_that_the_engine_of_their_channel_reports(release, kind):
    metrics = [{"type": name, "target": 0.5} for name in channel(release).engine.metrics]
    scaling = {"type": kind, "maxReplicas": 2, "metrics": metrics}
    stack = tree(qwen={"autoscaling": scaling}) | {
        "release": release,
        "observability": {
            "prometheus": {"serverAddress": "http://prometheus:9090"},
            "metrics": {"type": "prometheus-operator"},
        },
    }
    text = yaml.safe_dump([dict(entry) for entry in rendered(stack)])
    asked = set(engine_series.NAME.findall(text)) | {
        name.replace("vllm_", "vllm:", 1) for name in re.findall(r"\bvllm_\w+", text)
    }
    assert len(asked) == len(metrics)
    assert not asked - set(engine_series.names(version_of(release)))


@pytest.mark.parametrize("path", [*sorted(Path("docs").rglob("*.md")), Path("local/gateway/model_server.py")], ids=str)
def test_documents_and_the_local_model_server_name_series_of_every_offered_engine(path):
    asked = set(WRITTEN.findall(path.read_text(encoding="utf-8")))
    for release in channels():
        assert not asked - set(engine_series.names(version_of(release))), release


def test_the_local_model_server_reports_what_pickers_read():
    text = Path("local/gateway/model_server.py").read_text(encoding="utf-8")
    assert set(WRITTEN.findall(text)) == PICKER


@pytest.mark.parametrize(
    ("metric", "kind", "names"),
    [
        ("vllm:prompt_tokens_total", "counter", {"vllm:prompt_tokens_total", "vllm:prompt_tokens_created"}),
        ("vllm:num_requests_running", "gauge", {"vllm:num_requests_running"}),
        (
            "vllm:request_prompt_tokens",
            "histogram",
            {f"vllm:request_prompt_tokens_{suffix}" for suffix in ("bucket", "count", "sum", "created")},
        ),
    ],
)
def test_queries_name_a_metric_with_the_endings_of_its_kind(metric, kind, names):
    assert engine_series.metrics("0.30.0")[metric] == kind
    assert set(engine_series.of_metric(metric, kind)) == names
    assert {name for name, owner in engine_series.names("0.30.0").items() if owner == metric} == names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ('{__name__=~"vllm:kv_cache.*"}', []),
        ('{__name__=~"vllm:kv_cache_.+"}', []),
        ('{__name__=~"vllm:request_(success|failure)_total"}', []),
        ('{__name__=~"vllm:kv_cache_[a-z]+"}', []),
        ('{__name__=~"vllm:block_[0-9]"}', []),
        ("{__name__=~'vllm:kv_\\\\w+'}", []),
        ('{__name__=~"vllm:kv_*"}', []),
        ('{__name__="vllm:a"}', ["vllm:a"]),
        ('{__name__=~"vllm:a|vllm:b"}', ["vllm:a", "vllm:b"]),
        ("rate(vllm:a[5m])*2", ["vllm:a"]),
        ("rate(vllm:a[1.5h] offset 1m)", ["vllm:a"]),
        ("rate(vllm:a[$__rate_interval])", ["vllm:a"]),
        ("vllm:a*vllm:b+vllm:c", ["vllm:a", "vllm:b", "vllm:c"]),
        ('vllm:a{model_name="m"} ^ 2', ["vllm:a"]),
        ("vllm:a:rate5m", []),
    ],
)
def test_a_query_has_names_and_a_pattern_has_none(query, names):
    assert engine_series.NAME.findall(query) == names


@pytest.mark.parametrize(
    ("series", "versions"),
    [
        ("vllm:num_requests_running", "from 0.8.5 on"),
        ("vllm:kv_cache_usage_perc", "from 0.9.2 on"),
        ("vllm:gpu_cache_usage_perc", "up to 0.11.2"),
        ("vllm:no_such_series", None),
    ],
)
def test_the_versions_that_report_a_series_are_named(series, versions):
    assert engine_series.versions_with(series) == versions


def test_the_table_has_the_versions_of_the_table_of_flags():
    table = yaml.safe_load(Path("planning/releases/engines/series.yaml").read_text(encoding="utf-8"))
    labels = yaml.safe_load(Path("planning/releases/engines/series-labels.yaml").read_text(encoding="utf-8"))
    assert table["versions"] == labels["versions"] == engine_versions.table().versions


UNTOLD = {"vllm:cache_config_info", "vllm:kv_offload_config_info"}
"""Metrics whose labels are the names of settings."""
UNBOUND = {"vllm:model_forward_time_milliseconds", "vllm:model_execute_time_milliseconds"}
"""Histograms of the engine V0 whose bounds a function of that engine makes."""


@pytest.mark.parametrize("version", engine_versions.table().versions)
def test_labels_and_bounds_are_those_of_metrics_of_the_version(version):
    """Only metrics with labels that a table cannot tell have none, and only histograms have bounds."""
    server = {"vllm:websocket_connections_active", "vllm:websocket_connections_total"}
    server |= {"vllm:websocket_connection_duration_seconds"}
    for metric, kind in engine_series.metrics(version).items():
        bounds = engine_series.bounds(version, metric)
        is_known = bool(bounds) or engine_series.depends_on_context_length(version, metric)
        assert is_known == (kind == "histogram" and metric not in UNBOUND), metric
        assert list(bounds) == sorted(set(bounds)), metric
        assert bool(engine_series.labels(version, metric)) == (metric not in UNTOLD | server), metric


def test_a_metric_that_a_version_lacks_has_neither_labels_nor_bounds():
    former = "vllm:time_per_output_token_seconds"
    assert engine_series.bounds("0.14.1", former)
    assert not engine_series.bounds("0.15.0", former)
    assert not engine_series.labels("0.15.0", former)


def test_a_flag_replaces_bounds_from_the_version_that_has_it():
    metric = "vllm:time_to_first_token_seconds"
    assert engine_series.bucket_family("0.31.0", metric) is None
    assert engine_series.bucket_family("0.32.0", metric) == "time_to_first_token"
    flag = engine_series.BUCKETS_FLAG
    for version in ("0.31.0", "0.32.0"):
        has_flag = EngineVersion(version, is_known=True).knows_flag(flag)
        assert has_flag == (engine_series.bucket_family(version, metric) is not None)


def test_each_condition_is_that_of_a_metric_and_says_what_decides():
    names = {name for version in engine_versions.table().versions for name in engine_series.metrics(version)}
    for name, row in engine_series.conditions().items():
        assert any(re.fullmatch(row.series, metric) for metric in names), name
        assert bool(row.settings) != (row.when is not None), name
        for setting in row.settings:
            assert setting.flags or setting.variable, name
            assert setting.contains is None or setting.flags, name


def test_each_metric_of_a_connector_has_a_condition():
    """The names of metrics have the name of the connector's directory, or its stem, as in `kv_offload`."""
    newest = engine_versions.table().versions[-1]
    directories = {CONNECTOR.sub(r"\1", path) for path in FILES if CONNECTOR.fullmatch(path)}
    metrics = {
        directory: [name for name in engine_series.metrics(newest) if directory.removesuffix("ing") in name]
        for directory in directories
    }
    assert directories == {"hf3fs", "hisparse", "mooncake", "nixl", "offloading", "umbp"}
    assert all(metrics.values())
    assert [name for names in metrics.values() for name in names if not engine_series.conditions_of(name)] == []


def test_the_connectors_of_mooncake_have_metrics_of_their_own():
    assert engine_series.conditions_of("vllm:mooncake_xfer_time_seconds") == ("mooncake",)
    assert engine_series.conditions_of("vllm:mooncake_store_operation_total") == ("mooncake-store",)


def test_a_metric_has_the_conditions_of_all_rows_that_match():
    assert engine_series.conditions_of("vllm:kv_offload_tiering_read_bytes_total") == ("offloading", "tiers")
    assert engine_series.conditions_of("vllm:num_requests_running") == ()


@pytest.mark.parametrize(
    ("arguments", "bounds"),
    [
        ([], {}),
        (['--custom-histogram-buckets={"a": [1, 2.5], "b": [7]}'], {"a": (1, 2.5), "b": (7,)}),
        (["--custom_histogram_buckets", '{"a": [1]}'], {"a": (1,)}),
        (["--custom-histogram-buckets.a=[1]", "--custom-histogram-buckets.b", "[2]"], {"a": (1,), "b": (2,)}),
        (["--custom-histogram-buckets.a=[1]", '--custom-histogram-buckets={"b": [2]}'], None),
        *((["--custom-histogram-buckets", f'{{"a": {value}}}'], None) for value in ("[]", "[0, 1]", "[1, 1]", '["1"]')),
        (["--custom-histogram-buckets=x"], None),
        (["--custom-histogram-buckets"], None),
    ],
)
def test_arguments_set_bounds_as_the_engine_reads_them(arguments, bounds):
    assert engine_series.own_bounds(arguments) == bounds
