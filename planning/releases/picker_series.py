"""Metrics of a release's endpoint picker, by the names that this program gives them.

Meanings, where the metric's own name does not say it: `requests` are the scheduled ones, `request_errors` the refused
ones; `pool_queue`, `pool_kv_cache` and `pool_running` are averages over the endpoints of a pool; `leader` is 1 in the
picker that holds the lease, and 0 in the others.
"""

from collections.abc import Mapping

from planning.releases import channel
from planning.releases.picker_facts import PickerMetricFacts, PickerMetricName


def metrics(release: str) -> Mapping[PickerMetricName, PickerMetricFacts]:
    """Return the metrics of the picker of a release channel. Names of metrics that the picker lacks are absent."""
    return channel(release).picker.metrics.catalogue
