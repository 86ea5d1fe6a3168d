"""Ranges of versions that know a name: `0.18.0..` since then, `0.9.0..0.11.2` from one version to another."""

import re
from collections.abc import Mapping, Sequence


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, by which versions are ordered."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def ranges(names: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Return for each name the ranges of the versions that know it, from the names that each version knows."""
    versions = sorted(names, key=numbers)
    return {name: ", ".join(_ranges(name, versions, names)) for name in sorted(frozenset[str]().union(*names.values()))}


def _ranges(name: str, versions: Sequence[str], names: Mapping[str, frozenset[str]]) -> list[str]:
    found, first = list[str](), ""
    for version, following in zip(versions, [*versions[1:], ""], strict=True):
        if name not in names[version]:
            continue
        first = first or version
        if not following:
            found.append(f"{first}..")
        elif name not in names[following]:
            found.append(f"{first}..{version}")
            first = ""
    return found
