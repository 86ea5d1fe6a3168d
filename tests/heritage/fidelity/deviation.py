"""A deviation, and how an object of ours becomes theirs by undoing one after the other."""

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.heritage.fidelity.scenarios import SCENARIOS, Scenario

Edit = Callable[[Any, Scenario], None]


@dataclass(frozen=True, slots=True)
class Deviation:
    """One thing that we do otherwise on purpose."""

    item: str
    """Its row in `docs/deviations.md`, under otterscale."""
    parts: tuple[str, ...]
    """The objects that it is about, as patterns."""
    about: tuple[str, ...]
    """The paths of the leaves that it may touch, as patterns."""
    scenarios: tuple[str, ...]
    edit: Edit

    def concerns(self, part: str, scenario: str) -> bool:
        """Say whether an object of a scenario may differ by it."""
        return scenario in self.scenarios and any(fnmatch.fnmatchcase(part, pattern) for pattern in self.parts)

    def undo(self, manifest: Any, part: str, scenario: str) -> Any:
        """Return the object as theirs is in this one respect; ours is left alone."""
        if not self.concerns(part, scenario):
            return manifest
        theirs = copied(manifest)
        self.edit(theirs, SCENARIOS[scenario])
        return theirs


def deviation(
    item: str, *parts: str, about: str | tuple[str, ...], only: tuple[str, ...] = tuple(SCENARIOS)
) -> Callable[[Edit], Deviation]:
    """Make a deviation of the function that undoes it in place."""
    return lambda edit: Deviation(item, parts, (about,) if isinstance(about, str) else about, only, edit)


def stages(manifest: Any, part: str, scenario: str, undone: list[Deviation]) -> list[Any]:
    """Return our object, and what it is after each deviation that is undone."""
    found = [manifest]
    for each in undone:
        found.append(each.undo(found[-1], part, scenario))
    return found


def mapped(manifest: Any, part: str, scenario: str, undone: list[Deviation]) -> Any:
    """Return what our object is after all deviations that are undone."""
    theirs = copied(manifest)
    for each in undone:
        if each.concerns(part, scenario):
            each.edit(theirs, SCENARIOS[scenario])
    return theirs


def copied(value: Any) -> Any:
    """Return a tree of plain values anew."""
    if isinstance(value, dict):
        return {key: copied(inner) for key, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list) else value


def drop(items: list[Any], *names: str) -> None:
    """Remove the items of these names."""
    items[:] = [item for item in items if item["name"] not in names]


def named(items: list[Any], name: str) -> Any:
    """Return the item of this name; exactly one."""
    (item,) = [item for item in items if item["name"] == name]
    return item


def drop_arguments(container: Any, *flags: str) -> None:
    """Remove the arguments that begin with these."""
    container["args"] = [argument for argument in container["args"] if not argument.startswith(flags)]


def pod(manifest: Any) -> Any:
    """Return the pod of a Deployment."""
    return manifest["spec"]["template"]["spec"]


def container(manifest: Any) -> Any:
    """Return the one container of a Deployment."""
    (found,) = pod(manifest)["containers"]
    return found


def before(manifest: Any, name: str) -> list[Any]:
    """Return the init container of this name, where there is one."""
    return [each for each in pod(manifest)["initContainers"] if each["name"] == name]


def retold(value: Any, change: Callable[[str], str]) -> Any:
    """Return the same tree with every text in it changed."""
    if isinstance(value, dict):
        return {key: retold(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [retold(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value
