"""Reports of mistakes of this program: exceptions that no configuration should cause."""

import traceback
from collections.abc import Iterator
from pathlib import Path

from judging.validation import SchemaError

HEADLINE = "This program has a mistake, please report these lines"
_ROOT = Path(__file__).resolve().parent.parent


def lines(error: Exception) -> Iterator[str]:
    """Yield the lines of a report: the type of an exception, and the lines of this program in its traceback.

    The report of a `SchemaError` is its text. The text of any other exception is left out, because it may contain a
    credential.
    """
    if isinstance(error, SchemaError):
        yield from str(error).splitlines()
        return
    yield type(error).__name__
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path.is_relative_to(_ROOT) and ".venv" not in path.parts:
            yield f"{path.relative_to(_ROOT)}:{frame.lineno} {frame.name}"
