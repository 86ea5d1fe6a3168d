"""Queries that are made of templates."""

import pytest

from planning.observing import metrics
from planning.observing.metrics import SeriesScope
from planning.releases import picker_series

SCOPE = SeriesScope("models", "chat", "primary", "0.33.0", picker_series.metrics("llm-d-0.10"))
MATCHERS = 'namespace="models",inference_service="chat",variant="primary"'


def test_a_series_has_the_name_on_the_wire_and_the_matchers_of_the_scope_before_its_own():
    query = metrics.resolve(
        'sum(rate(engine:ttft_bucket{le="$within"}[$window]))', SCOPE, {"within": "1", "window": "5m"}
    )
    assert query == f'sum(rate(vllm:time_to_first_token_seconds_bucket{{{MATCHERS},le="1"}}[5m]))'


@pytest.mark.parametrize("template", ["engine:waiting", "engine:waiting{}"])
def test_a_series_without_matchers_has_those_of_the_scope(template: str):
    assert metrics.resolve(template, SCOPE, {}) == f"vllm:num_requests_waiting{{{MATCHERS}}}"


def test_text_in_quotes_is_no_series():
    query = 'target:up{role="engine:waiting \\" picker:requests"}'
    assert metrics.resolve(query, SCOPE, {}) == f'up{{{MATCHERS},role="engine:waiting \\" picker:requests"}}'


def test_the_newest_name_that_the_version_reports_counts():
    older = SeriesScope("models", "chat", "primary", "0.9.1")
    newer = SeriesScope("models", "chat", "primary", "0.33.0")
    assert "vllm:gpu_cache_usage_perc{" in (metrics.resolve("engine:cache_usage", older, {}) or "")
    assert "vllm:kv_cache_usage_perc{" in (metrics.resolve("engine:cache_usage", newer, {}) or "")


def test_a_template_with_a_metric_that_nobody_reports_has_no_query():
    older = SeriesScope("models", "chat", "primary", "0.9.1", picker_series.metrics("gie-1.3"))
    assert metrics.resolve("sum(engine:tpot_count) > 0", older, {}) is None
    assert metrics.resolve("sum(picker:poll_errors) > 0", older, {}) is None
    assert metrics.resolve("sum(engine:waiting) > 0", SeriesScope("models", "chat"), {}) is None


def test_a_matcher_of_a_picker_counts_only_for_a_metric_with_its_label():
    older = SeriesScope("models", "chat", "primary", None, picker_series.metrics("gie-1.5"))
    assert 'streaming="true"' in (metrics.resolve("picker:ttft_count", SCOPE, {}) or "")
    assert "streaming" not in (metrics.resolve("picker:ttft_count", older, {}) or "streaming")


def test_series_about_the_cluster_are_those_of_the_namespace():
    query = metrics.resolve('cluster:deployment_ready{deployment="chat-epp"}', SCOPE, {})
    assert query == 'kube_deployment_status_replicas_ready{namespace="models",deployment="chat-epp"}'


def test_recorded_series_of_a_service_are_those_of_all_variants():
    query = metrics.resolve("sum(recorded:failures:rate5m)", SeriesScope("models", "chat"), {})
    assert query == 'sum(inference_stacks:failures:rate5m{namespace="models",inference_service="chat"})'


@pytest.mark.parametrize("template", ["engine:wating", "picker:reqests", "server:up", "target:requests", "up > $limit"])
def test_a_name_that_does_not_exist_is_a_mistake_of_the_template(template: str):
    with pytest.raises(KeyError):
        metrics.resolve(template, SCOPE, {})


def test_bounds_are_those_of_the_version_and_of_the_channel():
    assert 2.5 in metrics.bounds("engine", "ttft", SCOPE)
    assert 2.5 not in metrics.bounds("picker", "ttft", SCOPE)
    assert metrics.bounds("engine", "tpot", SeriesScope("models", "chat", "primary", "0.9.1")) == ()
    assert metrics.bounds("picker", "ttft", SeriesScope("models", "chat")) == ()
