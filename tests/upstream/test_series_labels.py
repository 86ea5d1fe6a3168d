"""Labels and bounds of vLLM's metrics are read from source code."""

import pytest

from upstream import series_labels
from upstream.series_labels import HistogramBounds

LOGGERS = """
class PrometheusStatLogger:
    def __init__(self):
        labelnames = ["model_name", "engine"]
        bounds = [0.3, 0.5]
        self._gauge_cls(documentation="", name="vllm:by_reason", labelnames=labelnames + ["reason"])
        self._histogram_cls(documentation="", name="vllm:xx_seconds", buckets=bounds, labelnames=labelnames)
        bounds = [1, 2]
        self._histogram_cls(documentation="", name="vllm:yy_seconds", buckets=bounds, labelnames=labelnames)
        bounds = build_1_2_5_buckets(max_model_len)
        self._histogram_cls(documentation="", name="vllm:prompt_tokens", buckets=bounds, labelnames=labelnames)
        self._gauge_cls(documentation="", name="vllm:cache_config_info", labelnames=metrics_info.keys())
"""
BUCKETS = """
TTFT: tuple[float, ...] = (0.001, 0.005)
_STATIC_FAMILY_DEFAULTS: dict[str, tuple[float, ...]] = {"time_to_first_token": TTFT}
"""
ENGINE = ("engine", "model_name")


def read(**sources):
    files = {series_labels.BUCKETS: BUCKETS, "vllm/v1/metrics/loggers.py": LOGGERS}
    files |= {f"vllm/{name}.py": text for name, text in sources.items()}
    return series_labels.read({path: text.encode() for path, text in files.items()})


def test_labels_and_bounds_are_those_at_the_place_of_the_call():
    shapes = read()
    assert shapes.labels["vllm:by_reason"] == ("engine", "model_name", "reason")
    assert shapes.bounds["vllm:xx_seconds"] == HistogramBounds((0.3, 0.5))
    assert shapes.bounds["vllm:yy_seconds"] == HistogramBounds((1, 2))


def test_bounds_that_depend_on_the_context_length_say_so():
    assert read().bounds["vllm:prompt_tokens"] == HistogramBounds(series_labels.CONTEXT_LENGTH)


def test_a_metric_with_labels_that_the_code_does_not_tell_is_left_out():
    assert "vllm:cache_config_info" not in read().labels


@pytest.mark.parametrize(
    ("call", "bounds"),
    [
        ('histogram_buckets("time_to_first_token")', HistogramBounds((0.001, 0.005))),
        (
            'histogram_buckets("time_to_first_token", overrides=custom)',
            HistogramBounds((0.001, 0.005), "time_to_first_token"),
        ),
        ('histogram_buckets("request_tokens", max_model_len=n)', HistogramBounds(series_labels.CONTEXT_LENGTH)),
    ],
)
def test_a_family_of_histograms_has_its_bounds_in_one_place(call, bounds):
    source = f'bounds = {call}\nHistogram(documentation="", name="vllm:zz", buckets=bounds)'
    assert read(more=source).bounds["vllm:zz"] == bounds


def test_a_described_metric_has_the_labels_of_the_engine_besides_its_own():
    source = 'metrics["vllm:tier_reads"] = CounterMetadata(documentation="", labelnames=("tier",))'
    assert read(more=source).labels["vllm:tier_reads_total"] == ("engine", "model_name", "tier")


def test_the_call_that_registers_a_metric_counts_more_than_its_description():
    source = """
SIZE = "vllm:size"
DEFINITIONS = {SIZE: HistogramMetadata(documentation="", buckets=(1, 2))}
def f(labelnames):
    histogram_cls(documentation="", name=SIZE, buckets=DEFINITIONS[SIZE].buckets, labelnames=labelnames + ["kind"])
"""
    shapes = read(more=source)
    assert shapes.labels["vllm:size"] == ("engine", "kind", "model_name")
    assert shapes.bounds["vllm:size"] == HistogramBounds((1, 2))


def test_a_call_that_counts_something_registers_nothing():
    source = """
metrics["vllm:skipped"] = CounterMetadata(documentation="")
stats.increase_counter("vllm:skipped", 1)
"""
    assert read(more=source).labels["vllm:skipped_total"] == ENGINE


def test_the_former_engine_counts_only_for_metrics_that_the_present_one_lacks():
    source = """
labelnames = ["model_name"]
Histogram(documentation="", name="vllm:xx_seconds", labelnames=labelnames, buckets=[9])
Histogram(documentation="", name="vllm:former_seconds", labelnames=labelnames, buckets=[9])
"""
    files = {"vllm/engine/metrics.py": source, "vllm/v1/metrics/loggers.py": LOGGERS}
    shapes = series_labels.read({path: text.encode() for path, text in files.items()})
    assert shapes.labels["vllm:xx_seconds"] == ENGINE
    assert shapes.bounds["vllm:xx_seconds"] == HistogramBounds((0.3, 0.5))
    assert shapes.labels["vllm:former_seconds"] == ("model_name",)


@pytest.mark.parametrize(
    ("call", "labels"),
    [
        ('Gauge("vllm:ops", "documentation", ["operation"])', ("operation",)),
        ('Gauge(documentation="", name="vllm:ops")', ()),
    ],
)
def test_a_metric_of_the_server_has_the_labels_of_its_call_alone(call, labels):
    assert read(more=call).labels["vllm:ops"] == labels


def test_a_histogram_without_bounds_has_those_of_the_client_library():
    values = read(more='Histogram(documentation="", name="vllm:plain")').bounds["vllm:plain"].values
    assert (len(values), values[-1]) == (14, 10.0)


def test_a_table_has_numbers_without_exponents():
    groups = series_labels.rows(series_labels.Shapes({}, {"vllm:a": HistogramBounds((0.00001, 2**24, 1e9), "family")}))
    assert groups["bounds"] == {"vllm:a: [0.00001, 16777216, 1000000000]"}
    assert groups["families"] == {"vllm:a: family"}
