"""Report on versions: what the tables of `planning` and the requirements pin, beside what registries offer."""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from upstream import registries
from upstream.history import numbers
from upstream.registries import ReleaseList

_PLANNING = Path("planning")
_REQUIREMENTS = Path("requirements.txt")
_HEADINGS = ("thing", "ours", "newest", "state", "where")


@dataclass(frozen=True, slots=True)
class NamedVersion:
    """A version that this project names."""

    thing: str
    version: str
    listing: ReleaseList | None
    """Module or package that lists newer versions; None if no module and no package has them."""


def report() -> list[str]:
    """Return the lines of a table of all pins, with the newest release of each."""
    pins = tuple(read())
    listings = sorted({pin.listing for pin in pins if pin.listing is not None}, key=str)
    with ThreadPoolExecutor(max(1, len(listings))) as pool:
        newest = dict(zip(listings, pool.map(registries.newest, listings), strict=True))
    rows: list[tuple[str, ...]] = [_HEADINGS]
    for pin in pins:
        version = None
        where = "no registry"
        if pin.listing is not None:
            version = newest[pin.listing]
            where = str(pin.listing)
        rows.append((pin.thing, pin.version, version or "unknown", _state(pin.version, version), where))
    return _table(rows)


def read() -> Iterator[NamedVersion]:
    """Yield the pins: engines and pickers of the channels, bundles of CRDs, and Pulumi with its provider."""
    table = _yaml(Path(__file__).with_name("registries.yaml"))
    engine = _listing(table["engine"])
    for path in sorted((_PLANNING / "releases").glob("*.yaml"), key=lambda path: numbers(path.stem)):
        images = _yaml(path)["images"]
        yield NamedVersion(f"engine of {path.stem}", _engine_version(images["engine"]["nvidia"]["ref"]), engine)
        repository, tag = _repository_and_tag(images["picker"]["ref"])
        yield NamedVersion(f"picker of {path.stem}", tag, _listing(table["pickers"].get(repository)))
    for bundle in _yaml(_PLANNING / "bundles.yaml")["bundles"]:
        yield NamedVersion(
            f"CRDs of {bundle['name']}", str(bundle["version"]), _listing(table["bundles"].get(bundle["name"]))
        )
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", _REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE))
    for name in table["requirements"]:
        yield NamedVersion(name, pinned[name], ReleaseList("pypi", name))


def _listing(entry: dict[str, Any] | None) -> ReleaseList | None:
    if entry is None:
        return None
    ((registry, name),) = entry.items()
    return ReleaseList(cast("Any", registry), name)


def _engine_version(image: str) -> str:
    """Return the version of vLLM in an image; the tag if it is not known."""
    repository, tag = _repository_and_tag(image)
    for family in _yaml(_PLANNING / "releases" / "engines" / "images.yaml")["families"]:
        if repository in family["repositories"]:
            return str(family.get("versions", {}).get(tag, tag.removeprefix("v")))
    return tag


def _repository_and_tag(image: str) -> tuple[str, str]:
    """Return the last segment of the repository in an image reference, and the tag."""
    repository, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    return repository, tag


def _state(version: str, newest: str | None) -> str:
    if newest is None:
        return "unknown"
    if numbers(version) < numbers(newest):
        return "behind"
    return "current"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows as lines with columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _yaml(path: Path) -> dict[str, Any]:
    return cast("dict[str, Any]", yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader))


if __name__ == "__main__":
    print("\n".join(report()))
