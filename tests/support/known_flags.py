"""Flags, variables and JSON values of engines, compared with the tables that were read in vLLM's wheels."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

VERSION_OF = {"ghcr.io/llm-d/llm-d-cuda:v0.5.1": "0.15.1"}
"""Versions of vLLM in images whose tag is another version."""
FREE_JSON = {"--additional-config", "--hf-overrides"}
"""Flags whose JSON the engine does not check."""
SERVE = ["vllm", "serve"]


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
    yield from [] if is_known("values", key, version) else [key]
    if any(name.startswith(f"{key}=") for name in ranges("values")):
        yield from [] if is_known("values", f"{key}={value}", version) else [f"{key}={value}"]


def containers(manifests: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield every container of workloads."""
    for spec in (manifest.get("spec", {}) for manifest in manifests):
        group = spec.get("leaderWorkerTemplate", {})
        for template in (spec.get("template", {}), group.get("leaderTemplate", {}), group.get("workerTemplate", {})):
            pod = template.get("spec", {})
            yield from [*pod.get("initContainers", []), *pod.get("containers", [])]


def engines(manifests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the containers that run vLLM."""
    return [container for container in containers(manifests) if container.get("command") == SERVE]
