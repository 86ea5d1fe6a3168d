"""The profiles that this program ships: tables in the folder `catalogue`, one file for each model."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path as File
from types import MappingProxyType
from typing import Any, cast

from models.profile import Profile
from planning.ground import yaml_text

FOLDER = File(__file__).parents[2] / "catalogue"
"""Folder of the shipped files."""


@dataclass(frozen=True, slots=True)
class ShippedFile:
    """A shipped file: its name, and its values as a tree."""

    file: str
    """Name of the file in messages."""
    tree: Mapping[str, Any]


@cache
def files(folder: File = FOLDER) -> tuple[ShippedFile, ...]:
    """Return the shipped files, sorted by name. All callers share their trees, and must not change them."""
    return tuple(
        ShippedFile(f"{folder.name}/{path.name}", cast("dict[str, Any]", yaml_text.load(path.read_text("utf-8"))))
        for path in sorted(folder.glob("*.yaml"))
    )


@cache
def profiles(model: str) -> Mapping[str, Profile]:
    """Return the shipped profiles of a model by id."""
    profiles = (item for file in files() for item in file.tree["profiles"].items())
    return MappingProxyType({key: Profile.model_validate(tree) for key, tree in profiles if tree["model"] == model})
