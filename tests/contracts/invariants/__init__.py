"""What has to be true of every rendered stack, said independently of the builders.

Each invariant takes the wishes of a service or of its canary (the tree as written, with inheritance and the documented
defaults said again here) and the rendered objects, and yields what is wrong. `tests.contracts.test_invariants` runs
them on every shipped stack, and on every mutation of what was rendered.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from manifests.objects import Manifest
from tests.contracts.invariants import (
    disaggregation,
    engine,
    identity,
    lifetime,
    monitoring,
    network,
    objects,
    picker,
    placement,
    routing,
    scaling,
    storage,
    weights,
)
from tests.contracts.invariants.wishes import Wish, wishes
from tests.contracts.invariants.world import World

Invariant = Callable[[World], Iterator[str]]
_MODULES = (
    identity,
    placement,
    engine,
    lifetime,
    weights,
    storage,
    disaggregation,
    picker,
    routing,
    objects,
    scaling,
    monitoring,
    network,
)


def _of(module: ModuleType) -> Iterator[Invariant]:
    """Yield the functions of a module that say what is wrong with a service."""
    for name, value in vars(module).items():
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
            signature = inspect.signature(value)
            if list(signature.parameters) == ["world"] and signature.return_annotation == Iterator[str]:
                yield value


INVARIANTS = [invariant for module in _MODULES for invariant in _of(module)]


def violations(stack: Mapping[str, Any], rendered: list[Manifest]) -> Iterator[str]:
    """Yield everything that is wrong with what was rendered for a stack."""
    index = {(one["kind"], one["metadata"].get("name"), one["metadata"].get("namespace")): one for one in rendered}
    if len(index) < len(rendered):
        yield "two objects stand in one place"
    yield from objects.nothing_else_is_made(stack, index)
    yield from objects.namespaces_are_restricted(stack, index)
    yield from objects.what_is_the_interceptors_carries_its_marks(stack, index)
    for owner in storage.caches(stack):
        yield from _guarded("a cache is kept", storage.are_kept(owner, index))
        yield from _guarded("a cache is filled", network.a_job_may_ask_for_weights(owner, index))
    for wish in wishes(stack, index):
        yield from _of_a_variant(wish, index)


def _of_a_variant(wish: Wish, index: Mapping[Any, Any]) -> Iterator[str]:
    world = World(wish, index)
    for invariant in INVARIANTS:
        yield from _guarded(invariant.__name__, invariant(world))


def _guarded(name: str, found: Iterator[str]) -> Iterator[str]:
    try:
        yield from (f"{name}: {wrong}" for wrong in found)
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        yield f"{name}: {error!r}"
