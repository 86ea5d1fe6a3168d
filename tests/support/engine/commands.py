"""Distinct commands of vLLM that everything shipped renders to, each with a check sum that its verdict is kept by."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

from local.vllm import installation
from local.vllm.command import EngineCommand, command_and_environment, engine_command
from local.vllm.families import Family, families, family
from local.vllm.installation import Version
from planning.releases import engine_versions
from tests.support.engine import mounts
from tests.support.engine.shipped import ShippedContainer, containers, served_name

ADDRESS = "127.0.86.1"
"""Loopback address of the engines, which keeps the ports of the containers free for them."""
KEY_LENGTH = 12
STAND_IN = "Qwen/Qwen3-30B-A3B"
"""Model whose small model is in the place of one that has none, while its command is parsed."""
LACKS = Path(__file__).with_name("lacks.yaml")
ROOT = Path("/root")
"""Directory of the mounts in check sums; the judge has another one on each machine."""
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
GROUP = {"LWS_WORKER_INDEX": "0", "LWS_GROUP_SIZE": "2", "LWS_LEADER_ADDRESS": "leader.group.models"}
"""Variables that the controller of LeaderWorkerSets adds to the containers of a group."""
SAME_START = re.compile(r"^(HSA_|NCCL_|TORCH_BLAS_|PYTORCH_ALLOC_CONF$|OTEL_SERVICE_NAME$|.*TIMEOUT)")
"""Variables that change no start on a CPU: those of devices, the name in traces, and times."""

NUMBERS = re.compile(
    r"--(gpu-memory-utilization|max-num-seqs|max-num-batched-tokens|max-model-len|shutdown-timeout|block-size"
    r"|distributed-timeout-seconds|max-lora-rank|max-loras|max-cpu-loras|(tensor|pipeline)-parallel-size)=[\d.]+"
    r"|--(no-)?async-scheduling"
)
"""Arguments that change no start on a CPU if the engine's configuration can be made with them. All schedule in one way
(vllm/platforms/cpu.py, check_and_update_config)."""


@dataclass(frozen=True)
class Trial:
    """Command of an engine on a CPU in the place of a container."""

    key: str
    """Beginning of a check sum of all that decides about a start: commands with the same key are started once."""
    adjustments: tuple[str, ...]
    """Arguments and variables that differ from those of the container."""


@dataclass(frozen=True)
class Command:
    """A command that a version of vLLM gets, and the stacks that it is rendered from."""

    version: str
    container: Mapping[str, Any]
    origins: tuple[str, ...]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON of arguments, environment, mounts, ports and probes."""
        return _digest(identity(self.container))

    @property
    def model(self) -> str:
        """Name of the model."""
        return served_name(self.container)

    @property
    def family(self) -> Family:
        """Family of the model; a stand-in if no small model stands for it."""
        return family(self.model if has_family(self.model) else STAND_IN)

    def obstacle(self) -> str | None:
        """Return why this command cannot start alone on a CPU; None if it can."""
        if not has_family(self.model):
            return f"no small model stands for {self.model.rpartition('/')[2]}"
        if not mounts.has_files(self.container["args"]):
            return "vLLM would fetch the model, and nothing is fetched here"
        if "--headless" in self.container["args"]:
            return "a worker of a group serves nothing; the leader's command is started"
        if "--data-parallel-multi-port-external-lb" in self.container["args"]:
            return "each copy of the model is an engine; tests/real/engine/test_ranks.py starts fewer of them"
        return self.family.obstacle(self.container["args"], self.version) or self._lack()

    def _lack(self) -> str | None:
        """Return what the command needs that the environments of the judge do not have; None if they have all."""
        text = "\n".join(self.container["args"])
        for row in _lacks():
            is_meant = not engine_versions.is_older(self.version, row.get("since", "0"))
            if is_meant and re.search(row["argument"], text):
                return row["reason"]
        return None

    @cached_property
    def trial(self) -> Trial:
        """Command that the engine gets. Raises LocalError if no build of the version can be installed."""
        process = self.process(installation.version(self.version), ROOT, ADDRESS)
        places = [f" for {mount['mountPath']}" for mount in self.container.get("volumeMounts", ())]
        texts = (adjustment.text for adjustment in process.adjustments)
        adjustments = sorted(text for text in texts if not text.endswith(tuple(places)))
        return Trial(_start_key(self, process)[:KEY_LENGTH], tuple(adjustments))

    def process(self, version: Version, root: Path, address: str) -> EngineCommand:
        """Return the process that stands for the container, with the adjustments to CPUs."""
        return engine_command(
            self._with_group(), version, root, address=address, read_variable=lambda item: _value(item, address)
        )

    def resolved(self, address: str) -> tuple[list[str], dict[str, str]]:
        """Return the container's own arguments and environment, with the values of references and of other sources."""
        return command_and_environment(self._with_group(), read_variable=lambda item: _value(item, address))

    def _with_group(self) -> dict[str, Any]:
        group = [{"name": name, "value": value} for name, value in GROUP.items() if self._refers_to(name)]
        return {**self.container, "env": [*group, *self.container.get("env", ())]}

    def _refers_to(self, name: str) -> bool:
        return any(f"$({name})" in text for text in self.container["args"])


def has_family(model: str) -> bool:
    """Tell whether a small model stands for a model."""
    return any(row.has(model) for row in families())


@cache
def _lacks() -> list[dict[str, str]]:
    return yaml.load(LACKS.read_text(encoding="utf-8"), yaml.CSafeLoader)


@cache
def commands() -> tuple[Command, ...]:
    """Return the distinct commands of everything shipped, in the order of the stacks."""
    return distinct(containers())


def distinct(rows: Iterable[ShippedContainer]) -> tuple[Command, ...]:
    """Return the distinct commands of containers."""
    by_key = dict[tuple[str, str], list[ShippedContainer]]()
    for row in rows:
        by_key.setdefault((row.version, _digest(identity(row.container))), []).append(row)
    return tuple(
        Command(version, same[0].container, tuple(dict.fromkeys(row.origin for row in same)))
        for (version, _), same in by_key.items()
    )


def identity(container: Mapping[str, Any]) -> dict[str, Any]:
    """Return all of a container that its engine sees."""
    return {
        "arguments": [*container["command"], *container["args"]],
        "environment": {item["name"]: item.get("value", item.get("valueFrom")) for item in container.get("env", ())},
        "mounts": [
            {key: mount[key] for key in sorted(mount) if key != "name"} for mount in container.get("volumeMounts", ())
        ],
        "ports": container.get("ports", []),
        "probes": {name: container[name] for name in PROBES if name in container},
    }


def _start_key(command: Command, process: EngineCommand) -> str:
    """Return the check sum of a process, of the probes and of the small model with its requests."""
    model = command.model
    texts = [text.replace(model, "MODEL") for text in process.arguments[1:] if not NUMBERS.fullmatch(text)]
    environment = {name: text for name, text in process.environment.items() if not SAME_START.search(name)}
    probes = identity(command.container)["probes"]
    if "startupProbe" in probes:
        startup = probes["startupProbe"]
        probes["startupProbe"] = {name: value for name, value in startup.items() if not isinstance(value, int)}
    row = command.family
    return _digest([row.architecture, row.config, row.requests, texts, environment, probes])


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _value(item: Mapping[str, Any], address: str) -> str:
    """Return a value for a variable that a container reads elsewhere."""
    source = item["valueFrom"]
    if source.get("fieldRef", {}).get("fieldPath", "").endswith("IP"):
        return address
    return "text"
