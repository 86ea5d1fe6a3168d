"""Reader of the files that a configuration or a command names: regular files of bounded size, as text or JSON."""

import errno
import json
import os
import re
import stat
from pathlib import Path
from typing import NoReturn

from models import yaml_limits

_MIB = 2**20
LARGEST_YAML = 8 * _MIB
"""Maximum size of a YAML file in bytes. It is enough for 20,000 services."""
LARGEST_JSON = 64 * _MIB
"""Maximum size of a JSON file in bytes. It is enough for the facts of the largest cluster that Kubernetes supports."""
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")


class UnreadableError(ValueError):
    """A file that cannot be read. Its text is the predicate of a sentence about the file."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.remedy = remedy
        """Advice for the user; empty if the file itself is missing or unreadable."""


def text(path: Path, largest: int, *, pipe: bool = False) -> str:
    """Return the text of a file in UTF-8. Ends of lines are those of Unix.

    `largest` is the maximum size in bytes. If `pipe` is true, the file may also be a pipe, such as `<(command)` of a
    shell. Devices are never opened. Raises `UnreadableError`.
    """
    try:
        content = _content(path, largest, pipe=pipe)
    except OSError as error:
        raise UnreadableError(f"cannot be read ({error.strerror})") from None
    except UnreadableError:
        raise
    except ValueError:
        raise UnreadableError("is no path") from None
    if len(content) > largest:
        raise UnreadableError(f"is larger than {largest // _MIB} MiB", "write smaller files")
    try:
        decoded = content.decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableError("is not UTF-8", "save it as UTF-8") from None
    return decoded.replace("\r\n", "\n").replace("\r", "\n")


def _content(path: Path, largest: int, *, pipe: bool) -> bytes:
    """Return at most `largest` and one bytes of a file."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode) and not (pipe and stat.S_ISFIFO(mode)):
        raise UnreadableError("is not a regular file", "name a regular file")
    # Without O_NONBLOCK, opening a pipe waits for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        os.set_blocking(descriptor, True)
        return stream.read(largest + 1)


def json_value(path: Path, *, pipe: bool = False, infinite: bool = False) -> object:
    """Return the value of a JSON file.

    `pipe` is as in `text`. If `infinite` is true, numbers may be `Infinity` or `NaN`, which JSON lacks and the
    `config.json` of some models has. Raises `UnreadableError`.
    """
    content = text(path, LARGEST_JSON, pipe=pipe)
    try:
        value: object = json.loads(content, parse_constant=float if infinite else _no_constant)
    except ValueError:
        raise UnreadableError("is not JSON") from None
    except RecursionError:
        raise _too_deep() from None
    if yaml_limits.is_too_deep(value):
        raise _too_deep()
    if "\\u" in content and _HALF_CHARACTER.search(json.dumps(value, ensure_ascii=False)):
        raise UnreadableError("has an escape that is half a character", "write the character itself")
    return value


def _too_deep() -> UnreadableError:
    return UnreadableError(yaml_limits.TOO_DEEP, f"write at most {yaml_limits.MAX_LEVELS} levels")


def _no_constant(name: str) -> NoReturn:
    """Reject NaN and Infinity, which JSON lacks."""
    raise ValueError(name)
