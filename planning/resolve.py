"""Resolution of a stack, done once: contexts, accelerator classes and routes that rules and plans read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from models.problems import Problem
from models.stack import Stack
from planning import picker, routes, variant, weights
from planning.hardware import accelerators
from planning.hardware.accelerators import AcceleratorClass
from planning.picker import PickerContext
from planning.releases import Release, channel, known_channels
from planning.routes import Routing
from planning.serving import EngineContext
from planning.variant import ConfiguredVariant, Contexts, RoleId, VariantContext, VariantId
from planning.weights import FillRequests


@dataclass(frozen=True, slots=True)
class Judgement:
    """A problem, and the service that it is about."""

    service: str
    """Key of the service; empty for the whole stack."""
    problem: Problem


@dataclass(frozen=True, slots=True)
class Resolved:
    """A stack, and all that was resolved for its rules and plans."""

    stack: Stack
    classes: Mapping[str, AcceleratorClass]
    configured_variants: tuple[ConfiguredVariant, ...]
    """All primaries and canaries, in the order of the configuration; a canary follows its primary."""
    release: Release | None
    """Facts of the stack's release channel; None if the channel is unknown."""
    contexts: Contexts
    """Contexts of the services of which every variant has a known channel. Other services have neither contexts nor
    routes."""
    engines: Mapping[RoleId, EngineContext]
    """Engines of the roles with a valid layout."""
    pickers: Mapping[VariantId, PickerContext]
    """Contexts of the endpoint pickers."""
    fill_requests: FillRequests
    routing: Routing

    def engines_of(self, variant: VariantContext) -> dict[str, EngineContext]:
        """Return the engines of a variant's roles by role name. Roles with an invalid layout are left out."""
        identities = {role.name: RoleId(variant.id, role.name) for role in variant.roles}
        return {name: self.engines[identity] for name, identity in identities.items() if identity in self.engines}


def resolve(stack: Stack) -> Resolved:
    """Resolve a stack, even if it contains mistakes."""
    classes = accelerators.classes(stack.accelerators)
    variants = tuple(variant.configured_variants(stack))
    contexts = variant.resolve(_with_channels(variants), classes)
    release = None
    if stack.release in known_channels():
        release = channel(stack.release)
    pickers = picker.resolve(contexts.variants.values())
    asking = {identity for identity, context in pickers.items() if context.asks_service}
    return Resolved(
        stack,
        classes,
        variants,
        release,
        contexts,
        {identity: EngineContext(role, role.variant.id in asking) for identity, role in contexts.roles.items()},
        pickers,
        weights.fill_requests(stack, contexts.variants.values()),
        routes.resolve(contexts),
    )


def _with_channels(variants: Sequence[ConfiguredVariant]) -> list[ConfiguredVariant]:
    """Return the variants of the services of which every variant has a known channel."""
    unresolved = {configured.key for configured in variants if configured.channel not in known_channels()}
    return [configured for configured in variants if configured.key not in unresolved]


def about(service: str, problems: Iterable[Problem]) -> Iterator[Judgement]:
    """Yield judgements about a service, or about the whole stack if `service` is empty."""
    return (Judgement(service, problem) for problem in problems)
