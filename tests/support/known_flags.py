"""Flags, variables and JSON values of engines, compared with the tables that were read in the engines' own files."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from planning.releases import engine_flags, engine_kinds
from planning.releases.engine_kinds import EngineKind

VERSION_OF = {"ghcr.io/llm-d/llm-d-cuda:v0.5.1": "0.15.1"}
"""Versions of vLLM in images whose tag is another version."""
FREE_JSON = {"--additional-config", "--hf-overrides"}
"""Flags whose JSON the engine does not check."""
ENCODER_KEYS: dict[str, set[str] | None] = {
    "--ec-transfer-config.ec_connector": None,
    "--ec-transfer-config.ec_connector_extra_config": None,
    "--ec-transfer-config.ec_role": {"ec_producer", "ec_consumer", "ec_both"},
}
"""Keys of the transfer of what encoders put out, with their values, or None for any value (vllm 0.26.0 to 0.32.0,
vllm/config/ec_transfer.py; SHA-256 of that of 0.30.0:
0eabb2c25194676d23c6acf59562672a1dd24415043ac5737d621ce0d681ec70). The table of vLLM has no keys of that file."""
SERVE = ["vllm", "serve"]
SCRIPT_END = 'exec vllm serve "$@"'
"""End of a script that hands its arguments to vLLM."""


@cache
def ranges(group: str) -> dict[str, list[str]]:
    """Return the ranges of versions that know a name, by the names of a group."""
    text = Path("planning/releases/engines/vllm.yaml").read_text(encoding="utf-8")
    table = yaml.load(text, Loader=yaml.CSafeLoader)
    return {name: known.split(", ") for known, names in table[group].items() for name in names}


def order(version: str) -> list[int]:
    """Return what versions are compared by."""
    return [int(number) for number in re.findall(r"\d+", version)]


def is_known(group: str, name: str, version: str) -> bool:
    """Tell whether a version is within one of a name's ranges."""
    for bounds in ranges(group).get(name, []):
        first, _, last = bounds.partition("..")
        if order(first) <= order(version) <= order(last or version):
            return True
    return False


def engine_version(image: str) -> str | None:
    """Return the version of vLLM that an image's name says; None for made-up images of tests."""
    image = image.partition("@")[0]
    found = re.search(r"/vllm-(?:openai|tpu)[a-z-]*:v(\d+\.\d+\.\d+)", image)
    return VERSION_OF.get(image, found and found[1])


def unknown_to_engine(container: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the container of an engine holds that its version does not know."""
    version = engine_version(container["image"])
    if version is None:
        return
    for argument in (token for token in container["args"] if token.startswith("-")):
        flag, _, value = argument.partition("=")
        names = (flag, f"--{flag.removeprefix('--no-')}")
        yield from [] if any(is_known("flags", name, version) for name in names) else [flag]
        is_object = value.startswith("{") and flag not in FREE_JSON
        for key, inner in (json.loads(value) if is_object else {}).items():
            yield from unknown_values(f"{flag}.{key}", inner, version)
    variables = (variable["name"] for variable in container["env"])
    yield from (name for name in variables if name.startswith("VLLM_") and not is_known("variables", name, version))


def unknown_values(key: str, value: object, version: str) -> Iterator[str]:
    """Yield the key of a flag's JSON object, or its value, if a version does not know it."""
    if key in ENCODER_KEYS:
        values = ENCODER_KEYS[key]
        yield from [] if values is None or value in values else [f"{key}={value}"]
        return
    yield from [] if is_known("values", key, version) else [key]
    if any(name.startswith(f"{key}=") for name in ranges("values")):
        yield from [] if is_known("values", f"{key}={value}", version) else [f"{key}={value}"]


def flags_without_a_table(container: Mapping[str, Any]) -> list[str]:
    """Return the flags that a container gives to an engine whose tables lack them. A custom program has no table.

    If the version of the engine is unknown, a flag of any version counts.
    """
    kind = kind_of(container)
    if kind is None:
        return []
    tokens = [*container.get("command", ()), *container.get("args", ())]
    names = {token.partition("=")[0] for token in tokens[len(kind.program) :] if token.startswith("--")}
    return sorted(name for name in names if not _has_flag(kind, name, container["image"]))


def kind_of(container: Mapping[str, Any]) -> EngineKind | None:
    """Return the kind of engine whose program a container runs; None for other programs.

    The arguments of an image without a command may begin with the program.
    """
    tokens = [*container.get("command", ()), *container.get("args", ())]
    if _runs_vllm(container):
        return engine_kinds.kind(engine_kinds.VLLM)
    kinds = (engine_kinds.kind(name) for name in engine_kinds.names())
    return next((kind for kind in kinds if kind.program and tokens[: len(kind.program)] == kind.program), None)


def _has_flag(kind: EngineKind, name: str, image: str) -> bool:
    if kind.vllm_tables:
        version = engine_version(image)
        names = (name, f"--{name.removeprefix('--no-')}")
        return any(ranges("flags").get(text) for text in names if version is None or is_known("flags", text, version))
    table = engine_flags.of_kind(kind)
    assert table is not None
    version = table.version_in(image)
    if version is not None:
        return name in table.flags_of(version)
    return any(name in names for names in table.flags.values())


def containers(manifests: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield every container of workloads."""
    for spec in (manifest.get("spec", {}) for manifest in manifests):
        group = spec.get("leaderWorkerTemplate", {})
        for template in (spec.get("template", {}), group.get("leaderTemplate", {}), group.get("workerTemplate", {})):
            pod = template.get("spec", {})
            yield from [*pod.get("initContainers", []), *pod.get("containers", [])]


def engines(manifests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the containers that run vLLM, with the command that it gets from a script."""
    return [{**container, "command": SERVE} for container in containers(manifests) if _runs_vllm(container)]


def _runs_vllm(container: Mapping[str, Any]) -> bool:
    command = container.get("command", [])
    return command == SERVE or any(word.rstrip().endswith(SCRIPT_END) for word in command)
