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
        assert {plain.get(base), plain.get(f"{base}_total")} & {"counter", "histogram"}, name
    return plain


def expected(version, conditions):
    """Return the metrics of the table that a version registers under some conditions."""
    return {
        name: kind
        for name, kind in engine_series.metrics(version).items()
        if set(engine_series.conditions_of(name)) <= set(conditions)
    }


def test_the_engine_registers_the_metrics_of_the_table_and_no_others(version, registered):
    for name, row in settings(version.name).items():
        assert registered[name] == expected(version.name, row["fulfils"]), name


def test_the_server_registers_the_metrics_of_the_table_and_no_others(version, registered):
    unconditional = expected(version.name, ())
    assert registered["server"] == {
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
