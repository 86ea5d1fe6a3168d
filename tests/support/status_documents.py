"""Statuses of services in each state, and their documents."""

from dataclasses import replace
from datetime import timedelta

from judging.status import document
from judging.status.records import Link, ObjectRef, ServiceLink
from judging.status.states import Level
from judging.status.verdict import ExitCode, Status
from tests.support import statuses
from tests.support.statuses import READ_AT, component, finding, service, workload

GATEWAY = {
    "metadata": {"namespace": "gateways", "name": "inference"},
    "spec": {
        "listeners": [{"name": "web", "protocol": "HTTP", "port": 80, "allowedRoutes": {"namespaces": {"from": "All"}}}]
    },
    "status": {"addresses": [{"type": "IPAddress", "value": "10.0.0.1"}]},
}
ROUTE = component(Link.ROUTE, note="/team/qwen at gateways/inference")
LOADING = finding("loading", Level.NORMAL, role="decode")
NO_DEVICES = finding("no-devices", role="decode")


def empty_pool(*causes):
    """Return a pool without endpoints, which the links and states in `causes` may cause."""
    entry = finding("no-endpoints", kind="InferencePool")
    entry = replace(entry, state=entry.state.model_copy(update={"caused_by": [*causes]}))
    return ServiceLink(Link.POOL, ObjectRef("InferencePool", "team", "qwen"), (entry,), True, "primary", ready=0)


def ready_pool(endpoints):
    """Return a pool with ready endpoints."""
    return component(Link.POOL, broken=False, variant="primary", ready=endpoints)


AUTOSCALER = {"spec": {"minReplicas": 1, "maxReplicas": 4}, "status": {"currentReplicas": 2, "desiredReplicas": 2}}
AT_MAXIMUM = finding("at-maximum", Level.DEGRADED, kind="HorizontalPodAutoscaler", role="decode")
ASLEEP = finding("asleep", Level.NORMAL, kind="Deployment", role="decode")
PLACE = ("team", "qwen")
SERVICES = {
    "healthy": service(ROUTE, ready_pool(2), workload(2, 2), gateways=(GATEWAY,)),
    "degraded": service(
        ROUTE,
        ready_pool(2),
        component(Link.SCALING, AT_MAXIMUM, variant="primary", role="decode"),
        workload(2, 2),
        culprit=AT_MAXIMUM,
        autoscaler=AUTOSCALER,
        gateways=(GATEWAY,),
    ),
    "starting": service(ROUTE, empty_pool("workload"), workload(0, 2, LOADING), serves=False, culprit=LOADING),
    "asleep": service(ROUTE, empty_pool("workload"), workload(0, 0, ASLEEP), serves=False, culprit=ASLEEP),
    "broken": service(ROUTE, empty_pool("workload"), workload(0, 3, NO_DEVICES), serves=False, culprit=NO_DEVICES),
    "unknown": service(replace(ROUTE, is_broken=None), workload(2, 2), serves=None),
}
"""A service in each state, by state."""


def of(*names, seconds=0, unread=None, **more):
    """Return the document of these services, read so many seconds later than others."""
    moment = READ_AT + timedelta(seconds=seconds)
    status = Status(tuple(SERVICES[name] for name in names), moment, unread or {})
    return document.of(status, status.exit_code, **more)


UNREAD = {"v1/Pod": "403 Forbidden", "v1/Event": "403 Forbidden"}
ALL = {
    **{name: of(name) for name in SERVICES},
    "none": of(),
    "unread": of("healthy", unread=UNREAD),
    "all": of(*SERVICES, not_deployed=["search"], logs={PLACE: ["out of memory"]}, answers={PLACE: "200"}),
    "canary": document.of(
        Status(
            (service(ROUTE, ready_pool(1), workload(1, 1), statuses.workload(1, 1, variant="canary")),), READ_AT, {}
        ),
        ExitCode.SERVES,
    ),
}
"""Documents by name."""
