"""Records of where users wrote values, kept from the place at which a value is taken to the object that has it."""

from collections.abc import Mapping
from dataclasses import dataclass

from models.paths import Path

Origins = Mapping[Path, Path]
"""Paths in an object, such as a manifest, each with the path in the configuration at which a user wrote the value."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name that a user wrote, such as that of a Secret."""

    text: str
    at: Path
    """Path of the name in the configuration."""


def locate(origins: Origins, at: Path) -> Path | None:
    """Return the path in the configuration of a value of an object; None if no user wrote the value.

    The longest path in `origins` that leads to the value decides. Below that path, the object has the keys of the
    configuration.
    """
    for length in range(len(at), -1, -1):
        prefix = Path(*at[:length])
        if prefix in origins:
            return Path(*origins[prefix], *at.below(prefix))
    return None
