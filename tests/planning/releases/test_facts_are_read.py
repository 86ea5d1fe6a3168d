"""Facts of a channel that no decision reads are not in its table."""

import pytest

from planning.releases import channels
from planning.releases.picker_facts import PickerMetrics
from tests.support.stacks import plan, tree

FLOW = {"flowControl": {"defaultRequestTTL": "1h"}}
SLEEPS = {"type": "keda", "minReplicas": 0, "maxReplicas": 4, "metrics": [{"type": "cpu", "targetPercent": 80}]}
PROMETHEUS = {"observability": {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}}
PROVENANCE = {"source", "date", "proof"}
CATALOGUE = "catalogue"
"""Facts about metrics that `planning.releases.picker_series` returns; no plan of a service needs them."""


@pytest.mark.parametrize("release", [name for name in channels() if name != "gie-1.3"])
def test_every_series_of_the_picker_is_read(release, monkeypatch):
    """See defects C15."""
    read = set()
    original = PickerMetrics.__getattribute__

    def recording(self, name):
        read.add(name)
        return original(self, name)

    monkeypatch.setattr(PickerMetrics, "__getattribute__", recording)
    plan(tree(qwen={"endpointPicker": FLOW, "autoscaling": SLEEPS}) | PROMETHEUS | {"release": release})
    assert PickerMetrics.model_fields.keys() - PROVENANCE - {CATALOGUE} <= read
