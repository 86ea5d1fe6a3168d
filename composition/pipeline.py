"""The steps from a configuration to checked objects, and the record of their results.

Some steps do I/O: they read sizes of sources, and facts and objects of the cluster. All other steps are pure functions.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import judging
import planning
from composition import locking, selecting, sources
from composition.locking import GivenLock
from composition.sources import Configuration, Sources
from composition.target import Target
from facts import source_sizes
from facts.lock_file import LockFile
from judging import Situation, additions, needs, ownership, transition, validation
from judging.losses.continuity import Continuity, State, compare, nothing_recorded
from judging.validation import SchemaError
from manifests import marking
from manifests.assembly import Component, await_routes, objects, render
from manifests.objects import Rendered
from models import yaml_limits
from models.load import Loaded, load
from models.problems import ConfigError, Problem, errors
from models.stack import Stack
from planning import outputs
from planning.ground import contract, parts
from planning.ground.cluster_facts import ClusterFacts, LiveObjects, Pools, Unknown
from planning.ground.instances import MAIN, Instance
from planning.ground.marks import StackName
from planning.ground.needs import Needs
from planning.ground.order import Id
from planning.plans import ServicePlan, StackPlan
from planning.routes import acceptance
from planning.routes.acceptance import Waits

if TYPE_CHECKING:
    from models.platform import Outputs

_AWAITED_PARTS = frozenset({parts.DECODE.workload, parts.PREFILL.workload, parts.PICKER, parts.POOL})
"""Parts of a service that every deployment waits for. A deployment waits only for some of the routes."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The result for a configuration that cannot be deployed: its errors, and the warnings of earlier steps."""

    error: ConfigError | SchemaError
    """The errors: mistakes of the user (ConfigError), or of this program (SchemaError)."""
    source_warnings: tuple[Problem, ...] = ()
    """Warnings about sources that the lock lacks, and about sources whose size could not be read."""
    plan_warnings: tuple[Problem, ...] = ()
    """Warnings of planning; empty if planning failed."""


@dataclass(frozen=True, slots=True)
class Composition:
    """The result for a configuration without mistakes: the results of all steps, for one cluster."""

    stack: Stack
    """The configuration, including the sizes that were read from sources."""
    source_warnings: tuple[Problem, ...]
    """Warnings about sources that the lock lacks, and about sources whose size could not be read."""
    plan: StackPlan
    facts: ClusterFacts
    waits: Waits
    components: tuple[Component, ...]
    """Components in the order of registration. Their objects fit the schemas of their kinds."""
    preflight: tuple[Problem, ...]
    """Problems of the stack in this cluster. If one of them is an error, nothing is registered."""
    continuity: Continuity
    """Relation of the objects to Pulumi's state."""
    announcements: tuple[Problem, ...]
    """Warnings about effects of a deployment that its preview does not show; empty if `preflight` has errors."""

    @property
    def plan_warnings(self) -> tuple[Problem, ...]:
        """Warnings of planning."""
        return self.plan.warnings

    @property
    def objects(self) -> tuple[Rendered, ...]:
        """Every object in the order of registration."""
        return tuple(objects(self.components))

    @property
    def facts_digest(self) -> str | None:
        """SHA-256 of the cluster facts on which this stack depends; None if they are unknown."""
        return self.facts.digest(_kinds(self.components), self.waits.gateways)

    @property
    def contract(self) -> contract.Outputs:
        """Outputs of the stack."""
        return outputs.of_stack(self.plan, self.facts_digest, self.waits.routes)

    def awaited_objects(self, service: ServicePlan) -> tuple[Id, ...]:
        """Return the objects that must be up before a service's output `awaited` resolves, in order of registration."""
        owners = {variant.owner for variant in service.variants}
        awaited_parts = {*_AWAITED_PARTS, *((parts.ROUTE,) if service.key in self.waits.routes else ())}
        ids = (rendered.id for rendered in self.objects)
        return tuple(object_id for object_id in ids if object_id.owner in owners and object_id.part in awaited_parts)


