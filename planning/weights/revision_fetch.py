"""The command that fetches a revision with a slash from a Hugging Face hub, which the downloader alone refuses."""

from models.source import hub, scheme
from planning.ground import tables
from planning.weights.verified_fetch import FetchProgram


def is_needed(source: str) -> bool:
    """Return whether a source names a revision with a slash. A source that a lock pins names a commit."""
    return scheme(source) == "hf" and "/" in (hub(source)[1] or "")


def command(entrypoint: str) -> tuple[str, ...]:
    """Return the command of a container whose arguments are those of the downloader.

    `entrypoint` is the path of the downloader.
    """
    table = tables.read(FetchProgram, "weights/revision-fetch.yaml")
    return (table.interpreter, "-c", table.program, entrypoint)
