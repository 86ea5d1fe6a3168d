"""The steps from a configuration to checked objects, and the record of what they found.

Sizes of sources and facts of the cluster are read; all else follows from those by pure functions.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import planning
from composition.target import Target
from facts import source_sizes
from manifests import validation
from manifests.assembly import Component, objects, render
from manifests.objects import Rendered
from manifests.validation import SchemaError
from models.load import load
from models.problems import ConfigError, Problem, errors
from models.stack import Stack
from planning import outputs, preflight, transition
from planning.ground import parts
from planning.ground.cluster_facts import ClusterFacts
from planning.ground.order import Id
from planning.plans import ServicePlan, StackPlan
from planning.routes import acceptance, collisions
from planning.routes.acceptance import Waits

_READY_PARTS = frozenset({parts.DECODE.workload, parts.PREFILL.workload, parts.PICKER})
"""Parts of a service that a deployment run always waits for."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A configuration that cannot be deployed, and what was found before that showed."""

    error: ConfigError | SchemaError
    """Every mistake of the user, or else every mistake of ours."""
    source_warnings: tuple[Problem, ...] = ()
    plan_warnings: tuple[Problem, ...] = ()
    """Empty where the mistakes left nothing to plan."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A configuration without mistakes, and all that follows from it for one cluster."""

    stack: Stack
    """With the sizes that sources answered."""
    source_warnings: tuple[Problem, ...]
    """What sources did not answer."""
    plan: StackPlan
    facts: ClusterFacts
    waits: Waits
    components: tuple[Component, ...]
    """In the order of their registration; every object fits its kind's schema."""
    preflight: tuple[Problem, ...]
    """Where the cluster is not as the stack needs it; errors let nothing be registered."""
    announcements: tuple[Problem, ...]
    """What a change means that the list of operations does not show; empty after errors of preflight."""

    @property
    def plan_warnings(self) -> tuple[Problem, ...]:
        """Return what works, and what its author should know."""
        return self.plan.warnings

    @property
    def objects(self) -> tuple[Rendered, ...]:
        """Return every object in the order of registration."""
        return tuple(objects(self.components))

    @property
    def facts_digest(self) -> str | None:
        """Return the SHA-256 of the facts that decided about this stack, or nothing where they are not known."""
        return self.facts.digest(_kinds(self.components), self.waits.gateways)

    @property
    def contract(self) -> dict[str, Any]:
        """Return the stack's outputs, all but `ready`."""
        return outputs.stack(self.plan, self.facts_digest, self.waits.routes)

    def awaited(self, service: ServicePlan) -> tuple[Id, ...]:
        """Return the objects that are up when a service is ready, in the order of registration."""
        owners = {variant.owner for variant in service.variants}
        ready = {*_READY_PARTS, *((parts.ROUTE,) if service.key in self.waits.routes else ())}
        ids = (rendered.id for rendered in self.objects)
        return tuple(found for found in ids if found.owner in owners and found.part in ready)


def compose(tree: object, target: Target) -> Composition | Refusal:
    """Take a configuration, the tree below `inference-stacks:stack`, all the way to checked objects."""
    source_warnings, plan_warnings = tuple[Problem, ...](), tuple[Problem, ...]()
    try:
        loaded, answers = source_sizes.asked(load(tree))
        source_warnings = tuple(answers)
        plan = planning.plan(loaded)
        plan_warnings = plan.warnings
        facts = target.facts(loaded.stack.cluster, acceptance.gateways(plan.routes))
        waits = acceptance.decide(plan.routes, facts.gateways)
        components = render(plan, waits.routes)
        validation.check(objects(components))
    except (ConfigError, SchemaError) as error:
        return Refusal(error, source_warnings, plan_warnings)
    checked = _preflight(loaded.stack, plan, facts, components)
    announced = () if errors(checked) else _announcements(loaded.stack, plan, target)
    return Composition(loaded.stack, source_warnings, plan, facts, waits, components, checked, announced)


def _preflight(
    stack: Stack, plan: StackPlan, facts: ClusterFacts, components: Collection[Component]
) -> tuple[Problem, ...]:
    """Check the cluster's kinds, then its routes."""
    mode = stack.checks.preflight
    routes = collisions.cluster_problems(plan.routes, _namespaces(plan), facts.routes, mode)
    return (*preflight.kinds(_kinds(components), facts, mode), *routes)


def _announcements(stack: Stack, plan: StackPlan, target: Target) -> tuple[Problem, ...]:
    if not transition.has_generations(plan):
        return ()
    return tuple(transition.warnings(plan, target.pools(stack.cluster, _namespaces(plan))))


def _kinds(components: Collection[Component]) -> frozenset[str]:
    """Return what the cluster has to serve, as `apiVersion/Kind`."""
    return frozenset(rendered.api for rendered in objects(components))


def _namespaces(plan: StackPlan) -> frozenset[str]:
    return frozenset(service.primary.names.namespace for service in plan.services)
