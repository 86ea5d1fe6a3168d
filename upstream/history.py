"""Ranges of versions of vLLM that know a name: a flag, a variable or a JSON value.

`0.18.0..` means 0.18.0 and all later versions. `0.9.0..0.11.2` includes 0.9.0 and 0.11.2.
"""

import re
from collections.abc import Iterator, Mapping, Sequence


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, by which versions are ordered."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def ranges(names: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    """Return names by the ranges of versions that know them. `names` has the known names of each version."""
    versions = sorted(names, key=numbers)
    grouped = dict[str, list[str]]()
    for name in sorted(frozenset[str]().union(*names.values())):
        grouped.setdefault(", ".join(_ranges(name, versions, names)), []).append(name)
    return dict(sorted(grouped.items(), key=lambda item: numbers(item[0])))


def _ranges(name: str, versions: Sequence[str], names: Mapping[str, frozenset[str]]) -> Iterator[str]:
    first = ""
    for version, following in zip(versions, [*versions[1:], ""], strict=True):
        if name not in names[version]:
            continue
        first = first or version
        if not following:
            yield f"{first}.."
        elif name not in names[following]:
            yield f"{first}..{version}"
            first = ""
