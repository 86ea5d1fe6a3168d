"""Metrics of pickers by release channel."""

import pytest

from planning.releases import channel, channels, picker_series

WITHOUT = {
    "gie-1.3": {"pool_running", "flow_saturation", "poll_errors", "extract_errors"},
    "gie-1.5": {"poll_errors", "extract_errors"},
    "llm-d-0.6": {"pool_running", "flow_saturation", "poll_errors", "extract_errors"},
}
"""Names of metrics that a picker lacks. Pickers of other channels have all."""
NAMES = {name for release in channels() for name in picker_series.metrics(release)}


@pytest.mark.parametrize("release", channels())
def test_a_channel_has_a_metric_for_each_name_but_those_that_its_picker_lacks(release):
    assert NAMES - set(picker_series.metrics(release)) == WITHOUT.get(release, set())


@pytest.mark.parametrize("release", channels())
def test_each_metric_has_one_name_and_a_histogram_has_ascending_bounds(release):
    metrics = picker_series.metrics(release)
    names = [metric.name for metric in metrics.values()]
    assert len(set(names)) == len(names)
    for name, metric in metrics.items():
        assert bool(metric.bounds) == (metric.kind == "histogram"), name
        assert metric.bounds == sorted(set(metric.bounds)), name
        assert metric.labels == sorted(set(metric.labels)), name
        assert metric.name.endswith("_total") == (metric.kind == "counter"), name


@pytest.mark.parametrize("release", channels())
def test_autoscalers_ask_for_series_of_the_catalogue(release):
    facts = channel(release).picker.metrics
    catalogue = {metric.name: metric for metric in facts.catalogue.values()}
    for name, row in facts.series.items():
        metric = catalogue[row.series]
        assert metric.kind == "gauge", name
        assert row.flow_control == (metric.gate == "flowControl"), name
        assert row.stage_label is None or row.stage_label in metric.labels, name


def test_a_picker_with_two_names_for_a_value_has_the_newer_one_in_the_catalogue():
    former = ("inference_objective_", "inference_pool_", "inference_extension_", "llm_d_inference_scheduler_")
    for release in ("llm-d-0.8", "llm-d-0.9", "llm-d-0.10"):
        names = [metric.name for metric in picker_series.metrics(release).values()]
        assert not [name for name in names if name.startswith(former)], release


def test_latencies_of_the_older_pickers_need_the_latency_predictor():
    assert picker_series.metrics("gie-1.5")["ttft"].gate == "latencyPredictor"
    assert picker_series.metrics("llm-d-0.8")["ttft"].gate is None
