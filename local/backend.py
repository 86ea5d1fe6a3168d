"""Backends: places in which Pulumi's engine keeps the states of stacks, such as a folder.

After a killed run, stale locks are removed, and a damaged state is restored.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
import re
import shutil
import socket
import zlib
from typing import TYPE_CHECKING, Any, Protocol

from local import processes
from local.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from local.report import Report

CLOCK_TOLERANCE = 2.0
"""Maximum number of seconds by which a process may seem to start after it wrote its lock. Both times are rounded."""


class Backend(Protocol):
    """A place in which the engine keeps the states of stacks."""

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables by which the engine finds the place."""
        ...

    def latest(self, project: str, stack: str) -> dict[str, Any] | None:
        """Return the newest deployment of a stack, which is Pulumi's record of the stack's resources.

        The result is empty if the stack has no deployment yet, and None if there is no such stack.
        """
        ...

    def recover(self, project: str, stack: str, report: Report) -> None:
        """Remove locks of processes that have ended, and restore a damaged state.

        Raises LocalError if another run has locked the stack, or if the state of the stack cannot be restored.
        """
        ...


class Folder:
    """A backend in a folder of the local disk.

    The engine writes the whole state before and after every object. Compressed, the state has a twentieth of the bytes.
    A folder that already has a state that is not compressed keeps its form, because the engine moves the former file
    away before it writes the first file of another form.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables by which the engine finds the folder."""
        is_plain = any(self._directory.glob(".pulumi/stacks/*/*.json"))
        return {
            "PULUMI_BACKEND_URL": f"file://{self._directory}",
            "PULUMI_DIY_BACKEND_GZIP": str(not is_plain).lower(),
        }

    def latest(self, project: str, stack: str) -> dict[str, Any] | None:
        """Return the newest deployment in the checkpoint; empty if there is none, None if there is no checkpoint."""
        try:
            return newest(_text(self._checkpoint(project, stack)))
        except FileNotFoundError:
            return None
        except ValueError:
            return {}

    def recover(self, project: str, stack: str, report: Report) -> None:
        """Remove locks of processes that have ended, and replace a damaged checkpoint by its backup."""
        for lock in self._directory.glob(".pulumi/locks/**/*.json"):
            _remove_stale_lock(lock, report)
        self._restore(self._checkpoint(project, stack), report)

    def _checkpoint(self, project: str, stack: str) -> Path:
        """Return the file with the state: of two forms the newer one, as the engine does (pkg/backend/diy/state.go).

        If a killed run left neither, the file is the one whose backup is newer.
        """
        plain = self._directory / ".pulumi" / "stacks" / project / f"{stack}.json"
        forms = (plain, plain.with_name(f"{plain.name}.gz"))
        for candidates in (forms, [_backup(path) for path in forms]):
            present = [(path, form) for path, form in zip(candidates, forms, strict=True) if path.exists()]
            if present:
                return max(present, key=lambda entry: entry[0].stat().st_mtime_ns)[1]
        return plain

    def _restore(self, checkpoint: Path, report: Report) -> None:
        """Replace a damaged checkpoint by its backup. Raises LocalError if the backup is damaged, too."""
        # The file backend writes the attributes of each file to another file, and not atomically. The backend works
        # without attributes, so files with damaged attributes are removed.
        for attributes in self._directory.glob(".pulumi/**/*.attrs"):
            if not _is_json(attributes):
                attributes.unlink()
        backup = _backup(checkpoint)
        if _is_checkpoint(checkpoint) or not (checkpoint.exists() or backup.exists()):
            return
        if not _is_checkpoint(backup):
            raise LocalError(f"{checkpoint} and its backup are damaged; `make down` removes cluster and state together")
        shutil.copyfile(backup, checkpoint)
        report.say(f"{checkpoint.name} was damaged or missing, and has been replaced by its backup")


def _backup(checkpoint: Path) -> Path:
    """Return the file to which the engine moves a state before it writes the next one."""
    return checkpoint.with_name(f"{checkpoint.name}.bak")


def newest(checkpoint: str) -> dict[str, Any]:
    """Return the newest deployment in the text of a checkpoint; empty if there is none, or if the text is damaged."""
    try:
        return json.loads(checkpoint)["checkpoint"].get("latest") or {}
    except (ValueError, KeyError):
        return {}


def _remove_stale_lock(path: Path, report: Report) -> None:
    """Remove the lock of a process that has ended. Raises LocalError if that process may still run."""
    try:
        lock = json.loads(path.read_text(encoding="utf-8"))
        holder = int(lock["pid"])
        host = str(lock["hostname"])
        locked_at = _timestamp(lock["timestamp"])
    except FileNotFoundError:
        return
    except (ValueError, KeyError) as error:
        raise LocalError(
            f"the lock {path} cannot be read ({error}); remove it if no other run uses this stack"
        ) from None
    if host != socket.gethostname():
        raise LocalError(f"the stack is locked by process {holder} on {host} ({path}); end that run first")
    process = processes.Process.of(holder)
    if process is not None and process.started_at() <= locked_at + CLOCK_TOLERANCE:
        raise LocalError(f"the stack is locked by process {holder}, which is still running; wait for it or end it")
    path.unlink(missing_ok=True)
    path.with_name(f"{path.name}.attrs").unlink(missing_ok=True)
    report.say(f"removed the lock of process {holder}, which was killed")


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


def _text(path: Path) -> str:
    """Return the text of a checkpoint or of its backup. Raises ValueError if the file is damaged."""
    content = path.read_bytes()
    if not path.name.removesuffix(".bak").endswith(".gz"):
        return content.decode()
    try:
        return gzip.decompress(content).decode()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not complete") from error


def _is_checkpoint(path: Path) -> bool:
    """Return whether a file contains a complete checkpoint."""
    try:
        return "checkpoint" in json.loads(_text(path))
    except (ValueError, FileNotFoundError):
        return False


def _timestamp(text: str) -> float:
    """Return the seconds from the epoch to an RFC 3339 time. Fractions of a second are dropped (`CLOCK_TOLERANCE`)."""
    without_fraction = re.sub(r"\.\d+", "", text)
    return dt.datetime.fromisoformat(without_fraction).timestamp()
