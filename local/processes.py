"""Processes that this program started.

A process is identified by its pid and start time, or found by an environment variable that marks it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROC = Path("/proc")
TIED = Path(__file__).with_name("tied.py")
GRACE = 5.0


def _fields(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat after the process's name; None if there is no such process.

    The search for the end of the name starts at the end of the line, because the name may contain spaces and brackets.
    """
    try:
        return (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _boot_id() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


@dataclass(frozen=True)
class Process:
    """A process; its start time distinguishes it from a later process with the same pid."""

    pid: int
    started: int
    """Start time in clock ticks since the boot."""
    boot: str
    """Id of the boot since which the process runs. After another boot, pids and start times may repeat."""

    @staticmethod
    def of(pid: int) -> Process | None:
        """Return the living process with a pid; None if there is none."""
        fields = _fields(pid)
        # A process lives while any thread lives: the first can be a zombie while others still hold the sockets.
        if fields is None or (fields[0] in "ZX" and int(fields[17]) <= 1):
            return None
        return Process(pid, int(fields[19]), _boot_id())

    def alive(self) -> bool:
        """Return whether the process is still alive."""
        return Process.of(self.pid) == self

    def signal(self, number: signal.Signals) -> None:
        """Send a signal if the process is alive."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def megabytes(self) -> float:
        """Return the memory that is free after the end of the process; 0 if it has ended.

        Memory that it shares with other processes counts by its part.
        """
        try:
            text = (PROC / str(self.pid) / "smaps_rollup").read_text(encoding="ascii")
        except OSError:
            return 0.0
        rows = (line.split() for line in text.splitlines() if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
        return sum(int(row[1]) for row in rows) / 1000

    def started_at(self) -> float:
        """Return the start time in seconds since the epoch, accurate to about a second."""
        stat = (PROC / "stat").read_text(encoding="ascii")
        boot_time = next(int(line.split()[1]) for line in stat.splitlines() if line.startswith("btime "))
        return boot_time + self.started / os.sysconf("SC_CLK_TCK")


def heed_interrupts() -> None:
    """Make SIGINT interrupt this process and its children, even if the shell has disabled SIGINT.

    Shells disable SIGINT for background jobs. When the Pulumi engine ends, it sends SIGINT to its plugins, and waits
    five seconds for each plugin that ignores the signal.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def tied_command(command: Sequence[str], *, tied: bool = True) -> list[str]:
    """Return a command that runs `command`, and kills it when the calling thread ends for any reason.

    Without `tied`, return `command` itself.
    """
    if not tied:
        return list(command)
    return [sys.executable, "-I", "-S", str(TIED), str(os.getpid()), *command]


def find_marked(name: str, value: str | None = None) -> dict[Process, str]:
    """Return the processes of this user whose environment sets the variable `name`, each with the variable's value.

    This process itself is left out. If `value` is given, return only the processes with that value.
    """
    marked: dict[Process, str] = {}
    prefix = f"{name}=".encode()
    for entry in PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if entry.stat().st_uid != os.getuid():
                continue
            environment = (entry / "environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        setting = next((item[len(prefix) :] for item in environment if item.startswith(prefix)), None)
        process = Process.of(int(entry.name))
        if setting is not None and process is not None and value in (None, os.fsdecode(setting)):
            marked[process] = os.fsdecode(setting)
    return marked


def find_users(directory: Path) -> list[Process]:
    """Return the processes that run a program of a directory, or have loaded a library of it.

    This process itself is left out, and so are processes of other users, unless this user may read their memory maps.
    """
    places = {os.fsencode(f"{directory}/"), os.fsencode(f"{directory.resolve()}/")}
    users = list[Process]()
    for entry in PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
            maps = (entry / "maps").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        process = Process.of(int(entry.name))
        runs = any(argument.startswith(place) for argument in arguments for place in places)
        if process is not None and (runs or any(place in maps for place in places)):
            users.append(process)
    return users


def end(processes: Iterable[Process], grace: float = GRACE) -> None:
    """Ask processes to end, kill those that are still alive after `grace` seconds, and wait until all have ended."""
    remaining = list(processes)
    for process in remaining:
        process.signal(signal.SIGTERM)
    deadline = time.monotonic() + grace
    while (remaining := [process for process in remaining if process.alive()]) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in remaining:
        process.signal(signal.SIGKILL)
    while any(process.alive() for process in remaining):
        time.sleep(0.02)
