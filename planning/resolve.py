"""Resolution of a stack, done once: contexts, accelerator classes and routes that rules and plans read."""

from collections.abc import Mapping
from dataclasses import dataclass

from models.stack import Stack
from planning import picker, routes, variant
from planning.hardware import accelerators
from planning.hardware.accelerators import AcceleratorClass
from planning.picker import PickerContext
from planning.releases import Release, channel, channels
from planning.routes import Routing
from planning.variant import ConfiguredVariant, Contexts


@dataclass(frozen=True, slots=True)
class Resolved:
    """A stack, and all that was resolved for its rules and plans."""

    stack: Stack
    classes: Mapping[str, AcceleratorClass]
    configured_variants: tuple[ConfiguredVariant, ...]
    """All primaries and canaries, in the order of the configuration; a canary follows its primary."""
    release: Release | None
    """Facts of the release channel. None if the channel is unknown. In this case, contexts and routes are empty."""
    contexts: Contexts
    pickers: Mapping[tuple[str, str], PickerContext]
    """Contexts of the endpoint pickers, by service key and variant name."""
    routing: Routing


def resolve(stack: Stack) -> Resolved:
    """Resolve a stack, even if it contains mistakes."""
    classes, variants = accelerators.classes(stack.accelerators), tuple(variant.configured_variants(stack))
    if stack.release not in channels():
        return Resolved(stack, classes, variants, None, Contexts({}, {}, {}), {}, Routing({}, {}, ()))
    release = channel(stack.release)
    contexts = variant.resolve(variants, release, classes)
    pickers = {key: picker.resolve(context) for key, context in contexts.variants.items() if context.has_picker}
    return Resolved(stack, classes, variants, release, contexts, pickers, routes.resolve(contexts))
