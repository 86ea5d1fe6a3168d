"""The findings of a report on which a pipeline can fail, and what a report cannot tell."""

from dataclasses import replace

import pytest

from judging.report import events, findings
from judging.report.findings import JudgedReport, ReportFinding
from planning.ground.cluster_facts import NOTHING_READ
from tests.support.events import log
from tests.support.reports import H100, MONEY, SERVICE, made, nodes
from tests.support.stacks import tree

LONGER = {**SERVICE, "model": {**SERVICE["model"], "maxModelLen": 65536}}
ALONE = {**SERVICE, "replicas": 1}
LONGER_ALONE = {**LONGER, "replicas": 1}
MORE = {**SERVICE, "replicas": 4}


def report(before, after, facts, more=MONEY):
    stacks = [tree(qwen=service) | more for service in (before, after)]
    return JudgedReport(made(*stacks, facts), events.read(log(*stacks)), facts)


@pytest.mark.parametrize(
    ("before", "after", "facts", "expected"),
    [
        (ALONE, ALONE, nodes(4), {}),
        (SERVICE, LONGER, nodes(4), {}),
        (ALONE, LONGER_ALONE, nodes(4), {ReportFinding.OUTAGE: "qwen-decode"}),
        (SERVICE, MORE, nodes(4), {ReportFinding.MONEY: "$23,944 more a month"}),
        (MORE, SERVICE, nodes(4), {}),
        (
            SERVICE,
            MORE,
            nodes(1, requested=8),
            {ReportFinding.MONEY: "$23,944 more a month", ReportFinding.CAPACITY: f"devices of {H100}"},
        ),
    ],
)
def test_a_report_has_the_findings_of_its_change(before, after, facts, expected):
    assert findings.words(report(before, after, facts)) == expected


def test_objects_that_somebody_changed_are_a_finding():
    drift = made(tree(qwen=SERVICE), tree(qwen=SERVICE), nodes(4))
    changed = replace(drift, drift=("Service models/qwen is gone",))
    assert findings.words(JudgedReport(changed, events.read(log(None, tree())), nodes(4))) == {
        ReportFinding.DRIFT: "Service models/qwen is gone"
    }


def gaps(finding, **changes):
    """Return what a report on more replicas cannot tell, after changes to what it is made from."""
    whole = report(SERVICE, MORE, changes.pop("facts", nodes(4)), changes.pop("more", MONEY))
    return [str(gap) for gap in findings.gaps(finding, replace(whole, events=replace(whole.events, **changes)))]


def test_a_report_says_what_it_cannot_tell():
    assert gaps(ReportFinding.OUTAGE) == gaps(ReportFinding.CAPACITY) == gaps(ReportFinding.MONEY) == []
    assert gaps(ReportFinding.OUTAGE, is_complete=False) == [
        "--events: stops early, so that outage is unknown; name the log of a whole run"
    ]
    assert gaps(ReportFinding.DRIFT) == ["--events: is of a run that looked for no drift; run pulumi preview --refresh"]
    (unread,) = gaps(ReportFinding.CAPACITY, facts=NOTHING_READ)
    assert unread.startswith("--facts: has no nodes of the cluster, so that capacity is unknown (")
    assert gaps(ReportFinding.MONEY, more={}) == [
        "prices.perDeviceHour: has no price, so that money is unknown; add the price of a device for an hour"
    ]
    assert gaps(ReportFinding.MONEY, more={"prices": {"perDeviceHour": {"nvidia-l40s": 1}}}) == [
        f"prices.perDeviceHour.{H100}: is missing, so that money is unknown; add it"
    ]


def test_a_first_run_has_nothing_to_refresh():
    stack = tree(qwen=SERVICE)
    first = JudgedReport(made(None, stack, nodes(4)), events.read(log(None, stack)), nodes(4))
    assert list(findings.gaps(ReportFinding.DRIFT, first)) == []


def test_a_run_with_errors_has_no_gaps():
    failed = events.read(log(None, tree(), ("error", "x"))).diagnostics
    assert gaps(ReportFinding.DRIFT, diagnostics=failed) == []
