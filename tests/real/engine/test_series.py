"""Series of /metrics by version and setting."""

from pathlib import Path

import pytest
import yaml

from local.vllm import families, installation
from planning.releases import engine_series
from planning.releases.engine_versions import is_older
from tests.support.engine import registry

pytestmark = pytest.mark.engine

SETTINGS = yaml.safe_load(Path("tests/support/engine/series.yaml").read_text(encoding="utf-8"))
SERVER = {"tool-calls", "websockets", "sleep", "weight-updates"}
"""Conditions of the metrics that the API server registers, without the engine."""


@pytest.fixture(scope="module", params=installation.versions())
def version(request):
    row = installation.version(request.param)
    if not row.is_installed():
        pytest.skip(f"vLLM {row.name} is not installed; run python -m local engine {row.name}")
    return row


@pytest.fixture(scope="module")
def registered(version, tmp_path_factory):
    """Return the metrics that the engine registers, by setting, without the times of their creation."""
    model = tmp_path_factory.mktemp("model")
    families.write_model(model, families.family("Qwen/Qwen3-0.6B"), version)
    return {
        name: without_times(metrics)
        for name, metrics in registry.registered(version, model, settings(version.name)).items()
    }


def settings(version):
    return {name: row for name, row in SETTINGS.items() if not is_older(version, row.get("since", version))}


def without_times(metrics):
    """Leave out the series of times of creation. Each of them belongs to a counter or a histogram."""
    times = {name for name in metrics if name.endswith("_created")}
    plain = {name: kind for name, kind in metrics.items() if name not in times}
    for name in times:
        base = name.removesuffix("_created")
        owners = [plain[owner] for owner in (base, f"{base}_total") if owner in plain]
        assert {owner.kind for owner in owners} & {"counter", "histogram"}, name
    return plain


def kinds(metrics):
    return {name: metric.kind for name, metric in metrics.items()}


def expected(version, conditions):
    """Return the metrics of the table that a version registers under some conditions."""
    return {
        name: kind
        for name, kind in engine_series.metrics(version).items()
        if set(engine_series.conditions_of(name)) <= set(conditions)
    }


def test_the_engine_registers_the_metrics_of_the_table_and_no_others(version, registered):
    for name, row in settings(version.name).items():
        assert kinds(registered[name]) == expected(version.name, row["fulfils"]), name


def test_the_server_registers_the_metrics_of_the_table_and_no_others(version, registered):
    unconditional = expected(version.name, ())
    assert kinds(registered["server"]) == {
        name: kind for name, kind in expected(version.name, SERVER).items() if name not in unconditional
    }


def test_each_metric_of_the_table_is_registered_under_some_setting(version, registered):
    assert {name for metrics in registered.values() for name in metrics} == set(engine_series.metrics(version.name))


def test_a_metric_without_its_condition_is_missing(version, registered):
    """The comparisons above would pass if no setting had an effect."""
    adapters = "vllm:lora_requests_info"
    assert adapters in registered["adapters"]
    assert adapters not in registered["plain"]
    assert expected(version.name, ["lora"]) != expected(version.name, ())


def test_each_metric_has_the_labels_of_the_table_and_no_others(version, registered):
    """The table has no labels of metrics whose labels are the names of settings."""
    metrics = {name: metric for metrics in registered.values() for name, metric in metrics.items()}
    untold = {"vllm:cache_config_info"}
    for name, metric in metrics.items():
        if name in untold:
            assert len(metric.labels) > 2
            assert not engine_series.labels(version.name, name)
        else:
            assert set(metric.labels) == engine_series.labels(version.name, name), name


def test_each_histogram_has_the_bounds_of_the_table(version, registered):
    for setting, metrics in registered.items():
        custom = SETTINGS.get(setting, {}).get("arguments", {}).get("custom_histogram_buckets", {})
        for name, metric in metrics.items():
            family = engine_series.bucket_family(version.name, name)
            if family in custom:
                assert metric.bounds == custom[family], name
            elif engine_series.depends_on_context_length(version.name, name):
                assert metric.bounds == up_to(max(metric.bounds)), name
            else:
                assert tuple(metric.bounds) == engine_series.bounds(version.name, name), name


def up_to(limit):
    """Return 1, 2, 5, 10, 20, 50 and so on, up to a number."""
    numbers = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    return [number for number in numbers if number <= limit]


def test_bounds_of_its_own_change_those_of_all_histograms_of_a_family(version, registered):
    """The comparison above would pass if the flag had no effect."""
    plain = registered["plain"]
    changed = registered.get("bounds of its own", plain)
    names = {name for name, metric in changed.items() if metric.bounds != plain[name].bounds}
    families = SETTINGS["bounds of its own"]["arguments"]["custom_histogram_buckets"]
    assert names == {name for name in plain if engine_series.bucket_family(version.name, name) in families}
    assert ("vllm:request_prompt_tokens" in names) == (changed is not plain)
