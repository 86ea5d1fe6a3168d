"""Flags that versions of engines other than vLLM know.

The tables have ranges of versions, as `engine_versions.VersionTable` has. `make facts` writes them from the published
wheels, where there are wheels.
"""

import re

from models.base import Spec
from planning.ground import tables
from planning.releases import engine_versions, repository_and_tag
from planning.releases.engine_kinds import EngineKind

_TAG = re.compile(r"v?(\d+\.\d+\.\d+(?:\.post\d+)?)(?:-.+)?")
"""Tag of a release, such as `v0.5.13.post1` and `v0.5.13.post1-rocm720-mi30x`."""


class FlagTable(Spec):
    """Flags of one engine, by ranges of versions."""

    versions: list[str]
    """The versions whose wheels were read, in ascending order."""
    flags: dict[str, list[str]]
    """Flags as they are written."""

    def version_in(self, image: str) -> str | None:
        """Return the version that the tag of an image states; None if the table has no such version."""
        _, tag = repository_and_tag(image)
        match = _TAG.fullmatch(tag)
        if match is None or match[1] not in self.versions:
            return None
        return match[1]

    def flags_of(self, version: str) -> frozenset[str]:
        """Return the flags that a version knows, as they are written."""
        return frozenset(
            flag for known, names in self.flags.items() if engine_versions.is_within(version, known) for flag in names
        )

    def knows(self, version: str, name: str) -> bool:
        """Tell whether a version knows a flag, whose `name` has the canonical form of `models.flags`.

        An unambiguous prefix of a flag counts, because argparse takes it as the flag.
        """
        known = {flag.replace("_", "-") for flag in self.flags_of(version)}
        return name in known or sum(flag.startswith(name) for flag in known) == 1


def of_kind(kind: EngineKind) -> FlagTable | None:
    """Return the table of a kind of engine; None if there is none."""
    if kind.versions is None:
        return None
    return tables.read(FlagTable, f"releases/engines/{kind.versions}.yaml")
