"""Plugins get the data that they need, and sources are listed once."""

import yaml

from cli import lint
from planning.releases import channel


def judged(plugins, release="llm-d-0.10", **keys):
    """Return the findings in a configuration alone, without those that only cannot be meant."""
    text = yaml.safe_dump({"plugins": plugins, **keys})
    return [str(finding.problem) for finding in lint.judge(text, channel(release)).findings if finding.reason is None]


def test_data_of_a_declared_producer_is_found_by_its_name():
    named = {"inFlightLoadProducerName": "loads"}
    plugins = [{"type": "token-load-scorer", "parameters": named}, {"type": "inflight-load-producer", "name": "loads"}]
    assert judged(plugins) == []


def test_a_producer_that_the_picker_adds_brings_its_source():
    plugins = [{"type": "active-request-scorer"}]
    assert judged(plugins, dataLayer={"injectDefaults": False}) == []
