"""All verdicts about a stack in its cluster, in the order in which they are printed."""

from collections.abc import Iterator

from judging import additions, ownership, preflight, rights, transition
from judging.report import checks, outages, running
from judging.report.checks import ClusterBefore
from judging.report.outages import Outage
from judging.rights import Options, Purpose
from judging.situation import Situation
from manifests.assembly import objects
from models.paths import Path
from models.problems import Problem, errors, gap
from planning.ground.cluster_facts import Permissions, Pools, Unknown


def judge(situation: Situation) -> Iterator[Problem]:
    """Yield the problems of a stack in its cluster. If one of them is an error, nothing may be registered.

    In another cluster than that of earlier runs, no other problem of the cluster means anything.
    """
    yield from situation.continuity.problems
    if errors(situation.continuity.problems):
        return
    yield from preflight.judge(situation)
    yield from situation.selection
    named = ownership.of_components(situation.components)
    yield from ownership.judge(named, situation.live, situation.plan.identity, situation.mode, situation.instance)
    stack = situation.stack
    yield from checks.judge(situation.plan, _before(situation), stack.checks.capacity)
    yield from outages.judge(situation.outages, stack.checks.outage, stack.allow)


def outages_of(situation: Situation) -> tuple[Outage, ...] | Unknown:
    """Return the workloads that a run leaves without a ready replica; none if `checks.outage` is `skip`.

    If the kinds of the cluster are unknown, too, preflight reports the failed read.
    """
    is_unread = isinstance(situation.facts.apis, Unknown)
    if situation.stack.checks.outage == "skip" or is_unread:
        return ()
    return outages.of_run(situation.plan, _before(situation), situation.stack)


def announce(
    situation: Situation, permissions: Permissions | Unknown | None, pools: Pools | Unknown
) -> Iterator[Problem]:
    """Yield warnings about effects of a deployment that its preview does not show.

    `permissions` are those of the user; None if the run does not deploy. `pools` are the pools in the cluster.
    """
    if permissions is not None:
        stack_objects = rights.of_components(situation.components)
        required = rights.rights(Purpose.DEPLOY, stack_objects, situation.needs, Options())
        yield from rights.judge(required, permissions)
    yield from transition.generations(situation.plan, pools)
    if not isinstance(situation.live, Unknown):
        yield from transition.judge(situation.plan, situation.live)
        yield from additions.judge(situation.components, situation.live)
    elif not isinstance(situation.facts.apis, Unknown):
        # If the kinds of the cluster are unknown, too, preflight has reported the failed read.
        yield gap(Path(), "changes by others to objects", situation.live.reason)


def _before(situation: Situation) -> ClusterBefore:
    """Return the cluster before a run, with the pod templates that the workloads have after it."""
    templates = {
        rendered.place: running.template(rendered.place[1], rendered.manifest)
        for rendered in objects(situation.components)
        if rendered.place[1] in running.WORKLOADS
    }
    return ClusterBefore(situation.facts, situation.live, situation.plan.classes, templates, situation.turns)
