"""Processes of engines, started, asked and ended as kubelet does it with the containers that they stand for."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local import files, processes
from local.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from local.processes import Process
    from local.report import Report, ReportStep
    from local.vllm.command import Container, EngineCommand

MARK = "INFERENCE_STACKS_ENGINE"
"""Environment variable that marks all processes of an engine. Its value is the directory of its `EngineServer`."""
KEEP_ENVIRONMENT = {"SPT_NOENV": "1"}
"""vLLM's processes write titles over their arguments, and with this variable not over their environment
(setproctitle), in which the mark is."""
START_SECONDS = 90.0
"""Expected duration of a start, on two cores."""
INTERVAL = 0.5
TRACKER = b"multiprocessing.resource_tracker"
"""Text in the arguments of the process that removes the shared memory of ended processes (CPython)."""
PROJECT = Path(__file__).parent.parent.parent
PROBE_SECONDS = 10.0
TIMEOUT_SECONDS = 1.0
FAILURES = 3
"""Defaults of a probe: `periodSeconds`, `timeoutSeconds`, `failureThreshold` (Kubernetes' API reference, Probe)."""
LOG_PREFIX = re.compile(r"^(\(\w+ pid=\d+\) )?([A-Z]+ [\d-]+ [\d:]+ \[[^]]*\] |[IWE]\d{4} [\d:.]+ \d+ [^]]*\] )?")
"""Beginning of a line of vLLM's or torch's log, before the message."""
NOTE_LENGTH = 70


class EngineServer:
    """The process of an engine, with its log and its temporary files in one directory.

    If `tie_to_parent` is true, the engine is killed when this process ends for any reason.
    """

    def __init__(self, command: EngineCommand, directory: Path, *, tie_to_parent: bool = False) -> None:
        self.command = command
        self.directory = directory.resolve()
        self._tie = tie_to_parent
        self._child: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """Path of the file with the output of the engine's processes."""
        return self.directory / "engine.log"

    @property
    def pid(self) -> int:
        """Id of the first process. Raises LocalError if the engine was not started."""
        return self._process().pid

    def start(self) -> None:
        """Start the engine. Processes that an earlier run left in this directory are ended first.

        Raises LocalError if the program cannot be started.
        """
        files.private_directory(self.directory)
        end_marked(self.directory)
        environment = {"PATH": f"{Path(self.command.arguments[0]).parent}:{os.defpath}", "HOME": str(self.directory)}
        environment |= self.command.environment
        environment |= mark(self.directory)
        _make_directory(environment["HOME"])
        if self._tie:
            # The kernel could kill the first process only; the others would wait for it for ever.
            guard = [sys.executable, "-m", __name__, str(self.directory)]
            self._guard = subprocess.Popen(guard, cwd=PROJECT, stdin=subprocess.PIPE, start_new_session=True)
        try:
            self._child = self._popen(environment)
        except OSError as error:
            self.end(grace=0)
            raise LocalError(
                f"{self.command.arguments[0]} cannot be started: {error.strerror}; "
                "`python3 -m local engine` installs vLLM anew"
            ) from None

    def has_ended(self) -> bool:
        """Return whether the first process has ended by itself."""
        return self._process().poll() is not None

    def wait_until_ready(self, container: Container, address: str, report: Report, title: str = "engine") -> None:
        """Wait until the startup probe of a container succeeds once, and then its readiness probe.

        A probe may take `failureThreshold` periods. Raises LocalError with the end of the log after this time, or if
        the engine ends before.
        """
        with report.step(title, START_SECONDS) as step:
            for name in ("startupProbe", "readinessProbe"):
                if name in container:
                    self._wait(name, container, address, step)
            step.note = ""

    def end(self, grace: float = processes.GRACE) -> int | None:
        """End the engine as kubelet does, and return the exit code of the first process; None if it was not started.

        Only the first process gets SIGTERM. What is alive after `grace` seconds is killed.
        """
        end_marked(self.directory, grace)
        if self._guard is not None:
            self._guard.communicate()
        if self._child is None:
            return None
        return self._child.wait()

    def _wait(self, name: str, container: Container, address: str, step: ReportStep) -> None:
        deadline = time.monotonic() + limit_seconds(container[name])
        while not succeeds(container, name, address):
            problem = ""
            if self.has_ended():
                problem = f"ended with {self._process().returncode}"
            elif time.monotonic() > deadline:
                problem = f"fails its {name} after {limit_seconds(container[name]):.0f} s"
            if problem:
                raise LocalError(f"the engine {problem}; the end of {self.log}:\n{files.tail(self.log)}")
            step.note = _message(self.log) or step.note
            time.sleep(INTERVAL)

    def _popen(self, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with self.log.open("wb") as log:
            return subprocess.Popen(
                self.command.arguments,
                cwd=self.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _process(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            raise LocalError(f"the engine in {self.directory} was not started")
        return self._child


def limit_seconds(probe: Mapping[str, Any]) -> float:
    """Return the seconds in which a probe has to succeed."""
    periods = probe.get("periodSeconds", PROBE_SECONDS) * probe.get("failureThreshold", FAILURES)
    return probe.get("initialDelaySeconds", 0) + periods


def succeeds(container: Container, name: str, address: str) -> bool:
    """Return whether a probe of a container succeeds now, as for kubelet.

    A request succeeds with a status from 200 to 399, and `tcpSocket` with a connection. Raises LocalError for a probe
    of another kind.
    """
    probe = container[name]
    port = probe_port(container, name)
    timeout = probe.get("timeoutSeconds", TIMEOUT_SECONDS)
    if "tcpSocket" in probe:
        return _accepts(address, port, timeout)
    request = probe["httpGet"]
    connection = http.client.HTTPConnection(address, port, timeout=timeout)
    if request.get("scheme") == "HTTPS":
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # kubelet verifies no certificate either
        connection = http.client.HTTPSConnection(address, port, timeout=timeout, context=context)
    headers = {item["name"]: item["value"] for item in request.get("httpHeaders", ())}
    with contextlib.closing(connection):
        try:
            connection.request("GET", request.get("path", "/"), headers=headers)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return False
    return http.client.OK <= status < http.client.BAD_REQUEST


def _accepts(address: str, port: int, timeout: float) -> bool:
    """Return whether something takes connections at a port."""
    try:
        with socket.create_connection((address, port), timeout):
            return True
    except OSError:
        return False


def probe_port(container: Container, name: str) -> int:
    """Return the port that a probe of a container asks. Raises LocalError for a probe without a port."""
    probe = container[name]
    handler = probe.get("httpGet") or probe.get("tcpSocket")
    if handler is None:
        what = "has neither httpGet nor tcpSocket; no other kind is asked here"
        raise LocalError(f"the {name} of container {container['name']} {what}")
    return port_number(container, handler["port"])


def port_number(container: Container, port: int | str) -> int:
    """Return the number of a port. Raises LocalError for a name that no port of the container has."""
    if isinstance(port, int):
        return port
    for row in container.get("ports", ()):
        if row.get("name") == port:
            return row["containerPort"]
    raise LocalError(f"container {container['name']} has no port with the name {port}")


def mark(directory: Path) -> dict[str, str]:
    """Return the variables of processes that `end_marked` ends in a directory, with a new TMPDIR that it removes."""
    # The engine's processes speak over sockets in TMPDIR. The path of a socket has at most 107 characters.
    temporary = tempfile.mkdtemp(prefix="engine-")
    _temporary_link(directory).symlink_to(temporary)
    return KEEP_ENVIRONMENT | {"TMPDIR": temporary, MARK: str(directory.resolve())}


def end_marked(directory: Path, grace: float = processes.GRACE) -> None:
    """End all processes of the engines in a directory or below it, and remove their temporary files.

    They are found by their mark, even if the process that started them was killed.
    """
    marked = engine_processes(directory)
    first = [process for process in marked if _leads_session(process)]
    for process in first:
        process.signal(signal.SIGTERM)
    deadline = time.monotonic() + grace
    while any(process.alive() for process in first) and time.monotonic() < deadline:
        time.sleep(0.05)
    while remaining := engine_processes(directory):
        kill(remaining)
    for place in (directory, *directory.glob("*")):
        link = _temporary_link(place)
        if link.is_symlink():
            shutil.rmtree(link.readlink(), ignore_errors=True)
            link.unlink()


def engine_processes(directory: Path) -> list[Process]:
    """Return the living processes of the engines in a directory or below it."""
    root = str(directory.resolve())
    marks = processes.find_marked(MARK)
    return [process for process, mark in marks.items() if mark == root or mark.startswith(f"{root}/")]


def kill(remaining: Iterable[Process]) -> None:
    """Kill processes, and let Python's trackers of shared memory remove the memory of the others before they end."""
    trackers = [process for process in remaining if TRACKER in _arguments(process)]
    processes.end((process for process in remaining if process not in trackers), grace=0)
    deadline = time.monotonic() + processes.GRACE
    while any(process.alive() for process in trackers) and time.monotonic() < deadline:
        time.sleep(0.05)
    processes.end(trackers, grace=0)


def _arguments(process: Process) -> bytes:
    try:
        return (processes.PROC / str(process.pid) / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def _leads_session(process: Process) -> bool:
    try:
        return os.getsid(process.pid) == process.pid
    except ProcessLookupError:
        return False


def _temporary_link(directory: Path) -> Path:
    """Return the path of the link to the directory of the temporary files."""
    return directory / "temporary"


def _make_directory(path: str) -> None:
    """Make a directory unless it exists. Raises LocalError if it cannot be made."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalError(f"the HOME of the engine, {path}: {error.strerror}") from None


def _message(log: Path) -> str:
    """Return the message of the last line of a log, shortened."""
    return LOG_PREFIX.sub("", files.tail(log, lines=1)).strip()[:NOTE_LENGTH]


if __name__ == "__main__":
    # The guard of an engine: its standard input is closed when the process that started it ends.
    sys.stdin.read()
    end_marked(Path(sys.argv[1]), grace=0)
