"""Alerts: the reader of their table, and the alerts that a service, a variant or a role has."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import Template
from typing import Literal

from pydantic import Field

from models.base import Spec
from planning.ground import tables
from planning.observing import metrics
from planning.observing.metrics import SeriesScope

Level = Literal["service", "variant", "role"]
Severity = Literal["page", "ticket"]


class AlertRow(Spec):
    """An alert as a template."""

    id: str = Field(pattern="^[a-z]+(-[a-z]+)*$")
    """Id of the state of a status with the same meaning, or an id that no state has."""
    only: str | None = None
    """Reason why no state of a status has the meaning; None if the id is that of a state."""
    per: Level
    """Level of what the alert is about."""
    severity: Severity
    needs: list[str] = Field(default=[])
    """Names of values and facts without which a stack does not have the alert."""
    wait: str = ""
    """Template of the time for which the expression must hold; empty if the alert fires at once."""
    expression: str
    """Template of the query (`planning.observing.metrics`)."""
    summary: str
    """Template of a sentence about what is wrong, without a full stop."""
    remedy: str
    """Advice, as a sentence without a full stop."""
    source: str
    """Upstream's code that makes the series, or the publication with the method."""


class _AlertTable(Spec):
    alerts: list[AlertRow]


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert of a service, a variant or a role."""

    id: str
    severity: Severity
    expression: str
    """A query of Prometheus."""
    wait: str
    """Duration of Prometheus for which the expression must hold; empty if the alert fires at once."""
    labels: Mapping[str, str]
    """Labels that tell whose alert it is."""
    summary: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Subject:
    """A service, a variant or a role that alerts are about."""

    level: Level
    scope: SeriesScope
    """Scope of the series in the alerts' queries."""
    labels: Mapping[str, str]
    """Labels that tell whose alert it is."""
    values: Mapping[str, str]
    """Values of placeholders and facts, by name. A fact that holds has an empty value."""


def rows() -> tuple[AlertRow, ...]:
    """Return the rows of the table in its order. Several rows may have one id."""
    return tuple(tables.read(_AlertTable, "observing/alerts.yaml").alerts)


def of(subject: Subject) -> Iterator[Alert]:
    """Yield the alerts that a subject has, in the order of the table."""
    ids = set[str]()
    for row in rows():
        if row.per != subject.level or row.id in ids or not subject.values.keys() >= set(row.needs):
            continue
        expression = metrics.resolve(row.expression, subject.scope, subject.values)
        if expression is not None:
            ids.add(row.id)
            yield _alert(row, subject, expression)


def _alert(row: AlertRow, subject: Subject, expression: str) -> Alert:
    return Alert(
        id=row.id,
        severity=row.severity,
        expression=expression,
        wait=Template(row.wait).substitute(subject.values),
        labels=subject.labels,
        summary=Template(row.summary).substitute(subject.values),
        remedy=row.remedy,
    )
