"""Values that several objects of aim-engine decide together: one of them counts, and the others are dropped."""

from collections.abc import Iterable
from dataclasses import dataclass

from migration.accounts import Original
from models.paths import Path

_OTHER = "another object has a value of its own, which counts"


@dataclass(frozen=True, slots=True)
class LayeredPlace:
    """A path in one of several documents."""

    document: Original
    path: Path

    def __truediv__(self, part: str | int) -> "LayeredPlace":
        """Return the place of the value at a key or an index."""
        return LayeredPlace(self.document, self.path / part)

    @property
    def value(self) -> object:
        """The value, which does not count as taken by this; None if there is none."""
        return self.document.peek(self.path)

    @property
    def is_there(self) -> bool:
        """Whether there is a value. null is none."""
        return self.document.has(self.path)

    def items(self) -> list["LayeredPlace"]:
        """Return the places of the items of a list."""
        return [LayeredPlace(self.document, path) for path in self.document.items(self.path)]

    def drop(self, reason: str = "") -> None:
        """Note that the value means nothing here."""
        self.document.drop(self.path, reason)


def last(places: Iterable[LayeredPlace]) -> LayeredPlace | None:
    """Return the last place with a value, and note other values before it as dropped. Zeros override nothing.

    This is how aim-engine merges its configs and its hardware.
    """
    present = [place for place in places if place.is_there]
    decisive = [place for place in present if place.value] or present
    if not decisive:
        return None
    for place in present:
        if place.value == decisive[-1].value:
            place.document.take(place.path)
        else:
            place.drop(_OTHER)
    return decisive[-1]


def text(places: Iterable[LayeredPlace]) -> str | None:
    """Take the last text of some places."""
    place = last(places)
    if place is None:
        return None
    return place.document.text(place.path) or None


def number(places: Iterable[LayeredPlace]) -> int | None:
    """Take the last whole number of some places."""
    place = last(places)
    if place is None:
        return None
    return place.document.number(place.path)
