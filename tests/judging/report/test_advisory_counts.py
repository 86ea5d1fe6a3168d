"""The report says how many advisories another engine closes and opens."""

import pytest

from judging.report import advisory_counts, events
from judging.report.summary import ComposedStack, summarize
from models.load import load
from planning.ground.cluster_facts import NOTHING_READ
from tests.support.events import log
from tests.support.stacks import plan, tree

TRUSTED = "GHSA-h3rc-6mm3-gc2m"
POOLING = "CVE-2026-93592"


def workload(tag):
    containers = [{"name": "vllm", "image": f"vllm/vllm-openai:{tag}"}]
    return {"kind": "Deployment", "spec": {"template": {"spec": {"containers": containers}}}}


def counts(exposures, before, after):
    return [*advisory_counts.counts(exposures, "Deployment", workload(before), workload(after))]


def test_an_upgrade_closes_and_a_downgrade_opens():
    met = {TRUSTED, POOLING}
    assert counts(met, "v0.27.1", "v0.31.0") == ["closes 2 advisories"]
    assert counts(met, "v0.27.1", "v0.30.0") == ["closes 1 advisory"]
    assert counts(met, "v0.31.0", "v0.27.1") == ["opens 2 advisories"]


def test_a_newer_engine_can_open_what_an_older_one_did_not_have():
    assert counts({"CVE-2026-44223", "CVE-2026-27893"}, "v0.17.1", "v0.18.0") == [
        "closes 1 advisory",
        "opens 1 advisory",
    ]


@pytest.mark.parametrize(("before", "after"), [("v0.31.0", "v0.32.0"), ("nightly", "v0.31.0"), ("v0.27.1", "nightly")])
def test_nothing_is_told_of_none_and_of_unknown_versions(before, after):
    assert counts({TRUSTED, POOLING}, before, after) == []


def test_what_a_service_does_not_meet_does_not_count():
    assert counts(set(), "v0.27.1", "v0.31.0") == []


def test_the_row_of_a_service_has_the_number():
    before, after = (
        tree(qwen={"engine": {"image": f"registry.example/vllm-openai:v{version}", "args": ["--runner=pooling"]}})
        for version in ("0.27.1", "0.31.0")
    )
    composed = ComposedStack(load(after).stack, plan(after), NOTHING_READ)
    (line,) = summarize(events.read(log(before, after)), composed).workloads
    assert line.edits == ("image v0.27.1 → v0.31.0", "closes 2 advisories")
