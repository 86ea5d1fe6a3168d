"""The command that fetches an S3 prefix, and compares the digest of its listing with the digest in the lock."""

from datetime import date

from models.base import Spec
from planning.ground import tables


class FetchProgram(Spec):
    """A program that runs in the image of the downloader, in place of the downloader's entrypoint."""

    interpreter: str
    program: str
    source: str
    date: date


def command(digest: str, entrypoint: str) -> tuple[str, ...]:
    """Return the command of a container whose arguments are those of the downloader.

    The command fails if the digest of the prefix's listing is not `digest`, the one in the lock. `entrypoint` is the
    path of the downloader.
    """
    table = tables.read(FetchProgram, "weights/verified-fetch.yaml")
    return (table.interpreter, "-c", table.program, digest, entrypoint)
