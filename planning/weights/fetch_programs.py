"""Programs that run in the image of the downloader, in place of the downloader's entrypoint.

Their arguments are those of the downloader. They are needed for what the downloader alone does not do.
"""

from datetime import date

from models.base import Spec
from models.source import hub, scheme
from planning.ground import tables


class FetchProgram(Spec):
    """A program that runs in place of the downloader's entrypoint, from a table of this folder."""

    interpreter: str
    program: str
    source: str
    date: date


def with_listing(digest: str, entrypoint: str) -> tuple[str, ...]:
    """Return the command that fetches an S3 prefix, and fails if the digest of its listing is not `digest`.

    `digest` is the one in the lock. `entrypoint` is the path of the downloader.
    """
    table = tables.read(FetchProgram, "weights/verified-fetch.yaml")
    return (table.interpreter, "-c", table.program, digest, entrypoint)


def is_for_revision(source: str) -> bool:
    """Return whether a source names a revision with a slash. A source that a lock pins names a commit."""
    return scheme(source) == "hf" and "/" in (hub(source)[1] or "")


def for_revision(entrypoint: str) -> tuple[str, ...]:
    """Return the command that fetches a revision with a slash from a Hugging Face hub, which the downloader refuses.

    `entrypoint` is the path of the downloader.
    """
    table = tables.read(FetchProgram, "weights/revision-fetch.yaml")
    return (table.interpreter, "-c", table.program, entrypoint)
