"""Verdicts of rules on objects and on all that is deployed together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from policy.rules.records import DeployedObject, Level, PolicyFinding, View
from policy.rules.settings import ConfiguredRule
from policy.rules.trees import UnknownValue


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """A finding with its rule and level."""

    rule: str
    level: Level
    finding: PolicyFinding

    @property
    def is_refusal(self) -> bool:
        """Tell whether the verdict ends a run."""
        return self.level == "mandatory" and self.finding.is_known

    def __str__(self) -> str:
        """Return the verdict as one line."""
        return f"{self.rule}: {self.finding}"


def judge(view: View, rules: Iterable[ConfiguredRule]) -> Iterator[PolicyVerdict]:
    """Yield the verdicts of all rules that are not disabled."""
    for configured in rules:
        if configured.level == "disabled":
            continue
        for finding in dict.fromkeys(_findings(view, configured)):
            yield PolicyVerdict(configured.rule.name, configured.level, finding)


def _findings(view: View, configured: ConfiguredRule) -> Iterator[PolicyFinding]:
    for item in view.objects:
        yield from of_object(item, configured)
    yield from of_view(view, configured)


def of_object(item: DeployedObject, configured: ConfiguredRule) -> Iterator[PolicyFinding]:
    """Yield the findings of a rule about an object by itself, and whether a value is unknown that the rule needs."""
    judge_object = configured.rule.of_object
    if judge_object is None:
        return
    try:
        yield from judge_object(item, configured.settings)
    except UnknownValue:
        yield replace(_UNKNOWN, subject=_subject(item), urn=item.urn)


def of_view(view: View, configured: ConfiguredRule) -> Iterator[PolicyFinding]:
    """Yield the findings of a rule about all that is deployed together, and whether it needs an unknown value."""
    judge_view = configured.rule.of_view
    if judge_view is None:
        return
    try:
        yield from judge_view(view, configured.settings)
    except UnknownValue:
        yield replace(_UNKNOWN, subject="the stack")


def _subject(item: DeployedObject) -> str:
    try:
        return item.subject
    except UnknownValue:
        return item.urn or "an object"


_UNKNOWN = PolicyFinding("", "has a value that is unknown", "the run that deploys it knows it", is_known=False)