def compose(  # noqa: PLR0913, PLR0917 - what a stack is composed of
    tree: object,
    target: Target,
    name: StackName,
    earlier: Sequence[Problem] = (),
    platform: "Outputs | None" = None,
    instance: Instance = MAIN,
    lock: LockFile | None = None,
    state: State = nothing_recorded,
) -> Composition | Refusal:
    """Run all steps on the configuration of an inference stack in the Pulumi stack called `name`.

    `tree` is the value of the configuration key `inference-stacks:stack`, or a `Configuration` with this value.
    `earlier` are errors that the caller found; if there are any, no cluster is read. `platform` are the outputs of the
    platform; None if they were not read.
    `state` returns Pulumi's state before the run.
    """
    configuration = Configuration.of(tree)
    tree = configuration.tree
    source_warnings, plan_warnings, files = tuple[Problem, ...](), tuple[Problem, ...](), Sources()
    earlier = (*earlier, *(given := locking.read(lock, configuration, name, platform)).problems)
    try:
        yaml_limits.refuse_too_deep(tree, earlier)
        files = sources.read(configuration, earlier, locking.platform(configuration, platform, given.lock))
        selection = selecting.select(tree, files, given.lock, name.stack, target, earlier)
        files, source_warnings = selection.with_documents(files), selection.stale
        loaded, source_warnings = _with_contents(
            load(tree, earlier, files.sources, selection.layers), given, name, target, source_warnings
        )
        plan = planning.plan(loaded, name)
        plan_warnings = plan.warnings
        files.refuse_ambiguities()
        rendered = render(plan)
        needed = needs.of(objects(rendered), plan)
        facts = target.facts(loaded.stack.cluster, needed)
        waits = acceptance.decide(plan.routes, facts.gateways, given.gateways)
        components = _name(marking.mark(await_routes(rendered, plan, waits.routes), name), instance)
        validation.check(objects(components), plan.sections)
    except (ConfigError, SchemaError) as error:
        complete = files.complete(error.problems) if isinstance(error, ConfigError) else error
        return Refusal(complete, source_warnings, plan_warnings)
    made = Composition(loaded.stack, source_warnings, plan, facts, waits, components, (), Continuity(), ())
    return _judge(made, loaded, needed, target, instance, selection.warnings(facts, name.stack), state)


def _judge(  # noqa: PLR0913, PLR0917 - what a composition is judged by
    made: Composition,
    loaded: Loaded,
    needed: Needs,
    target: Target,
    instance: Instance,
    selection: tuple[Problem, ...],
    state: State,
) -> Composition:
    """Return a composition with the problems of the stack in its cluster.

    If no problem is an error, the components of the returned composition also undo changes that others made to the
    objects in the cluster.
    """
    stack, plan, facts, components = made.stack, made.plan, made.facts, made.components
    live = _live_objects(stack, facts, components, target)
    name = cluster_name(stack, target)
    continuity = compare(components, state(), live, facts.routes, instance, plan.identity, name, stack.allow)
    situation = Situation(
        loaded=loaded,
        plan=plan,
        components=components,
        needs=needed,
        instance=instance,
        facts=facts,
        earlier=target.earlier_facts(),
        live=live,
        continuity=continuity,
        cluster=target.name(stack.cluster),
        now=datetime.now(UTC),
        selection=selection,
    )
    problems = tuple(judging.judge(situation))
    made = replace(made, continuity=continuity, preflight=problems)
    if errors(problems):
        return made
    if not isinstance(live, Unknown):
        components = additions.take_back(components, live)
    return replace(made, components=components, announcements=tuple(_announce(situation, target)))


def cluster_name(stack: Stack, target: Target) -> str:
    """Return the name of a stack's cluster: from the configuration, or else from the kubeconfig."""
    return stack.cluster.name or target.name(stack.cluster) or "default"


def _with_contents(
    loaded: Loaded, given: GivenLock, name: StackName, target: Target, earlier: tuple[Problem, ...]
) -> tuple[Loaded, tuple[Problem, ...]]:
    """Return the stack with the pins of its lock and the sizes of its sources, and `earlier` with more warnings."""
    locked = locking.apply(loaded, given, name, target)
    sized, warnings = source_sizes.add_sizes(locked.loaded, known=locked.answers)
    return sized, (*earlier, *locked.warnings, *warnings)


def _name(components: tuple[Component, ...], instance: Instance) -> tuple[Component, ...]:
    """Return the components with the inference stack's prefix before their logical names."""
    if not instance.prefix:
        return components
    return tuple(replace(component, name=f"{instance.prefix}{component.name}") for component in components)


def _announce(situation: Situation, target: Target) -> Iterator[Problem]:
    """Read what warnings about a deployment need besides, and return these warnings."""
    stack, needed = situation.stack, situation.needs
    namespaces = {*needed.namespaces, *(at.namespace for at in needed.gateways)}
    permissions = target.permissions(stack.cluster, namespaces)
    return judging.announce(situation, permissions, _pools(situation, target))


def _pools(situation: Situation, target: Target) -> Pools | Unknown:
    """Return the pools in the cluster; no pools if no variant has a generation.

    If the pools cannot be read from the cluster, the pools in the facts are used.
    """
    plan, facts = situation.plan, situation.facts
    if not transition.has_generations(plan):
        return Pools({})
    pools = target.pools(situation.stack.cluster, _namespaces(plan))
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
    names = dict[tuple[str, str], list[str]]()
    for rendered in objects(components):
        *_, namespace, name = rendered.place
        if rendered.manifest["kind"] not in ownership.UNASKED:
            names.setdefault((rendered.api, namespace), []).append(name)
    return target.objects(stack.cluster, additions.kinds(components), names)


def _kinds(components: Collection[Component]) -> frozenset[str]:
    """Return the kinds of all objects, as `apiVersion/Kind`; the cluster must serve them."""
    return frozenset(rendered.api for rendered in objects(components))


def _namespaces(plan: StackPlan) -> frozenset[str]:
    return frozenset(service.primary.names.namespace for service in plan.services)
