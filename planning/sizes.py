"""What is known of the size of weights. Readers in `facts/` make it; a failed read is `Unknown`, never "0 bytes"."""

from dataclasses import dataclass
from typing import Literal

from planning.facts import Unknown


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question: how many bytes a source brings into a pod."""

    source: str
    endpoint: str | None = None
    region: str | None = None
    insecure: bool = False
    layers: tuple[str, ...] = ("model",)
    """Layers of a ModelKit that are unpacked (`model.filter`)."""
    private: bool = False
    """The pods open the source with credentials, which are not those of whoever asks."""

    def unchecked(self, why: str) -> Unknown:
        """Return that the question has no answer, and what goes unchecked for it."""
        return Unknown(f"neither size nor existence of {self.source} was checked: {why}")


@dataclass(frozen=True, slots=True)
class Size:
    """An answer."""

    bytes: int
    """Bytes of the files; above 0."""
    digest: str | None
    """Of the ModelKit's manifest (`sha256:…`); S3 has none."""
    packed: bool = False
    """Some of the bytes are compressed, or one archive: the files that come out of it take more."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """A source that no pod could be filled from: what is wrong, and what would be right."""

    field: Literal["source", "region", "filter"]
    """The field at fault; `region` and `filter` are the model's, for its adapters too."""
    what: str
    remedy: str


Answer = Size | Unusable | Unknown
