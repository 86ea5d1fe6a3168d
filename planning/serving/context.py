"""Engines of roles, with all that rules and plans both need of them."""

from dataclasses import dataclass
from functools import cached_property

from planning import advisories
from planning.advisories import Exposure
from planning.fit.memory import Fit
from planning.ground.cluster_facts import Unknown
from planning.serving import device_memory, engine_arguments
from planning.variant.context import RoleContext


@dataclass(frozen=True)
class EngineContext:
    """The engine of a role. Each value is computed when it is read first, and only once."""

    role: RoleContext
    tokenizes: bool
    """Whether the picker asks the variant's Service for the tokens of prompts."""

    @cached_property
    def fit(self) -> Fit | Unknown:
        """Return the memory that the role needs on each device, or why that memory is unknown."""
        return device_memory.fit(self.role)

    @cached_property
    def exposure(self) -> Exposure:
        """Return the advisories whose conditions the engine meets."""
        return advisories.exposure(self.role)

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Return the generated arguments of a replica's first pod, or of its only pod."""
        return (*self._shared_arguments, *engine_arguments.leader_arguments(self.role))

    @cached_property
    def events_port(self) -> int | None:
        """Return the port of the first copy's KV cache events; None if the engine publishes no events."""
        return engine_arguments.events_port(self.role)

    @cached_property
    def worker_arguments(self) -> tuple[str, ...]:
        """Return the generated arguments of a replica's other pods; empty if a replica is one pod."""
        further = engine_arguments.worker_arguments(self.role)
        if not further:
            return ()
        return (*self._shared_arguments, *further)

    @cached_property
    def _shared_arguments(self) -> tuple[str, ...]:
        return engine_arguments.shared_arguments(self.role, tokenizes=self.tokenizes)
