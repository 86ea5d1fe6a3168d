"""A real Kubernetes control plane on loopback. kwok simulates its nodes and pods."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from local import files, processes
from local.cluster import parts
from local.cluster.api import Api
from local.errors import LocalError
from local.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from local.processes import Process
    from local.report import Report
    from local.tools import Tool

CRDS = ("gateway-api", "gateway-api-inference-extension", "istio", "keda", "lws", "prometheus-operator")
NODES = Path(__file__).with_name("nodes.yaml")
MARK = "INFERENCE_STACKS_CONTROL_PLANE"
"""Environment variable that marks all processes of a control plane. Its value is the control plane's directory."""
STATE = "state.json"
ATTEMPTS = 3
READY_SECONDS = 240.0
EXPECTED_SECONDS = 10.0
PORT_IN_USE = "address already in use"


class PartError(LocalError):
    """A part of the control plane ended, or did not become ready in time."""


class ControlPlane:
    """A control plane with data, keys, logs and kubeconfig in one directory. Several of them can run at the same time.

    Its processes get the variables in `environment`. If `tie_to_parent` is true, the processes are killed when the
    thread that called `start()` ends.
    """

    def __init__(  # noqa: PLR0913 - a control plane consists of these arguments
        self,
        directory: Path,
        tools: Mapping[str, Tool],
        *,
        crds: Sequence[str] = CRDS,
        nodes: Path = NODES,
        environment: Mapping[str, str] | None = None,
        tie_to_parent: bool = False,
    ) -> None:
        self.directory = directory.resolve()
        self._tools = tools
        self._crds = crds
        self._nodes = nodes
        self._extra = dict(environment or {})
        self._tie = tie_to_parent
        self._children: list[subprocess.Popen[bytes]] = []

    @property
    def kubeconfig(self) -> Path:
        """Path of the administrator's kubeconfig, which refers to no other file."""
        return self.directory / "admin.kubeconfig"

    @property
    def loopback(self) -> str:
        """Range of loopback addresses for pods. No other control plane of this machine has the same range.

        The two middle numbers of the range are made from the API server's port, which no other control plane has.
        """
        high, low = divmod(self._port(), 256)
        return f"127.{high}.{low}.0/24"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, report: Report) -> None:
        """Start the parts that do not run, and return when nodes are Ready and every custom resource is served.

        If a part does not start, raises LocalError with the last lines of that part's log.
        """
        files.private_directory(self.directory)
        with files.lock(self.directory / "lock"):
            if self.alive() and self._state().get("prepared") == self._preparation():
                return
            with report.step("control plane", EXPECTED_SECONDS):
                for attempt in range(1, ATTEMPTS + 1):
                    try:
                        self._start()
                    except PartError as error:
                        if PORT_IN_USE not in str(error) or attempt == ATTEMPTS:
                            raise
                        self._end_parts()
                        self._save(ports={})
                    else:
                        return

    def stop(self) -> None:
        """End all processes of this control plane and wait until they have ended. The data in the directory stays."""
        if self.directory.exists():
            with files.lock(self.directory / "lock"):
                self._end_parts()

    def remove(self) -> None:
        """End all processes of this control plane and delete its directory."""
        self.stop()
        self._end_unrecorded()
        shutil.rmtree(self.directory, ignore_errors=True)

    def alive(self) -> bool:
        """Return whether every part runs and the API server reports that it is ready."""
        running = self._running()
        return all(part in running for part in parts.PARTS) and self.api().ready()

    def pids(self) -> dict[str, int]:
        """Return the process ids of the parts that run."""
        return {part: process.pid for part, process in self._running().items()}

    def api(self) -> Api:
        """Return a client of the API server with the administrator's rights."""
        return Api(self._port(), self.directory / "pki" / "ca.crt", parts.write_credentials(self.directory))

    def kubectl(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002 - the name that subprocess uses
        """Run kubectl as the administrator and return its output. A failure raises LocalError with the error text."""
        command = [str(self._tools["kubectl"].path), f"--kubeconfig={self.kubeconfig}", *arguments]
        result = subprocess.run(
            command, input=input or "", capture_output=True, text=True, env=self._environment(), check=False
        )
        if result.returncode:
            raise LocalError(f"kubectl {' '.join(arguments)}: {result.stderr.strip()}")
        return result.stdout

    def _start(self) -> None:
        self._end_unrecorded()
        self._write_files()
        # The API server starts after etcd, because it ends if it waits too long for etcd.
        self._start_part("etcd")
        self._wait("etcd", lambda: self._listens("etcd"))
        self._start_part("kube-apiserver")
        self._wait("kube-apiserver", self.api().ready)
        for part in parts.CONTROLLERS:
            self._start_part(part)
        if self._state().get("prepared") != self._preparation():
            self._prepare()
        self._wait(
            "kube-controller-manager", lambda: self.api().exists("/api/v1/namespaces/default/serviceaccounts/default")
        )
        self._wait("kwok", self._nodes_ready)
        # After a restart, data from before the restart may fulfil these two conditions although a part has ended.
        self._check_parts()
        self._save(prepared=self._preparation())

    def _write_files(self) -> None:
        pki = files.private_directory(self.directory / "pki")
        files.private_directory(self.directory / "logs")
        files.private_directory(self.directory / "home")
        files.private_directory(self.directory / "etcd")
        if not (pki / "service-account.key").exists():
            result = subprocess.run(
                [str(self._tools["pki"].path), str(pki)],
                capture_output=True,
                text=True,
                check=False,
                env=self._environment(),
            )
            if result.returncode:
                raise LocalError(f"the certificates could not be made: {result.stderr.strip()}")
        if not self._state().get("ports"):
            self._save(ports=free_ports(parts.PORTS))
        token = parts.write_credentials(self.directory)
        parts.write_kubeconfig(self.kubeconfig, self.directory, self._port(), token)

    def _start_part(self, part: str) -> None:
        if part in self._running():
            return
        state = self._state()
        command = [str(self._tools[part].path)]
        command += parts.arguments(part, self.directory, state["ports"], self._tools["kwok-stages"].path)
        with self._log(part).open("wb") as log:
            child = subprocess.Popen(
                processes.tied_command(command, tied=self._tie),
                cwd=self.directory,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        process = processes.Process.of(child.pid)
        record = process and [process.pid, process.started, process.boot]
        self._save(processes={**state.get("processes", {}), part: record})
        self._children.append(child)

    def _prepare(self) -> None:
        """Install custom resource definitions and nodes concurrently."""
        folder = self._tools["crds"].path
        server_side = ("apply", "--server-side", "--force-conflicts", "--field-manager=inference-stacks-local")
        calls = [(*server_side, f"--filename={folder / group}") for group in self._crds]
        calls.append((*server_side, f"--filename={self._nodes}"))
        with ThreadPoolExecutor(len(calls)) as pool:
            for call in [pool.submit(self.kubectl, *arguments) for arguments in calls]:
                call.result()
        self.kubectl(*server_side, "--subresource=status", f"--filename={self._nodes}")
        self._wait("kube-apiserver", lambda: self.api().serves_custom_resources())
        self._wait("kube-apiserver", lambda: self.api().describes_kinds())

    def _listens(self, part: str) -> bool:
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", self._state()["ports"][part])) == 0

    def _nodes_ready(self) -> bool:
        status, body = self.api().get("/api/v1/nodes")
        if not status:
            return False
        nodes: list[dict[str, Any]] = json.loads(body)["items"]
        ready = {"type": "Ready", "status": "True"}.items()
        return bool(nodes) and all(
            any(ready <= condition.items() for condition in node["status"].get("conditions", [])) for node in nodes
        )

    def _wait(self, part: str, condition: Callable[[], bool]) -> None:
        """Wait for a condition of a part. Raises PartError after a timeout, or if any part ends meanwhile."""
        deadline = time.monotonic() + READY_SECONDS
        while not condition():
            self._check_parts()
            if time.monotonic() > deadline:
                raise PartError(
                    f"{part} is not ready after {READY_SECONDS:.0f} s; the end of {self._log(part)}:\n"
                    + files.tail(self._log(part))
                )
            time.sleep(0.1)

    def _check_parts(self) -> None:
        """Raise PartError if a part has ended."""
        running = self._running()
        for part in self._state()["processes"]:
            if part not in running:
                raise PartError(f"{part} ended; the end of {self._log(part)}:\n{files.tail(self._log(part))}")

    def _running(self) -> dict[str, Process]:
        """Return the recorded processes that are alive, by part."""
        records: dict[str, list[Any] | None] = self._state().get("processes", {})
        recorded = {part: processes.Process(*record) for part, record in records.items() if record}
        return {part: process for part, process in recorded.items() if process.alive()}

    def _end_parts(self) -> None:
        running = self._running()
        processes.end(running[part] for part in parts.CONTROLLERS if part in running)
        # The API server is killed, because a graceful end would take seconds. It has no data to save.
        processes.end((running[part] for part in ("kube-apiserver",) if part in running), grace=0)
        processes.end(running[part] for part in ("etcd",) if part in running)
        self._end_unrecorded()
        for child in self._children:
            child.poll()
        self._save(processes={})

    def _end_unrecorded(self) -> None:
        """End the processes that have this directory's mark and no record. A killed `start()` leaves such processes."""
        recorded = set(self._running().values())
        processes.end(
            process for process in processes.find_marked(MARK, str(self.directory)) if process not in recorded
        )

    def _preparation(self) -> str:
        """Return a digest of the nodes and custom resource definitions to install."""
        content = f"{self._nodes.read_text(encoding='utf-8')}{self._crds}{self._tools['crds'].sha256}"
        return hashlib.sha256(content.encode()).hexdigest()

    def _environment(self) -> dict[str, str]:
        home = str(self.directory / "home")
        return {"PATH": os.defpath, "HOME": home, **self._extra, MARK: str(self.directory)}

    def _port(self) -> int:
        return self._state()["ports"]["kube-apiserver"]

    def _log(self, part: str) -> Path:
        return self.directory / "logs" / f"{part}.log"

    def _state(self) -> dict[str, Any]:
        try:
            return json.loads((self.directory / STATE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}

    def _save(self, **changes: object) -> None:
        if self.directory.exists():
            files.write(self.directory / STATE, json.dumps({**self._state(), **changes}, indent=2))
