"""Recorded series and alerts of a service: a PrometheusRule, or Rules of Google's Managed Service for Prometheus."""

from collections.abc import Iterator
from typing import Any

from manifests import about, objects
from manifests.objects import Manifest, Rendered, compact
from planning.ground import parts
from planning.observing.alerts import Alert
from planning.observing.burn_rates import Recording
from planning.observing.observing import INTERVAL, Observing, RuleGroup
from planning.plans import ServicePlan

STATE_LABEL = "state"
"""Label of an alert with its id, which is that of a state of a status if a state has the same meaning."""
_KINDS = {
    "prometheus-operator": ("monitoring.coreos.com/v1", "PrometheusRule"),
    "gmp": ("monitoring.googleapis.com/v1", "Rules"),
}
"""API version and kind of the object, by the kind of the monitors."""
_PREFIX = "Inference"
"""Beginning of the names of alerts, by which they differ from those of others in one Prometheus."""


def of_service(service: ServicePlan) -> Iterator[Rendered]:
    """Render the rules of a service."""
    if service.observing is not None:
        yield about.part_object(service.primary, parts.RULES, _manifest(service, service.observing))


def _manifest(service: ServicePlan, plan: Observing) -> Manifest:
    variant = service.primary
    api_version, kind = _KINDS[plan.type]
    object_labels = about.object_labels(variant, about.RULES, base=plan.labels)
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": objects.metadata(
            variant.names.base, variant.names.namespace, object_labels, variant.user_annotations
        ),
        "spec": {"groups": [_group(service, group, plan) for group in plan.groups]},
    }


def _group(service: ServicePlan, group: RuleGroup, plan: Observing) -> dict[str, Any]:
    records = [_record(recording) for recording in group.recordings]
    alerts = [_alert(alert, plan) for alert in group.alerts]
    return {"name": f"{service.key}-{group.name}", "interval": INTERVAL, "rules": [*records, *alerts]}


def _record(recording: Recording) -> dict[str, Any]:
    return {"record": recording.name, "expr": recording.expression, "labels": dict(recording.labels)}


def _alert(alert: Alert, plan: Observing) -> dict[str, Any]:
    annotations = {"summary": alert.summary, "remedy": alert.remedy}
    if plan.runbooks is not None:
        annotations["runbook_url"] = plan.runbooks.format(alert=alert.id)
    labels = {**alert.labels, "severity": plan.severities[alert.severity], STATE_LABEL: alert.id}
    rule = {"alert": name(alert.id), "expr": alert.expression, "for": alert.wait or None}
    return compact({**rule, "labels": labels, "annotations": annotations})


def name(alert_id: str) -> str:
    """Return the name of an alert in Prometheus."""
    return _PREFIX + "".join(word.capitalize() for word in alert_id.split("-"))
