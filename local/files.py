"""Files: atomic writes, private directories, locks and checksums."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

from local.errors import LocalError


def write(path: Path, text: str, mode: int = 0o600) -> None:
    """Replace a file's content atomically: an interruption leaves the old or the new content.

    The new file never has wider permissions than `mode`.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def private_directory(path: Path) -> Path:
    """Make the directory if it is missing, set its permissions to 0700 and return it."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path


def text(path: Path) -> str:
    """Return the text of a file; empty if there is no such file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


@contextlib.contextmanager
def lock(path: Path, refusal: str | None = None) -> Generator[None]:
    """Hold an exclusive lock on a file or directory during a `with` block, or until the process is killed.

    If another process holds the lock, this function waits. If `refusal` is given, the function does not wait, but
    raises LocalError with the text `refusal`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDONLY
    if not path.is_dir():
        flags |= os.O_CREAT
    operation = fcntl.LOCK_EX
    if refusal:
        operation |= fcntl.LOCK_NB
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, operation)
    except BlockingIOError:
        os.close(descriptor)
        raise LocalError(refusal or "") from None
    try:
        yield
    finally:
        os.close(descriptor)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; for a directory, that of the names and contents of its files."""
    if path.is_dir():
        listing = (f"{sha256(file)}  {file.relative_to(path)}\n" for file in sorted(path.rglob("*")) if file.is_file())
        return hashlib.sha256("".join(listing).encode()).hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def tail(path: Path, lines: int = 15) -> str:
    """Return the last lines of a log; "" if the log does not exist."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
