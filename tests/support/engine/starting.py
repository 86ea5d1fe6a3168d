"""One start of a command of vLLM: ready by the container's probes, an answer, metrics, an end after SIGTERM."""

import contextlib
import http.client
import json
import os
import re
import signal
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local import files
from local.vllm import server
from local.vllm.command import EngineCommand
from planning.releases import channel, offered_channels
from tests.support.engine import mounts
from tests.support.engine.commands import PROBES, Command
from tests.support.engine.preloaded import INTERVAL, Preloaded

START_SECONDS = 240.0
END_SECONDS = 30.0
"""Time for an end beside that of `--shutdown-timeout`."""
ANSWER_SECONDS = 60.0
SERIES = re.compile(r"^(vllm:\w+)", re.MULTILINE)
ERROR = re.compile(r"\b\w*(Error|Exception)\b: ")


class Refused(Exception):  # noqa: N818 - a verdict
    """vLLM did not do what its container promises; the text says what."""


@dataclass(frozen=True)
class Start:
    """An engine that runs."""

    command: Command
    process: EngineCommand
    address: str
    preloaded: Preloaded
    pid: int
    log: Path

    @property
    def arguments(self) -> list[str]:
        """Arguments of `vllm serve`."""
        return [*self.process.arguments[2:]]

    def ask(self, port: int, path: str, body: object = None) -> tuple[int, str]:
        """Return status and text of an answer. Raises OSError or HTTPException if there is none."""
        connection = http.client.HTTPConnection(self.address, port, timeout=ANSWER_SECONDS)
        if any(text.startswith(mounts.CERTIFICATE) for text in self.arguments):
            context = ssl._create_unverified_context()  # the authority of the certificate was made here
            connection = http.client.HTTPSConnection(self.address, port, timeout=ANSWER_SECONDS, context=context)
        headers = {"Content-Type": "application/json"}
        if "VLLM_API_KEY" in self.process.environment:
            headers["Authorization"] = f"Bearer {self.process.environment['VLLM_API_KEY']}"
        with contextlib.closing(connection):
            text = None if body is None else json.dumps(body)
            connection.request("GET" if body is None else "POST", path, text, headers)
            response = connection.getresponse()
            return response.status, response.read().decode()


def run(command: Command, process: EngineCommand, preloaded: Preloaded, address: str, directory: Path) -> None:
    """Start an engine, ask it and end it. Raises Refused."""
    arguments = [*process.arguments[2:]]
    environment = {"PATH": f"{preloaded.version.program.parent}:{os.defpath}", **process.environment}
    Path(environment["HOME"]).mkdir(parents=True, exist_ok=True)
    log = directory / "engine.log"
    pid = preloaded.start(arguments, environment, directory, log)
    start = Start(command, process, address, preloaded, pid, log)
    try:
        _wait_until_ready(start)
        _check_answers(start)
        _check_metrics(start)
        _end(start)
    finally:
        preloaded.kill(pid)


def probe_ports(container: Mapping[str, Any]) -> dict[str, int]:
    """Return the ports that the probes of a container ask."""
    return {name: server.probe_port(container, name) for name in PROBES if name in container}


def _wait_until_ready(start: Start) -> None:
    deadline = time.monotonic() + START_SECONDS
    container = start.command.container
    for name in probe_ports(container):
        while not server.succeeds(container, name, start.address):
            code = start.preloaded.poll(start.pid)
            if code is not None:
                raise Refused(f"vLLM ends with {code} before it is ready: {_cause(start.log)}")
            if time.monotonic() > deadline:
                raise Refused(f"the {name} fails after {START_SECONDS:.0f} s: {_cause(start.log)}")
            time.sleep(INTERVAL)


def _check_answers(start: Start) -> None:
    port = probe_ports(start.command.container)["readinessProbe"]
    served = next(text.partition("=")[2] for text in start.arguments if text.startswith("--served-model-name="))
    messages = [{"role": "user", "content": "Hello"}]
    for name in (served, *mounts.adapters(start.arguments)):
        bodies = {
            "chat": ("/v1/chat/completions", {"messages": messages, "max_tokens": 4}),
            "completions": ("/v1/completions", {"prompt": "Hello", "max_tokens": 4}),
            "embeddings": ("/v1/embeddings", {"input": "Hello"}),
        }
        for kind in start.command.family.requests:
            path, body = bodies[kind]
            status, text = start.ask(port, path, {"model": name, **body})
            if status != http.client.OK:
                raise Refused(f"{path} of {name} answers {status}: {text[:300]}")


def _check_metrics(start: Start) -> None:
    port = probe_ports(start.command.container)["readinessProbe"]
    status, text = start.ask(port, "/metrics")
    missing = _series() - set(SERIES.findall(text))
    if status != http.client.OK or missing:
        raise Refused(f"/metrics answers {status}, without {', '.join(sorted(missing))}")


def _series() -> set[str]:
    """Return the series that autoscalers of all channels read."""
    metrics = (metric for name in offered_channels() for metric in channel(name).engine.metrics.values())
    return {metric.series for metric in metrics}


def _end(start: Start) -> None:
    timeout = next((text for text in start.arguments if text.startswith("--shutdown-timeout=")), "=0")
    deadline = time.monotonic() + END_SECONDS + float(timeout.partition("=")[2])
    os.kill(start.pid, signal.SIGTERM)
    while start.preloaded.poll(start.pid) is None:
        if time.monotonic() > deadline:
            raise Refused(f"vLLM does not end after SIGTERM: {_cause(start.log)}")
        time.sleep(INTERVAL)


def _cause(log: Path) -> str:
    """Return the first error in a log, or the last line."""
    lines = [line for line in files.text(log).splitlines() if line.strip()]
    errors = [line for line in lines if ERROR.search(line) and "WARNING" not in line]
    return [*errors, *lines[-1:], "no output"][0][:600]
