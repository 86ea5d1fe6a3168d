"""Checks before a deployment: whether the cluster has the objects that a stack needs.

A missing kind, namespace, class or listener is an error, because only a person can add it. A missing Secret, metric,
node or approval of a controller is a warning, because it may come while pods wait. If facts could not be read, a
warning names them. `checks.preflight: warn` turns the errors into warnings. With `skip`, only `facts_age`,
`earlier_preview`, `addresses`, `pools` and `unresolved_ids` still report problems.
"""

from collections.abc import Iterator

from judging import routes as live_routes
from judging.preflight import (
    admission,
    earlier_preview,
    facts_age,
    image_volumes,
    kinds,
    listeners,
    metering,
    namespaces,
    nodes,
    references,
    unread_facts,
)
from judging.situation import Situation
from manifests.assembly import objects
from models.problems import Problem

__all__ = ["judge"]


def judge(situation: Situation) -> Iterator[Problem]:
    """Yield the problems of a stack in its cluster.

    The order is: age and changes of the facts; kinds, versions and metrics that the cluster lacks; missing objects;
    routes of others that collide with routes of the stack; facts that could not be read; resource ids.
    """
    plan = situation.plan
    needs = situation.needs
    facts = situation.facts
    mode = situation.mode
    yield from facts_age.judge(facts, situation.cluster, situation.now)
    yield from facts_age.judge(situation.earlier, situation.cluster, situation.now, earlier_preview.FILE)
    yield from earlier_preview.judge(situation.earlier, facts, needs, situation.identity)
    yield from kinds.kinds(needs.kinds, facts, mode)
    if plan.routes:
        yield from kinds.bundles(plan, facts, mode)
    yield from kinds.addresses(situation.stack, facts)
    yield from kinds.metrics(plan, facts, mode)
    yield from metering.metering(plan, facts, mode)
    yield from situation.loaded.locate(_references(situation))
    yield from live_routes.judge(plan.routes, situation.identity, facts.routes, situation.mode)
    yield from unread_facts.judge(needs, facts, mode)
    services = (rendered.manifest for rendered in objects(situation.components) if rendered.api == "v1/Service")
    yield from metering.unresolved_ids(plan, services)


def _references(situation: Situation) -> Iterator[Problem]:
    """Yield the problems of names in the configuration that lead to objects of the cluster."""
    plan = situation.plan
    needs = situation.needs
    facts = situation.facts
    mode = situation.mode
    yield from namespaces.judge(needs, facts, plan.namespace_origins, situation.identity, mode)
    yield from admission.judge(needs, facts, mode)
    yield from listeners.judge(plan.routes, needs, facts, mode)
    yield from references.classes(needs, facts, mode)
    yield from references.secrets(needs, facts, mode)
    yield from image_volumes.judge(needs, facts, mode)
    yield from nodes.judge(plan, facts, mode)
