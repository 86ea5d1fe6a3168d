"""A process of the engine's Python that has imported vLLM, and answers requests of the judge."""

import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from local import files, processes
from local.errors import LocalError
from local.vllm import server
from local.vllm.installation import Version

PROGRAM = Path(__file__).with_name("vllm_program.py")
INTERVAL = 0.1


class Preloaded:
    """The process of one version; it ends with the `with` block, and all engines that it started end before."""

    def __init__(self, version: Version, directory: Path) -> None:
        self.version = version
        self.log = directory / "preloaded.log"
        self.mark: Mapping[str, str] = {}
        """Variables that mark all processes, and name the directory of their temporary files."""
        self._directory = directory
        self._started = set[int]()

    def __enter__(self) -> Self:
        files.private_directory(self._directory)
        server.end_marked(self._directory, grace=0)
        self.mark = server.mark(self._directory)
        environment = {"PATH": os.defpath, "HOME": str(self._directory), "HF_HUB_OFFLINE": "1", **self.mark}
        with self.log.open("wb") as log:
            self._child = subprocess.Popen(
                processes.tied_command([str(self.version.python), str(PROGRAM)]),
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid in set(self._started):
            self.kill(pid)
        self._child.communicate()
        server.end_marked(self._directory, grace=0)

    def parse(self, arguments: list[str], environment: Mapping[str, str]) -> dict[str, Any]:
        """Return vLLM's refusals of a command, and the ports that it would listen on."""
        return self._ask({"parse": arguments, "environment": environment})

    def configure(self, arguments: list[str], environment: Mapping[str, str]) -> list[str]:
        """Return vLLM's refusals when it makes the configuration of a command, with the model that this names."""
        return self._ask({"configure": arguments, "environment": environment})["refusals"]

    def start(self, arguments: list[str], environment: Mapping[str, str], directory: Path, log: Path) -> int:
        """Start an engine, and return its pid."""
        variables = {**environment, **self.mark}
        request = {"start": arguments, "environment": variables, "directory": str(directory), "log": str(log)}
        pid = self._ask(request)["pid"]
        self._started.add(pid)
        return pid

    def poll(self, pid: int) -> int | None:
        """Return the exit code of an engine; None while it runs."""
        code = self._ask({"poll": pid})["code"]
        if code is not None:
            self._started.discard(pid)
        return code

    def kill(self, pid: int) -> None:
        """Kill an engine with all its processes, which are one group, and wait until it has ended."""
        while group := [row for row in server.engine_processes(self._directory) if _group(row) == pid]:
            server.kill(group)
        if pid in self._started:
            while self.poll(pid) is None:
                time.sleep(INTERVAL)

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(request).encode() + b"\n")
        self._child.stdin.flush()
        line = self._child.stdout.readline()
        if not line:
            raise LocalError(
                f"vLLM {self.version.name} cannot be asked; the end of {self.log}:\n{files.tail(self.log)}"
            )
        return json.loads(line)


def _group(process: processes.Process) -> int | None:
    """Return the process group of a process; None if it has ended."""
    try:
        return os.getpgid(process.pid)
    except ProcessLookupError:
        return None
