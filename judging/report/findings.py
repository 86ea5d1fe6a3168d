"""Findings of a report on which a pipeline can fail: outages, drift, a lack of devices, a rise of the price."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from judging.report.events import Events
from judging.report.packing import Tightness
from judging.report.summary import Summary
from models.paths import Path
from models.problems import Problem
from planning import money
from planning.ground.cluster_facts import ClusterFacts, Unknown

_FACTS = Path("--facts")
_EVENTS = Path("--events")
_PRICES = Path("prices", "perDeviceHour")


class ReportFinding(StrEnum):
    """A kind of finding. Its value is the word of the option `--fail-on`."""

    OUTAGE = "outage"
    """A workload has no ready replica for some minutes."""
    DRIFT = "drift"
    """Somebody changed or deleted objects since their deployment."""
    CAPACITY = "capacity"
    """Pods of the change certainly get no devices: nodes or a quota have too few."""
    MONEY = "money"
    """The devices of the stack cost more after the change. A budget that is exceeded is a mistake of the stack, which
    no run deploys."""


@dataclass(frozen=True, slots=True)
class JudgedReport:
    """A report on a run, and what it was made from."""

    summary: Summary
    events: Events
    facts: ClusterFacts


def words(report: JudgedReport) -> Mapping[ReportFinding, str]:
    """Return the findings of a report, each with words that say how much was found."""
    summary = report.summary
    outages = [line.name for line in summary.workloads if line.outage is not None]
    lacking = [
        f"devices of {', '.join(devices.classes)}" for devices in summary.capacity.devices if _lacks(devices.low)
    ]
    lacking += [f"quota {lack.quota} of {lack.namespace}" for lack in summary.capacity.lacks if _lacks(lack.verdict)]
    rise = summary.after.less(summary.before)
    all_words = {
        ReportFinding.OUTAGE: ", ".join(outages),
        ReportFinding.DRIFT: "; ".join(map(str, summary.drift)),
        ReportFinding.CAPACITY: ", ".join(lacking),
    }
    if rise.high > 0 or rise.low > 0:
        all_words[ReportFinding.MONEY] = f"{money.text(max(rise.low, rise.high), summary.currency)} more a month"
    return {finding: text for finding, text in all_words.items() if text}


def _lacks(verdict: Tightness) -> bool:
    return verdict is Tightness.SHORT


def gaps(finding: ReportFinding, report: JudgedReport) -> Iterator[Problem]:
    """Yield the reasons why a report cannot tell whether it has a finding.

    A run with errors has no gaps: it fails by itself, and its report has only what happened before the errors.
    """
    if report.events.errors:
        return
    if not report.events.is_complete:
        yield Problem(_EVENTS, f"stops early, so that {finding} is unknown", "name the log of a whole run")
    elif finding is ReportFinding.DRIFT and not _is_refreshed(report.events):
        yield Problem(_EVENTS, "is of a run that looked for no drift", "run pulumi preview --refresh")
    elif finding is ReportFinding.CAPACITY and isinstance(report.facts.nodes, Unknown):
        what = f"has no nodes of the cluster, so that capacity is unknown ({report.facts.nodes.reason})"
        yield Problem(_FACTS, what, "name a file that python -m cli facts wrote")
    elif finding is ReportFinding.MONEY:
        yield from _missing_prices(report.summary)


def _is_refreshed(events: Events) -> bool:
    """Tell whether a run compared every object of the state with the cluster. A first run has no object to compare."""
    existing = [step for step in events.steps if step.is_custom and (step.old or step.is_drift)]
    return not existing or any(step.is_drift for step in existing)


def _missing_prices(summary: Summary) -> Iterator[Problem]:
    """Yield the accelerator classes of which a run adds devices, and whose price is unknown."""
    if not summary.is_priced:
        yield Problem(_PRICES, "has no price, so that money is unknown", "add the price of a device for an hour")
        return
    for devices in summary.capacity.classes:
        rises = devices.after.high > devices.before.high or devices.after.low > devices.before.low
        if rises and devices.accelerator in summary.after.unpriced:
            yield Problem(_PRICES / devices.accelerator, "is missing, so that money is unknown", "add it")
