"""Plan of the rules of a service: recorded series and alerts in groups."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from models.monitoring import AlertRules
from models.objectives import Slo
from planning.observing import alerts, burn_rates
from planning.observing.alerts import Alert
from planning.observing.burn_rates import Recording
from planning.observing.observed import FACT, ObservedVariant, are_compared, service_subject

INTERVAL = "30s"
"""Time between two evaluations of a group."""


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Rules that are evaluated one after another: the recorded series, then the alerts."""

    name: str
    recordings: tuple[Recording, ...]
    alerts: tuple[Alert, ...]


@dataclass(frozen=True, slots=True)
class Observing:
    """Plan of the rules of a service."""

    type: Literal["prometheus-operator", "gmp"]
    labels: Mapping[str, str]
    """Labels by which a Prometheus selects the object with the rules."""
    severities: Mapping[str, str]
    """Values of the label for the severity, by severity."""
    runbooks: str | None
    """Address of the entry of an alert in a runbook, with `{alert}` for the alert's id; None if there is no runbook."""
    groups: tuple[RuleGroup, ...]
    """Groups of the variants, then that of the service. Groups without rules are left out."""


def plan(rules: AlertRules | None, variants: tuple[ObservedVariant, ...], slo: Slo | None) -> Observing | None:
    """Return the plan of a service's rules. `variants` are its primary and its canary, as far as they are scraped.

    None if the stack has no rules, or if nothing of the service is scraped.
    """
    if rules is None or not variants:
        return None
    groups = tuple(group for group in _groups(variants, slo) if group.recordings or group.alerts)
    if not groups:
        return None
    return Observing(
        type=variants[0].monitoring.type,
        labels=rules.labels,
        severities={"page": rules.severities.page, "ticket": rules.severities.ticket},
        runbooks=rules.runbooks,
        groups=groups,
    )


def _groups(variants: tuple[ObservedVariant, ...], slo: Slo | None) -> Iterator[RuleGroup]:
    for variant in variants:
        subject = variant.subject(_objectives(variants, slo))
        recordings = tuple(burn_rates.recordings(subject.scope, subject.values))
        of_roles = tuple(alert for role in variant.role_subjects() for alert in alerts.of(role))
        yield RuleGroup(variant.context.variant_name, recordings, (*alerts.of(subject), *of_roles))
    yield RuleGroup("service", (), tuple(alerts.of(service_subject(variants, slo))))


def _objectives(variants: tuple[ObservedVariant, ...], slo: Slo | None) -> dict[str, str]:
    """Return the values of placeholders for the recorded series of a service.

    Requests are recorded for an objective, and for the comparison of a canary unless pickers count.
    """
    values = dict[str, str]()
    if slo is not None:
        values = {f"{slo.source}_counts": FACT, **burn_rates.bound_values(slo)}
        if slo.availability is not None:
            values["requests"] = FACT
    if are_compared(variants) and "picker_counts" not in values:
        values |= {"engine_counts": FACT, "requests": FACT}
    return values
