"""Series by which engines tell whether they serve well."""

import re

import pytest

from planning.observing import metrics
from planning.releases import engine_kinds, indicators

VLLM = indicators.of_kind("vllm").responses
ASKED = ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/v1/messages", "/score"]
"""Paths of requests that users send."""


@pytest.mark.parametrize("kind", ["vllm", "sglang"])
def test_answers_are_counted_by_labels_of_the_metric(kind):
    answers = indicators.of_kind(kind).responses
    assert {answers.path, answers.status} <= set(answers.metric.labels)
    assert re.fullmatch(answers.failures, "5xx" if kind == "vllm" else "503")
    assert not re.fullmatch(answers.failures, "2xx" if kind == "vllm" else "200")


@pytest.mark.parametrize("path", ASKED)
def test_requests_of_users_are_counted(path):
    assert VLLM.counts(path)


@pytest.mark.parametrize("path", ["/health", "/metrics", "/v1/load_lora_adapter"])
def test_a_path_is_not_counted_in_which_an_excluded_one_occurs(path):
    assert not VLLM.counts(path)


def test_probes_at_the_list_of_models_are_counted():
    assert VLLM.counts("/v1/models")


def test_rules_ask_for_the_counter_of_answers():
    row = metrics.table().server["requests"]
    assert (row.name, row.kind, row.labels) == (VLLM.metric.name, VLLM.metric.kind, VLLM.metric.labels)


@pytest.mark.parametrize(
    ("version", "name", "labels"),
    [
        ("0.5.12", "ttft", ["engine_type", "model_name"]),
        ("0.5.16", "ttft", ["engine_type", "model_name"]),
        ("0.5.17", "ttft", ["engine_type", "is_streaming", "model_name"]),
        ("0.5.21", "tpot", None),
        ("0.5.22", "tpot", ["engine_type", "is_streaming", "model_name"]),
    ],
)
def test_a_latency_has_the_labels_of_the_version(version, name, labels):
    metric = indicators.latency("sglang", version, name)
    assert (metric and metric.labels) == labels


@pytest.mark.parametrize("kind", ["sglang", "trtllm-serve"])
@pytest.mark.parametrize("name", ["ttft", "tpot"])
def test_a_latency_is_a_histogram_with_ascending_bounds(kind, name):
    metric = indicators.latency(kind, "1000", name)
    assert metric.kind == "histogram"
    assert metric.bounds == sorted(set(metric.bounds))


def test_the_table_has_no_latencies_of_vllm_and_of_engines_that_nobody_knows():
    assert indicators.latency("vllm", "0.30.0", "ttft") is None
    assert indicators.of_kind(engine_kinds.CUSTOM) is None
