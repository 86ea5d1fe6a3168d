"""Series of a metric, as queries write them."""

import pytest

from planning.ground.metric_facts import MetricFacts


@pytest.mark.parametrize(
    ("kind", "name", "series"),
    [
        ("counter", "a_total", {"a_total"}),
        ("gauge", "a", {"a"}),
        ("histogram", "a_seconds", {"a_seconds_bucket", "a_seconds_count", "a_seconds_sum"}),
    ],
)
def test_only_a_histogram_has_series_with_endings(kind, name, series):
    assert MetricFacts(name=name, kind=kind, labels=[]).series == series
