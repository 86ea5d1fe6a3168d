"""Metrics of vLLM are read from source code."""

import pytest

from upstream import series

LOGGERS = """
class PrometheusStatLogger:
    def __init__(self):
        self._gauge_cls(name="vllm:num_requests_running", documentation="")
        self._gauge_cls(name="vllm:num_requests_waiting", documentation="See vllm:num_requests_running.")
        counter = self._counter_cls(name="vllm:prompt_tokens", documentation="")
        self._histogram_cls(name="vllm:iteration_tokens_total", documentation="")
"""
"""Each kind of metric, named where it is registered."""


def read(*sources):
    return series.read({f"{index}.py": text.encode() for index, text in enumerate((LOGGERS, *sources))})


def test_kinds_of_metrics_are_read_and_counters_end_in_total():
    names = read()
    assert names.counters == {"vllm:prompt_tokens_total"}
    assert names.gauges == {"vllm:num_requests_running", "vllm:num_requests_waiting"}
    assert names.histograms == {"vllm:iteration_tokens_total"}


@pytest.mark.parametrize(
    "source",
    [
        'Counter("vllm:xx_total", "documentation")',
        'X = "vllm:xx"\nCounter(name=X)',
        'def f():\n    name = None\n    name = "vllm:xx"\n    counter_cls(name=name)',
        'def f():\n    rows = [("vllm:xx", "documentation")]\n    [Counter(name=name) for name, _ in rows]',
        'ROWS: tuple = (("xx", ""),)\ndef f():\n    for name, _ in ROWS:\n        Counter(name=f"vllm:{name}")',
        'class Names:\n    X = "vllm:xx"\nmetrics = {Names.X: CounterMetadata(documentation="")}',
        'class Names:\n    X = "vllm:xx"\nmetrics[Names.X] = (\n    CounterMetadata(documentation="")\n)',
    ],
    ids=["position", "constant", "variable", "loop", "text", "dictionary", "item"],
)
def test_a_name_is_read_wherever_vllm_writes_it(source):
    assert read(source).counters == {"vllm:prompt_tokens_total", "vllm:xx_total"}


def test_names_of_another_module_are_read():
    names = 'class Names:\n    X = "vllm:xx"'
    assert "vllm:xx" in read(names, "metrics = {Names.X: GaugeMetadata()}").gauges


@pytest.mark.parametrize(
    ("sources", "name"),
    [({"a.py": b'X = "vllm:xx"'}, "vllm:xx"), ({"a.py": b""}, "vllm:num_requests_running")],
    ids=["a name without a call", "no gauge"],
)
def test_a_module_that_moved_is_reported(sources, name):
    with pytest.raises(ValueError, match=name):
        series.read(sources)
