"""Statuses of services as the judges of links would find them."""

from datetime import UTC, datetime

from judging.status.records import Finding, Link, ObjectRef, ServiceLink
from judging.status.states import Level, State
from judging.status.topology import RoleView, ServiceView, VariantView
from judging.status.verdict import ServiceStatus
from planning.ground import labels

READ_AT = datetime(2026, 11, 23, 19, 4, 12, tzinfo=UTC)
SINCE = datetime(2026, 11, 23, 18, 41, tzinfo=UTC)
_KINDS = {Link.WORKLOAD: "Deployment", Link.ROUTE: "HTTPRoute", Link.POOL: "InferencePool", Link.PICKER: "Deployment"}


def state(name, level=Level.BROKEN):
    """Return a state with this id and plain words, so that no test depends on the words of the tables."""
    return State(id=name, level=level, words=f"is in the state {name}", remedy="mend it", source="-", judge="-")


def finding(name, level=Level.BROKEN, *, kind="Pod", role="", **values):
    """Return a finding in this state, about the pod `x`."""
    return Finding(state(name, level), ObjectRef(kind, "team", "x"), SINCE, values, role=role)


def component(link, *findings, name="qwen", broken=None, **fields):
    """Return a link of the chain. It is broken if a finding is, unless `broken` says something else."""
    is_broken = any(entry.level is Level.BROKEN for entry in findings) if broken is None else broken
    at = ObjectRef(_KINDS.get(link, "Object"), "team", name)
    return ServiceLink(link, at, findings, is_broken, **fields)


def workload(ready, desired, *findings, role="decode", variant="primary"):
    """Return the workload of a role."""
    name = "-".join(word for word in ("qwen", variant, role) if word != "primary")
    broken = ready == 0
    return component(
        Link.WORKLOAD, *findings, name=name, broken=broken, variant=variant, role=role, ready=ready, desired=desired
    )


def service(*components, serves=True, culprit=None, autoscaler=None, scaled_object=None, claims=(), gateways=()):
    """Return the status of a service with these links. The autoscaler scales each role."""
    roles = {
        variant: tuple(
            _role(entry, autoscaler, scaled_object)
            for entry in components
            if (entry.link, entry.variant) == (Link.WORKLOAD, variant)
        )
        for variant in ("primary", "canary")
    }
    variants = tuple(VariantView(name, "qwen", workloads, (), ()) for name, workloads in roles.items() if workloads)
    routes = tuple(route() for entry in components if entry.link is Link.ROUTE)
    view = ServiceView("team", "qwen", "inference-stacks.prod", variants, routes, claims)
    return ServiceStatus(view, components, serves, culprit, gateways)


def _role(entry, autoscaler, scaled_object):
    metadata = {"namespace": entry.object.namespace, "name": entry.object.name}
    manifest = {"metadata": metadata, "spec": {"selector": {"matchLabels": {labels.ROLE: entry.role}}}}
    return RoleView(entry.role, "Deployment", manifest, (), (), autoscaler, scaled_object)


def route(hostnames=(), paths=("/team/qwen",), section=None):
    """Return a route of the service at the Gateway `gateways/inference`."""
    parent = {"namespace": "gateways", "name": "inference"} | ({"sectionName": section} if section else {})
    matches = [{"path": {"type": "PathPrefix", "value": path}} for path in paths]
    return {
        "metadata": {"namespace": "team", "name": "qwen"},
        "spec": {"parentRefs": [parent], "hostnames": [*hostnames], "rules": [{"matches": matches}]},
    }
