"""Images of a release, each with the source of its digest."""

from models.base import Spec
from planning.ground.tables import Sourced


class Image(Sourced):
    """An image with its tag or digest."""

    ref: str
    """Reference of the image, as a container has it."""


class Fetcher(Image):
    """An image that fetches weights by its own entrypoint."""

    entrypoint: str
    """Path of the program that a container of the image runs."""


class ReleaseImages(Spec):
    """The images of a release."""

    engine: dict[str, Image]
    """Engine images by accelerator vendor."""
    picker: Image
    kit: Image
    """Image that unpacks a ModelKit."""
    kit_verify: Fetcher
    """Image that verifies the signature of a ModelKit and unpacks it."""
    downloader: Fetcher
    """Image that downloads from Hugging Face and S3."""
    sidecar: Image | None = None
    """The routing sidecar; None if the release does not support disaggregated prefill."""


FETCHERS = frozenset({"images.kit", "images.kitVerify", "images.downloader"})
"""Paths in a table of the images that fetch weights."""
