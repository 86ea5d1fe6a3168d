"""Bytes of cache and weights of every family."""

import pytest
import yaml

from local.vllm import installation
from tests.support.engine import sizes

pytestmark = pytest.mark.engine

RECORD = yaml.safe_load(sizes.RECORD.read_text(encoding="utf-8"))
FIGURES = ("block", "token", "sequence", "weights", "buffers", "files", "layers")


@pytest.fixture(scope="module", params=installation.versions())
def measured(request, tmp_path_factory):
    """Return the figures of a version of the engine, and those that are recorded for it."""
    version = installation.version(request.param)
    if not version.is_installed():
        pytest.skip(f"vLLM {version.name} is not installed; run python -m local engine {version.name}")
    figures = sizes.measure(version, sizes.measured_in(version.name), tmp_path_factory.mktemp("models"))
    return figures, RECORD[version.name]


def test_the_engine_reports_the_recorded_sizes(measured):
    figures, recorded = measured
    for name, row in figures.items():
        assert {key: row[key] for key in FIGURES} == {key: recorded[name][key] for key in FIGURES}, name
    assert set(figures) == set(recorded)


def test_cache_and_weights_are_those_of_the_program(measured):
    figures, _ = measured
    for name, row in figures.items():
        assert sizes.deviations(row, sizes.models()[name]) == {}, name
