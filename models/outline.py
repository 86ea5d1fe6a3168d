"""Outline of a stack: the part that decides which services need a serving profile, and which profiles may be selected.

Before profiles are selected, a stack may lack values that its specs require. In an outline, every key is therefore
optional, and invalid values are left out. The validation of the whole stack reports them, after the selection.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from models.accelerators import UserClass
from models.base import Spec
from models.layers import copy_value
from models.load import error_path
from models.paths import Path
from models.selection import Selection
from models.stack import Checks, Cluster
from models.vocabulary import Items


class _PartialSpec(Spec):
    """A spec that has only some keys of a section. Other keys are ignored."""

    model_config = ConfigDict(extra="ignore")


class PartialModel(_PartialSpec):
    """Name and source of a model."""

    name: str | None = None
    source: str | None = None


class PartialStorage(_PartialSpec):
    """The shared cache that a variant uses."""

    type: str | None = None
    cache: str | None = None

    @property
    def is_shared(self) -> bool:
        """Return whether the weights lie in a shared cache."""
        return self.type == "shared"


class PartialPod(_PartialSpec):
    """Node labels that pods require."""

    node_selector: dict[str, str] = Field(default={})


class PartialRole(_PartialSpec):
    """Accelerator, wishes and nodes of a prefill."""

    accelerator: str | None = None
    selection: Selection | None = None
    pod: PartialPod = PartialPod.default()


class PartialVariant(PartialRole):
    """Keys of a service or a canary that a selection reads."""

    model: PartialModel | None = None
    existing_pods: dict[str, Any] | None = None
    existing_pool: dict[str, Any] | None = None

    storage: PartialStorage = PartialStorage.default()
    prefill: PartialRole | None = None

    @property
    def runs_pods(self) -> bool:
        """Return whether the stack runs the pods. Pods that somebody else runs need no profile."""
        return self.existing_pods is None and self.existing_pool is None


class PartialService(PartialVariant):
    """A service with its canary."""

    canary: PartialVariant | None = None


class PartialCache(_PartialSpec):
    """The source of a shared cache."""

    source: str | None = None


class PartialCatalogue(_PartialSpec):
    """The files of a catalogue. Its profiles are validated when they are candidates."""

    shipped: bool = True
    files: Items[str] = ()
    profiles: dict[str, Any] = Field(default={})


class PartialStack(_PartialSpec):
    """A stack as far as the selection of profiles needs it."""

    services: dict[str, PartialService] = Field(default={})
    caches: dict[str, PartialCache] = Field(default={})
    catalogue: PartialCatalogue = PartialCatalogue.default()
    accelerators: dict[str, UserClass] = Field(default={})
    checks: Checks = Checks.default()
    cluster: Cluster = Cluster.default()


@dataclass(frozen=True, slots=True)
class Outline:
    """The outline of a stack, and the paths of the invalid values that were left out."""

    stack: PartialStack
    mistakes: tuple[Path, ...] = ()

    @classmethod
    def of(cls, tree: dict[str, Any]) -> Self:
        """Return the outline of a merged tree."""
        mistakes = list[Path]()
        while True:
            try:
                return cls(PartialStack.model_validate(tree), tuple(mistakes))
            except ValidationError as error:
                paths = [_mistake(tree, details) for details in error.errors(include_url=False)]
            mistakes += paths
            tree = _without(tree, paths)

    @property
    def classes(self) -> dict[str, UserClass]:
        """Return the accelerator classes of the stack, without the invalid ones."""
        classes = self.stack.accelerators.items()
        return {name: spec for name, spec in classes if not self.is_mistaken(Path("accelerators", name))}

    def is_mistaken(self, path: Path) -> bool:
        """Return whether the value at a path is invalid, or has an invalid value in it."""
        return any(mistake.is_within(path) for mistake in self.mistakes)


def _mistake(tree: object, details: ErrorDetails) -> Path:
    """Return the path of the value to leave out. If a value lacks a key, it is the value itself."""
    path = error_path(tree, details)
    return path.parent if details["type"] == "missing" else path


def _without(tree: dict[str, Any], paths: Sequence[Path]) -> dict[str, Any]:
    """Return a copy of a tree without the values at some paths."""
    copied = copy_value(tree)
    outermost = [path for path in dict.fromkeys(paths) if not any(path.parent.is_within(other) for other in paths)]
    # Validation reports the entries of a list in order. The last entry is removed first, because all later ones move.
    for path in reversed(outermost):
        node: Any = copied
        for part in path.parent:
            node = node[part]
        del node[path[-1]]
    return copied
