"""Stacks to misuse, and how to read what they render to: shared by the tests of misuses."""

import pytest

from planning.releases import channel, channels
from tests.support.stacks import tree
from tests.support.stacks.otterscale import kind
from tests.support.stacks.picker_configs import single
from tests.support.stacks.shapes import model_servers

every_channel = pytest.mark.parametrize("release", channels())
DISAGGREGATED = [release for release in channels() if channel(release).sidecar is not None]
every_disaggregated_channel = pytest.mark.parametrize("release", DISAGGREGATED)
SLEEPS = {
    "type": "keda",
    "minReplicas": 0,
    "maxReplicas": 4,
    "cooldownPeriod": "2h",
    "metrics": [{"type": "cpu", "targetPercent": 80}],
}


def stack(release="llm-d-0.10", **service):
    return tree(qwen=service) | {"release": release}


def picking(release="llm-d-0.10", **spec):
    return stack(release, endpointPicker=spec)


def configured(*more, release="llm-d-0.10", profile=(), service=None, **keys):
    """Return a stack whose picker has a sound configuration of its own, with further plugins, entries and sections."""
    config = single(*more, profile=[{"pluginRef": name} for name in profile], **keys)
    return stack(release, **{**(service or {}), "endpointPicker": {"preset": "custom", "config": config}})


def pools(everything):
    found = kind(everything, "InferencePool")
    assert found
    return found


def members(everything, pool):
    """Return the templates of the pods that a pool selects."""
    selector = pool["spec"]["selector"]["matchLabels"].items()
    return [template for template in model_servers(everything) if selector <= template["metadata"]["labels"].items()]


def pickers(everything):
    found = [manifest for manifest in kind(everything, "Deployment") if manifest["metadata"]["name"].endswith("-epp")]
    assert found
    return found
