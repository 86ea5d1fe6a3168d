"""The surface for Pulumi programs in Python that have a clone of this project beside them.

The folders of this project have names such as `models`, which a program may have, too. The import fails with an error
that names such a module, before another module takes the place of one of this project.
"""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pulumi

_PROJECT = Path(__file__).resolve().parents[1]
_ROOMS = ("models", "planning", "manifests", "judging", "facts", "composition", "components")
"""Folders whose modules run in the process of a program."""


def _places(room: str) -> Iterator[Path]:
    """Yield the files or folders of the module that the program gets under the name of a room."""
    module = sys.modules.get(room)
    spec = importlib.util.find_spec(room) if module is None else module.__spec__
    if spec is not None and spec.has_location and spec.origin is not None:
        yield Path(spec.origin).resolve()
    elif spec is not None:
        yield from (Path(folder).resolve() for folder in spec.submodule_search_locations or ())
    elif module is not None:
        yield Path(module.__file__ or "").resolve()


def _refuse_other_modules() -> None:
    """Raise `RunError` if a module of the program has the name of a room."""
    others = {room: place for room in _ROOMS for place in _places(room) if place.parent != _PROJECT / room}
    if others:
        modules = ", ".join(f"{room} ({place})" for room, place in others.items())
        raise pulumi.RunError(
            f"modules of this program have names of folders of Inference Stacks: {modules}; rename them, or use the "
            "component package, which has a process of its own (docs/embedding.md)"
        )


if _PROJECT not in {Path(folder).resolve() for folder in sys.path}:
    sys.path.append(str(_PROJECT))
_refuse_other_modules()

from components import InferenceStack, read_platform  # noqa: E402, modules are importable only now

__all__ = ["InferenceStack", "read_platform"]
