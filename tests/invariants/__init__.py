"""What has to be true of every rendered stack, said independently of the builders.

Each invariant takes the wishes of a service or of its canary (the tree as written, with inheritance and the documented
defaults said again here) and the rendered objects, and yields what is wrong. `tests.test_invariants` runs them on every
shipped stack, and on every mutation of what was rendered.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from yaml import YAMLError

from manifests.objects import Manifest
from tests.invariants import (
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
from tests.invariants.wishes import Wish, wishes
from tests.invariants.world import World

Invariant = Callable[[World], Iterator[str]]
Check = Callable[[], Iterator[str]]
"""One question to what was rendered; yields what is wrong."""
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


INVARIANTS = {invariant.__name__: invariant for module in _MODULES for invariant in _of(module)}


def violations(stack: Mapping[str, Any], rendered: list[Manifest]) -> Iterator[str]:
    """Yield everything that is wrong with what was rendered for a stack."""
    for check in checks(stack, rendered).values():
        yield from check()


def checks(stack: Mapping[str, Any], rendered: list[Manifest]) -> dict[str, Check]:
    """Return every check of what was rendered for a stack, by name; the names follow from the stack alone."""
    index = {(one["kind"], one["metadata"].get("name"), one["metadata"].get("namespace")): one for one in rendered}
    found: dict[str, Check] = {
        "every place": partial(_every_place_is_taken_once, index, rendered),
        "nothing else": partial(objects.nothing_else_is_made, stack, index),
        "namespaces": partial(objects.namespaces_are_restricted, stack, index),
        "interceptor": partial(objects.what_is_the_interceptors_carries_its_marks, stack, index),
    }
    for number, owner in enumerate(storage.caches(stack)):
        found[f"kept {number}"] = partial(_guarded, "a cache is kept", storage.are_kept, owner, index)
        found[f"filled {number}"] = partial(_guarded, "a cache is filled", network.a_job_may_ask_for_weights, owner, index)
    for wish in wishes(stack, index):
        world = World(wish, index)
        found |= {
            f"{wish.key} {wish.variant} {name}": partial(_guarded, name, invariant, world)
            for name, invariant in INVARIANTS.items()
        }
    return found


def _every_place_is_taken_once(index: Mapping[Any, Any], rendered: list[Manifest]) -> Iterator[str]:
    if len(index) < len(rendered):
        yield "two objects stand in one place"


def _guarded(name: str, check: Callable[..., Iterator[str]], *arguments: Any) -> Iterator[str]:
    try:
        yield from (f"{name}: {wrong}" for wrong in check(*arguments))
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError, YAMLError) as error:
        yield f"{name}: {error!r}"
