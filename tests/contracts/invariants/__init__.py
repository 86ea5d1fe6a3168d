"""Statements that hold for every rendered stack, written independently of the builders.

Each invariant takes the spec of a service or of its canary (the tree as written, with inheritance and the documented
defaults said again here) and the rendered objects, and yields what is wrong. `tests.contracts.test_invariants` runs
them on every shipped stack, and on every mutation of what was rendered.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import product
from types import ModuleType
from typing import Any

from yaml import YAMLError

from manifests.objects import Manifest
from tests.contracts.invariants import (
    disaggregation,
    engine,
    identity,
    lifetime,
    metering,
    monitoring,
    network,
    objects,
    picker,
    placement,
    proxies,
    routing,
    scaling,
    storage,
    weights,
)
from tests.contracts.invariants.variants import Variant, variants
from tests.contracts.invariants.world import Place, World

Invariant = Callable[[World], Iterator[str]]
Check = Callable[["Scene"], Iterator[str]]
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
    proxies,
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


_OF_A_CACHE = {"a cache is kept": storage.are_kept, "a cache is filled": network.a_job_may_ask_for_weights}
INVARIANTS = {invariant.__name__: invariant for module in _MODULES for invariant in _of(module)}
OF_PICKERS = {
    *(invariant.__name__ for invariant in _of(picker)),
    *("the_pool_reaches_engine_and_picker", "the_picker_is_told_of_priorities_and_names"),
    *("the_pickers_pods_are_placed_as_asked", "the_picker_outlives_its_streams"),
    "pickers_that_wait_for_the_lease_are_not_waited_for",
}
"""Invariants of variants that have a pool and a picker; the others have none of their objects."""


@dataclass(frozen=True)
class Scene:
    """A stack and what was rendered for it."""

    stack: Mapping[str, Any]
    rendered: list[Manifest]
    index: Mapping[Place, Manifest]
    variants: tuple[Variant, ...]

    @classmethod
    def of(cls, stack: Mapping[str, Any], rendered: list[Manifest]) -> "Scene":
        """Return the scene of a stack."""
        index = {_place(manifest): manifest for manifest in rendered}
        found = variants(stack, index)
        assert len(found) == _variants(stack)
        return cls(stack, rendered, index, found)

    def changed(self, number: int, manifest: Manifest) -> "Scene":
        """Return the scene in which the object of this number is another of its kind."""
        before = self.rendered[number]
        rendered = [*self.rendered[:number], manifest, *self.rendered[number + 1 :]]
        if before["kind"] == "InferencePool":
            return Scene.of(self.stack, rendered)
        index = dict(self.index)
        del index[_place(before)]
        index[_place(manifest)] = manifest
        return Scene(self.stack, rendered, index, self.variants)

    @cached_property
    def worlds(self) -> list[World]:
        return [World(variant, self.index) for variant in self.variants]

    @cached_property
    def caches(self) -> list[storage.Owner]:
        return [*storage.caches(self.stack)]


def _place(manifest: Manifest) -> Place:
    return manifest["kind"], manifest["metadata"].get("name"), manifest["metadata"].get("namespace")


def violations(stack: Mapping[str, Any], rendered: list[Manifest]) -> Iterator[str]:
    """Yield everything that is wrong with what was rendered for a stack."""
    scene = Scene.of(stack, rendered)
    for check in checks(stack).values():
        yield from check(scene)


def checks(stack: Mapping[str, Any]) -> Mapping[str, Check]:
    """Return every check of what is rendered for a stack, by name."""
    return _checks(len(stack.get("caches", {})), _variants(stack))


def _variants(stack: Mapping[str, Any]) -> int:
    """Return the number of services and canaries."""
    return sum(1 + ("canary" in service) for service in stack["services"].values())


@cache
def _checks(caches: int, variants: int) -> Mapping[str, Check]:
    """Return the checks of all stacks with so many caches, services and canaries."""
    found: dict[str, Check] = {
        "places": _every_place_is_taken_once,
        "all": lambda scene: objects.nothing_else_is_made(scene.stack, scene.variants, scene.index),
        "namespaces": lambda scene: objects.namespaces_are_restricted(scene.stack, scene.index),
    }
    for metered in (
        metering.the_objects_carry_its_marks,
        metering.it_may_get_and_list_services_and_nothing_else,
        metering.it_is_deployed_as_asked,
        network.the_interceptors_policy_lets_through_what_is_needed,
    ):
        found[metered.__name__] = partial(_of_the_interceptor, metered.__name__, metered)
    for number, (name, check) in product(range(caches), _OF_A_CACHE.items()):
        found[f"cache {number}: {name}"] = partial(_of_a_cache, name, check, number)
    for number, (name, invariant) in product(range(variants), INVARIANTS.items()):
        found[f"variant {number}: {name}"] = partial(_of_a_variant, name, invariant, number)
    return found


def _every_place_is_taken_once(scene: Scene) -> Iterator[str]:
    if len(scene.index) < len(scene.rendered):
        yield "two objects stand in one place"


def _of_the_interceptor(name: str, check: Callable[..., Iterator[str]], scene: Scene) -> Iterator[str]:
    yield from _guarded(name, check(scene.stack, scene.variants, scene.index))


def _of_a_cache(name: str, check: Callable[..., Iterator[str]], number: int, scene: Scene) -> Iterator[str]:
    yield from _guarded(name, check(scene.caches[number], scene.index))


def _of_a_variant(name: str, invariant: Invariant, number: int, scene: Scene) -> Iterator[str]:
    if scene.variants[number].picked or name not in OF_PICKERS:
        yield from _guarded(name, invariant(scene.worlds[number]))


def _guarded(name: str, found: Iterator[str]) -> Iterator[str]:
    try:
        yield from (f"{name}: {wrong}" for wrong in found)
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError, YAMLError) as error:
        yield f"{name}: {error!r}"
