"""Real engines, each in the place of one pod of a rendered workload."""

import contextlib
import http.client
import ipaddress
import json
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from local import processes
from local.report import Report
from local.vllm import families
from local.vllm.command import EngineCommand, engine_command
from local.vllm.families import Family
from local.vllm.server import MARK, EngineServer, succeeds
from tests.support.engine.listing import VERSION

Tree = dict[str, Any]
MODEL = "org/model"
"""Served name of the model in `tests.support.stacks`."""
CONTEXT = 16384
"""Positions of the small model: fewer than its family has, so that the longest prompt takes seconds."""
KILLED = 60.0
"""Seconds from SIGTERM to SIGKILL: `terminationGracePeriodSeconds` without the preStop hook."""
SHUTDOWN = "--shutdown-timeout=45"
"""Argument of an engine for which requests have 45 seconds after SIGTERM."""
ANSWER_SECONDS = 120.0
CORE = "VLLM::EngineCore"
"""Beginning of the title of the engine core's process."""
USAGE = {"stream": True, "stream_options": {"include_usage": True}}
"""Fields of a request for a stream that ends with the number of its tokens. An event may have several tokens."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body of an answer."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Pod:
    """A pod of a rendered workload with an address of loopback, and values of Secrets that its containers refer to."""

    template: Tree
    address: str
    secrets: Mapping[str, str] = field(default_factory=dict)

    @property
    def container(self) -> Tree:
        """The engine's container."""
        return self.template["spec"]["containers"][0]

    def variable(self, item: Mapping[str, Any]) -> str:
        """Return the value of a variable that has a source."""
        source = item["valueFrom"]
        if "secretKeyRef" in source:
            return self.secrets[source["secretKeyRef"]["key"]]
        return {"status.podIP": self.address, "metadata.name": "pod"}[source["fieldRef"]["fieldPath"]]


class Engine:
    """A real engine that runs the container of a pod."""

    def __init__(self, pod: Pod, directory: Path, model: Path, adapters: Mapping[str, Path] | None = None) -> None:
        self.container = pod.container
        assert f":v{VERSION.name}@" in f"{self.container['image']}@", self.container["image"]
        self.address = pod.address
        self.arguments = dict(text.partition("=")[::2] for text in self.container["args"])
        self.port = int(self.arguments["--port"])
        root = directory / "root"
        _link(root, self.container["args"][0], model)
        for path, place in (adapters or {}).items():
            _link(root, path, place)
        self.command: EngineCommand = engine_command(
            self.container, VERSION, root, address=pod.address, read_variable=pod.variable
        )
        self.server = EngineServer(self.command, directory / "engine", tie_to_parent=True)

    def start(self) -> None:
        self.server.start()

    def wait(self) -> None:
        """Return when the probes succeed, as kubelet asks them."""
        self.server.wait_until_ready(self.container, self.address, Report())

    def end(self) -> None:
        self.server.end(grace=0)

    def log(self) -> str:
        return self.server.log.read_text(encoding="utf-8", errors="replace")

    def titles(self) -> dict[processes.Process, str]:
        """Return the engine's processes, each with its command line or title."""
        marked = processes.find_marked(MARK, str(self.server.directory))
        return {process: _command_line(process.pid) for process in marked}

    @property
    def core(self) -> processes.Process:
        """The process of the engine core."""
        (core,) = (process for process, title in self.titles().items() if title.startswith(CORE))
        return core

    def succeeds(self, probe: str) -> bool:
        """Return whether kubelet would find that a probe succeeds."""
        return succeeds(self.container, probe, self.address)

    def ask(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        port: int | None = None,
        timeout: float = ANSWER_SECONDS,
    ) -> Answer:
        """Ask with GET, or with POST if there is a body."""
        with self.asked(path, body, headers=headers, port=port, timeout=timeout) as response:
            return Answer(response.status, response.read())

    @contextlib.contextmanager
    def asked(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        port: int | None = None,
        timeout: float = ANSWER_SECONDS,
    ) -> Iterator[http.client.HTTPResponse]:
        """Ask, and hand out the response as it begins."""
        connection = http.client.HTTPConnection(self.address, port or self.port, timeout=timeout)
        text = None if body is None else json.dumps(body)
        method = "GET" if body is None else "POST"
        with contextlib.closing(connection):
            connection.request(method, path, text, {"Content-Type": "application/json", **(headers or {})})
            yield connection.getresponse()

    def status(self, path: str, timeout: float = 5.0) -> int | str:
        """Return the status of an answer, or the kind of error that kubelet would meet."""
        try:
            return self.ask(path, timeout=timeout).status
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__

    def outcome(self, timeout: float = 5.0) -> int | str:
        """Return the status of the answer to a short request, or the kind of error that a client meets."""
        try:
            return self.complete("Is anybody there?", max_tokens=1, timeout=timeout).status
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__

    def complete(self, prompt: str | Sequence[int], model: str = MODEL, **fields: Any) -> Answer:
        """Ask for a completion of five tokens, unless the fields say otherwise."""
        timeout = fields.pop("timeout", ANSWER_SECONDS)
        body = {"model": model, "prompt": prompt, "max_tokens": 5} | fields
        return self.ask("/v1/completions", body, timeout=timeout)


class Stream:
    """A stream of tokens that is read in the background."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.events = list[str]()
        self.error: Exception | None = None
        self._response = response
        assert response.status == http.client.OK, response.read()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def tokens(self) -> int | None:
        """Number of tokens of an answer that was not cut, if the request asked for `USAGE`."""
        usage = [json.loads(event).get("usage") for event in self.events if event != "[DONE]"]
        return usage[-1]["completion_tokens"] if self.is_whole and usage and usage[-1] else None

    def begun(self) -> bool:
        return bool(self.events)

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)
        assert not self._thread.is_alive(), "the stream still runs"

    @property
    def is_whole(self) -> bool:
        """Whether the stream ended as vLLM ends a stream."""
        return self.error is None and self.events[-1:] == ["[DONE]"]

    def _read(self) -> None:
        try:
            for line in self._response:
                if line.startswith(b"data: "):
                    self.events.append(line.removeprefix(b"data: ").decode().strip())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.error = error


def free_address(port: int = 8000) -> str:
    """Return an address of loopback at which nothing listens on a port."""
    while True:
        address = str(ipaddress.IPv4Address("127.64.0.0") + random.randrange(1, 2**20))
        try:
            http.client.HTTPConnection(address, port, timeout=1).connect()
        except OSError:
            return address


def qwen(**fields: Any) -> Family:
    """Return the family of the small model; the fields add to its configuration."""
    row = families.family("Qwen/Qwen3-0.6B")
    return replace(row, config={**row.config, "max_position_embeddings": CONTEXT, **fields})


def make_model(directory: Path, **fields: Any) -> Path:
    """Write a small model of random numbers, and return its directory. The fields add to its configuration."""
    families.write_model(directory, qwen(**fields), VERSION)
    return directory


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ").strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _link(root: Path, path: str, place: Path) -> None:
    """Let a path of the container be a directory of this machine."""
    link = Path(f"{root}{path}")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(place)
