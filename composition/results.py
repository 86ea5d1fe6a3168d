"""Results of a composition: a stack with all that was decided for it, or the errors that refuse it."""

from collections.abc import Iterator
from dataclasses import dataclass

from judging.losses.continuity import Continuity
from judging.validation import SchemaError
from manifests.assembly import Component, objects
from manifests.objects import Rendered
from models.paths import Path
from models.problems import ConfigError, Problem
from models.stack import Stack
from planning import outputs
from planning.ground import contract, parts
from planning.ground.cluster_facts import ClusterFacts
from planning.ground.order import Id
from planning.plans import ServicePlan, StackPlan
from planning.routes.acceptance import Waits

_AWAITED_PARTS = frozenset({*parts.WORKLOADS, parts.PICKER, parts.POOL})
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
    stand_ins: frozenset[Path] = frozenset()
    """Paths of the models in `stack` whose size is a stand-in, because no source was asked."""

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
        kinds = frozenset(rendered.api for rendered in self.objects)
        return self.facts.digest(kinds, self.waits.gateways)

    @property
    def contract(self) -> contract.Outputs:
        """Outputs of the stack."""
        return outputs.of_stack(self.plan, self.facts_digest, self.waits.routes)

    def awaited_objects(self, service: ServicePlan) -> tuple[Id, ...]:
        """Return the objects that must be up before a service's output `awaited` resolves, in order of registration."""
        return tuple(self._ids_to_await(service))

    def _ids_to_await(self, service: ServicePlan) -> Iterator[Id]:
        owners = {variant.owner for variant in service.variants}
        awaited_parts = {*_AWAITED_PARTS}
        if service.key in self.waits.routes:
            awaited_parts.add(parts.ROUTE)
        for rendered in self.objects:
            if rendered.id.owner in owners and rendered.id.part in awaited_parts:
                yield rendered.id
