"""Reads of the cluster and of Pulumi's state that judging compares a rendered stack with."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import judging
from composition.target import Target
from judging import Situation, additions, ownership, postponement, restarts, transition
from judging.losses.continuity import State, compare
from manifests.assembly import Component, objects
from models.load import Loaded
from models.paths import Path
from models.problems import Problem
from models.stack import Stack
from planning.ground.cluster_facts import ClusterFacts, LiveObjects, Pools, Unknown
from planning.ground.instances import Instance
from planning.ground.needs import Needs
from planning.plans import StackPlan
from planning.routes.acceptance import Waits

_Names = dict[tuple[str, str], list[str]]
"""Names of objects, by kind (`apiVersion/Kind`) and namespace."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """A stack that was decided and rendered for a cluster."""

    loaded: Loaded
    source_warnings: tuple[Problem, ...]
    """Warnings about sources that the lock lacks, and about sources whose size could not be read."""
    plan: StackPlan
    needs: Needs
    facts: ClusterFacts
    waits: Waits
    components: tuple[Component, ...]
    """Components in the order of registration. Their objects fit the schemas of their kinds."""
    stand_ins: frozenset[Path]
    """Paths of the models whose size is a stand-in, because no source was asked."""


def read(
    rendering: Rendering, selection: tuple[Problem, ...], target: Target, instance: Instance, state: State
) -> Situation:
    """Read the objects in the cluster and Pulumi's state, and return all that the stack is compared with.

    The components of the result lack the fields that wait for another change.
    """
    loaded = rendering.loaded
    plan = rendering.plan
    facts = rendering.facts
    components = rendering.components
    live = _live_objects(loaded.stack, facts, components, target)
    name = cluster_name(loaded.stack, target)
    continuity = compare(components, state(), live, facts.routes, instance, plan.identity, name, loaded.stack.allow)
    upgrades = loaded.stack.upgrades
    components = postponement.postpone(components, continuity, live, upgrades)
    situation = Situation(
        loaded=loaded,
        plan=plan,
        components=components,
        needs=rendering.needs,
        instance=instance,
        facts=facts,
        earlier=target.earlier_facts(),
        live=live,
        continuity=continuity,
        cluster=target.name(loaded.stack.cluster),
        now=datetime.now(UTC),
        selection=selection,
        turns=restarts.order(components, plan, continuity, live, upgrades),
    )
    return replace(situation, outages=judging.outages_of(situation))


def announce(situation: Situation, target: Target) -> Iterator[Problem]:
    """Read rights and pools, and return the warnings about effects of a deployment that its preview does not show."""
    stack = situation.stack
    needed = situation.needs
    namespaces = {*needed.namespaces, *(at.namespace for at in needed.gateways)}
    permissions = target.permissions(stack.cluster, namespaces)
    return judging.announce(situation, permissions, _pools(situation, target))


def cluster_name(stack: Stack, target: Target) -> str:
    """Return the name of a stack's cluster: from the configuration, or else from the kubeconfig."""
    return stack.cluster.name or target.name(stack.cluster) or "default"


def _pools(situation: Situation, target: Target) -> Pools | Unknown:
    """Return the pools in the cluster; no pools if no variant has a generation.

    If the pools cannot be read from the cluster, the pools in the facts are used.
    """
    plan = situation.plan
    facts = situation.facts
    if not transition.has_generations(plan):
        return Pools({})
    namespaces = frozenset(service.primary.names.namespace for service in plan.services)
    pools = target.pools(situation.stack.cluster, namespaces)
    if isinstance(pools, Unknown) and not isinstance(facts.live_pools, Unknown):
        return Pools({(pool.namespace, pool.name): pool.selector for pool in facts.live_pools.live_pools})
    return pools


def _live_objects(
    stack: Stack, facts: ClusterFacts, components: Collection[Component], target: Target
) -> LiveObjects | Unknown:
    """Return the objects that stacks made in the cluster, and the marks of all objects whose names this stack uses.

    If the facts do not say which kinds the cluster serves, the objects are not read.
    """
    if isinstance(facts.apis, Unknown):
        return facts.apis
    names = _Names()
    for rendered in objects(components):
        *_, namespace, name = rendered.place
        if rendered.manifest["kind"] not in ownership.UNREAD:
            names.setdefault((rendered.api, namespace), []).append(name)
    return target.objects(stack.cluster, additions.kinds(components), names)
