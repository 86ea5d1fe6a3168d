"""The steps from a configuration to checked objects, in their order.

Some steps do I/O: they read files, sizes of sources, facts and objects of the cluster, and Pulumi's state. All other
steps are pure functions. The numbers are those of docs/architecture.md.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import judging
import planning
from composition import image_locking, locking, selecting, sources, surroundings
from composition.locking import LockReading, SizedStack
from composition.results import Composition, Refusal
from composition.sources import Configuration, Sources
from composition.surroundings import Rendering
from composition.target import Target
from facts.lock_file import LockFile
from judging import additions, needs, restarts, validation
from judging.losses.continuity import State, nothing_recorded
from judging.validation import SchemaError
from manifests import marking
from manifests.assembly import Component, await_routes, objects, render
from models import yaml_limits
from models.load import Loaded, load
from models.problems import ConfigError, Problem, errors, warnings
from planning.ground.cluster_facts import Unknown
from planning.ground.instances import MAIN, Instance
from planning.ground.marks import StackName
from planning.plans import StackPlan
from planning.releases import former_names
from planning.routes import acceptance

if TYPE_CHECKING:
    from models.platform import PlatformOutputs


def compose(  # noqa: PLR0913, PLR0917 - what a stack is composed of
    tree: object,
    target: Target,
    name: StackName,
    earlier: Sequence[Problem] = (),
    platform: "PlatformOutputs | None" = None,
    instance: Instance = MAIN,
    lock: LockFile | None = None,
    state: State = nothing_recorded,
    *,
    asks_sources: bool = True,
) -> Composition | Refusal:
    """Run all steps on the configuration of an inference stack in the Pulumi stack called `name`.

    `tree` is the value of the configuration key `inference-stacks:stack`, or a `Configuration` with this value.
    `earlier` are errors that the caller found; if there are any, no cluster is read. `platform` are the outputs of the
    platform; None if unread. `state` returns Pulumi's state before the run. `asks_sources` lets sources tell sizes.
    """
    configuration = Configuration.of(tree)
    files = Sources()
    source_warnings = plan_warnings = tuple[Problem, ...]()
    given = locking.read(lock, configuration, name, platform)
    mistakes = (*earlier, *given.problems)
    try:
        # 2: read files, select profiles, merge and validate layers
        yaml_limits.refuse_too_deep(configuration.tree, mistakes)
        files = sources.read(configuration, mistakes, locking.platform(configuration, platform, given.lock))
        selection = selecting.select(configuration.tree, files, given.lock, name.stack, target, mistakes)
        files = selection.with_documents(files)
        source_warnings = selection.stale
        loaded = load(configuration.tree, mistakes, files.sources, selection.layers)
        # 3: pin sources, ask for sizes
        sized = locking.with_contents(loaded, given, name, target, asks_sources=asks_sources)
        # 4, 5, 6: resolve, judge what spans several fields, decide
        loaded, meaning_warnings = _interpret_release(sized.loaded, state, instance)
        source_warnings = (*source_warnings, *sized.warnings, *meaning_warnings)
        plan = planning.plan(loaded, name)
        plan_warnings = plan.warnings
        files.refuse_ambiguities()
        # 7, 8: render, read facts, check objects
        sized = replace(sized, loaded=loaded, warnings=source_warnings)
        rendering = _render(sized, plan, target, given, instance)
    except (ConfigError, SchemaError) as error:
        return Refusal(files.complete(error), source_warnings, plan_warnings)
    return _judge(rendering, selection.warnings(rendering.facts, name.stack), target, instance, state)


def _interpret_release(loaded: Loaded, state: State, instance: Instance) -> tuple[Loaded, tuple[Problem, ...]]:
    """Return the stack with the channel that runs if the meaning of the channel's name has changed, and warnings."""
    interpretation = former_names.interpret(loaded.stack, state, instance)
    problems = (*loaded.problems, *errors(interpretation.problems))
    return replace(loaded, stack=interpretation.stack, problems=problems), tuple(warnings(interpretation.problems))


def _render(sized: SizedStack, plan: StackPlan, target: Target, given: LockReading, instance: Instance) -> Rendering:
    """Render a plan and order its objects, read the facts that they need, decide waits, set marks, check schemas."""
    rendered, missing = image_locking.apply(render(plan), sized.loaded.stack, given.lock, plan.identity.name.stack)
    if errors(missing):
        raise ConfigError(errors(missing))
    sized = replace(sized, warnings=(*sized.warnings, *missing))
    needed = needs.of(objects(rendered), plan)
    facts = target.facts(sized.loaded.stack.cluster, needed)
    waits = acceptance.decide(plan.routes, facts.gateways, given.gateways)
    components = _finish(await_routes(rendered, plan, waits.routes), plan, plan.identity.name, instance)
    return Rendering(sized.loaded, sized.warnings, plan, needed, facts, waits, components, sized.stand_ins)


def _judge(
    rendering: Rendering, selection: tuple[Problem, ...], target: Target, instance: Instance, state: State
) -> Composition:
    """Compare a stack with the cluster and with Pulumi's state (step 9).

    `selection` are warnings about profiles that were selected for other nodes than those of the cluster.

    Fields that wait for another change are left out. If no problem is an error, the components of the result also undo
    changes that others made to the objects in the cluster, and services that restart wait for their turns.
    """
    situation = surroundings.read(rendering, selection, target, instance, state)
    problems = tuple(judging.judge(situation))
    components = situation.components
    announcements: tuple[Problem, ...] = ()
    if not errors(problems):
        announcements = tuple(surroundings.announce(situation, target))
        components = additions.take_back(components, situation.live)
        components = restarts.chain(components, rendering.plan, situation.turns)
    return Composition(
        stack=rendering.loaded.stack,
        source_warnings=rendering.source_warnings,
        plan=rendering.plan,
        facts=rendering.facts,
        waits=rendering.waits,
        components=components,
        preflight=problems,
        continuity=situation.continuity,
        announcements=announcements,
        has_outages=not isinstance(situation.outages, Unknown) and bool(situation.outages),
        stand_ins=rendering.stand_ins,
    )


def _finish(
    components: tuple[Component, ...], plan: StackPlan, name: StackName, instance: Instance
) -> tuple[Component, ...]:
    """Return the components with the marks of their stack. Raises SchemaError if an object does not fit its schema."""
    marked = _prefix(marking.mark(components, name), instance)
    validation.check(objects(marked), plan.sections)
    return marked


def _prefix(components: tuple[Component, ...], instance: Instance) -> tuple[Component, ...]:
    """Return the components with the inference stack's prefix before their logical names."""
    if not instance.prefix:
        return components
    return tuple(replace(component, name=f"{instance.prefix}{component.name}") for component in components)
