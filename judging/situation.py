"""The situation that is judged: a rendered stack beside its cluster, Pulumi's state and an earlier preview."""

from dataclasses import dataclass
from datetime import datetime

from judging.losses.continuity import Continuity
from judging.report.outages import Outage
from manifests.assembly import Component
from models.load import Loaded
from models.problems import Problem
from models.stack import Mode, Stack
from planning.ground.cluster_facts import ClusterFacts, LiveObjects, Unknown
from planning.ground.instances import Instance
from planning.ground.marks import Identity
from planning.ground.needs import Needs
from planning.ground.turns import SIDE_BY_SIDE, Turns
from planning.plans import StackPlan


@dataclass(frozen=True, slots=True)
class Situation:
    """A rendered stack, and all that it is compared with."""

    loaded: Loaded
    """The configuration, with the origin of each value."""
    plan: StackPlan
    components: tuple[Component, ...]
    needs: Needs
    """Needs of the objects of the components."""
    instance: Instance
    facts: ClusterFacts
    earlier: ClusterFacts | None
    """Facts of an earlier preview; None if no earlier preview is known."""
    live: LiveObjects | Unknown
    """Objects in the cluster that stacks made, and marks of objects whose names the stack uses."""
    continuity: Continuity
    """Relation of the objects to Pulumi's state."""
    cluster: str | None
    """Name of the cluster in the kubeconfig; None if it is unknown."""
    now: datetime
    """Time of the run, in UTC."""
    selection: tuple[Problem, ...] = ()
    """Warnings about profiles that were selected for other nodes than those of the cluster."""
    turns: Turns = SIDE_BY_SIDE
    """Turns of the services that the run restarts."""
    outages: tuple[Outage, ...] | Unknown = ()
    """Workloads that the run leaves without a ready replica; none if `checks.outage` is `skip`."""

    @property
    def stack(self) -> Stack:
        """The configuration."""
        return self.loaded.stack

    @property
    def mode(self) -> Mode:
        """Value of `checks.preflight`."""
        return self.loaded.stack.checks.preflight

    @property
    def identity(self) -> Identity:
        """Names of the stack in the cluster, without earlier names that are names of other stacks."""
        return self.continuity.owner or self.plan.identity
