"""Pins: records of the content of single sources, and specs of sources that may have a pin."""

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, PrivateAttr

from models.architecture import Architecture
from models.base import Spec
from models.source import ModelSource, place, scheme
from models.vocabulary import LARGEST_BYTES, Shape

LONGEST_IMAGE = 1024
"""Maximum length of a reference of an image in characters."""
Digest = Annotated[
    str, Shape("is no digest", r"sha256:[0-9a-f]{64}", "write the digest that `python -m cli lock` wrote", 71)
]
Time = Annotated[str, Shape("is no time in UTC", r"[0-9-]{10}T[0-9:]{8}Z", "write it as `python -m cli lock` does", 20)]


class Settings(Spec):
    """Settings that decide the digest or the bytes of a source. A source with other settings is another source."""

    endpoint: str | None = None
    filter: tuple[str, ...] | None = None
    """Layers of a ModelKit that are unpacked; None for the model alone."""
    ignore_patterns: tuple[str, ...] | None = None
    """Files of a repository that are not fetched; None for the default."""


class Pin(Spec):
    """The content of one source at one time."""

    was: ModelSource
    """The source as the configuration names it."""
    source: ModelSource
    """The same source with its digest: the manifest's digest (ModelKit, image), or the commit (repository). Equal to
    `was` for S3 prefixes and claims."""
    digest: Digest | None = None
    """Hash of the listing of an S3 prefix; None for sources whose digest is in `source`, and for claims."""
    bytes: int | None = Field(default=None, gt=0, le=LARGEST_BYTES)
    """Bytes that are fetched; None if they are unknown."""
    packed: bool = False
    """Whether some files are compressed, so that their contents take more than `bytes`."""
    architecture: Architecture | None = None
    settings: Settings = Settings.default()
    asked: Time
    """Time at which the server first answered with this content."""
    origin: Annotated[str, Field(alias="from", max_length=512)]
    """Address of the server that answered."""
    deployed: bool = False
    """Whether pods or a Job had fetched `was` before it was first locked.

    If so, pods fetch the source without a digest until the pin is updated, and a claim keeps its files until the digest
    moves.
    """
    moved: bool = False
    """Whether the digest has moved since `was` was first locked."""

    @property
    def content(self) -> str:
        """Return a name of the content. Two different contents never have the same name."""
        if self.digest is None:
            return self.source
        return f"{self.source}@{self.digest}"

    @property
    def pinned_source(self) -> str:
        """Return the source to fetch: with its digest, unless `deployed` is true."""
        return self.was if self.deployed else self.source

    @property
    def pinned_listing(self) -> str | None:
        """Return the hash of the listing that is compared when the source is fetched; None if nothing is compared."""
        return None if self.deployed else self.digest

    def is_of(self, source: str, settings: Settings) -> bool:
        """Return whether the pin belongs to a source of the configuration that has these settings."""
        return self.was == source and self.settings == settings


class ImagePin(Spec):
    """The content of the image of a container at one time."""

    was: Annotated[str, Field(max_length=LONGEST_IMAGE)]
    """The image as a container has it without a lock."""
    digest: Digest
    """Digest of the image's manifest or index."""
    asked: Time
    """Time at which the registry first answered with this digest."""
    origin: Annotated[str, Field(alias="from", max_length=512)]
    """Address of the registry."""
    moved: bool = False
    """Whether the digest has moved since `was` was first locked."""


class PinnedSource(Spec):
    """A spec with a source. The lock may have a pin of the source. The pin is no key of the configuration."""

    if TYPE_CHECKING:
        source: ModelSource
    _pin: Pin | None = PrivateAttr(default=None)

    @property
    def pin(self) -> Pin | None:
        """Return the pin of the source; None if no lock pins the source."""
        return self._pin

    @property
    def pinned_source(self) -> str:
        """Return the source to fetch: with its digest, if the lock has one and `Pin.deployed` is false."""
        return self.source if self._pin is None else self._pin.pinned_source

    @property
    def pinned_listing(self) -> str | None:
        """Return the hash of the listing that an S3 prefix must have when it is fetched; None for any listing."""
        return None if self._pin is None else self._pin.pinned_listing

    @property
    def identity(self) -> str:
        """Return the text from which names are derived: the source, or its content if its digest has moved."""
        return self._pin.content if self._pin is not None and self._pin.moved else self.source

    def with_pin(self, pin: Pin | None) -> Self:
        """Return the spec with a pin."""
        copy = self.model_copy()
        copy._pin = pin  # noqa: SLF001, the same class
        return copy


def origin(source: str, endpoint: str | None) -> str:
    """Return the address of the server that provides a source."""
    vendors = {"hf": "https://huggingface.co", "s3": "https://s3.amazonaws.com"}
    kind = scheme(source)
    return endpoint or vendors[kind] if kind in vendors else place(source).partition("/")[0]


def plain(spec: Spec) -> dict[str, Any]:
    """Return a spec as plain values, without the fields whose values are the defaults."""
    return spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
