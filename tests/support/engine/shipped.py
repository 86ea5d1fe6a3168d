"""Containers of vLLM that everything shipped renders to: stack files, examples, guides, profiles, and channels.

Stacks that tests keep are there too: those with words that no shipped stack has, and those that say llm-d's guides.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from local.vllm import installation
from models.problems import ConfigError
from planning.releases import channel, offered_channels, repository_and_tag
from planning.releases.engine_versions import number_in
from tests.support import catalogue
from tests.support.known_flags import engines
from tests.support.stacks import SHIPPED, WORDS, rendered, shipped, tree

IMAGE = "vllm/vllm-openai:v{version}"
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROWS = sorted(Path("tests/guides/rows").glob("*/stack.yaml"))
"""Stacks that do what llm-d's guides do."""
GUIDES = [Path("README.md"), *sorted(Path("docs").glob("*.md"))]
PLUGINS = ("vllm-tpu", "vllm-ascend", "llm-d-xpu")
"""Repositories of images whose vLLM has plugins for their devices. No other image can run their commands."""
SOURCE = {"name": "Qwen/Qwen3-8B", "source": "kit://registry.example/qwen3:8b"}


@dataclass(frozen=True)
class ShippedContainer:
    """A container of vLLM, and the stack file, guide, profile or channel that it is rendered from."""

    origin: str
    container: dict[str, Any]

    @property
    def model(self) -> str:
        """Name of the model that the container serves."""
        return served_name(self.container)

    @property
    def version(self) -> str:
        """Version of vLLM in the image of the container."""
        return number_in(self.container["image"]) or ""


@cache
def containers() -> tuple[ShippedContainer, ...]:
    """Return the containers of vLLM of everything that is shipped, once with each version that it may be run with.

    These are the version of its image, and the versions of `versions.toml`, as images that a user may name. A stack is
    left out with a version for which it is refused.
    """
    rows = [*_containers(None)]
    for version in installation.versions():
        rows += [row for row in _containers(version) if row.version == version]
    return tuple(rows)


def _containers(version: str | None) -> Iterator[ShippedContainer]:
    for origin, stack in stacks():
        if not _runs_vllm(stack):
            continue
        try:
            manifests = rendered(_with_version(stack, version))
        except ConfigError:
            if version is None:
                raise
            continue
        yield from (ShippedContainer(origin, container) for container in engines(manifests))


def _with_version(stack: Mapping[str, Any], version: str | None) -> dict[str, Any]:
    """Return a stack whose services run a version of vLLM.

    Those that name another kind of engine, or an image with plugins, stay as they are.
    """
    if version is None:
        return dict(stack)
    image = IMAGE.format(version=version)
    services = dict[str, Any]()
    for key, service in stack["services"].items():
        engine = service.get("engine", {})
        repository, _ = repository_and_tag(engine.get("image", image))
        is_fixed = "type" in engine or repository in PLUGINS
        services[key] = service if is_fixed else service | {"engine": engine | {"image": image}}
    return {**stack, "services": services}


def stacks() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a name and the tree of each stack."""
    for path in (*SHIPPED, *WORDS, *ROWS):
        yield str(path), shipped(path)
    for path in GUIDES:
        for index, stack in enumerate(_guide(path)):
            yield f"{path}, {index + 1}", stack
    for key in catalogue.profiles():
        yield f"profile {key}", tree(model=catalogue.service(key))
    for name in offered_channels():
        roles = {"prefill": {}} if channel(name).sidecar else {}
        yield f"channel {name}", tree(qwen={"model": SOURCE, "kvCache": {"events": True}, **roles}) | {"release": name}


def _runs_vllm(stack: Mapping[str, Any]) -> bool:
    """Tell whether a service of a stack may run vLLM."""
    return any(_may_run_vllm(service) for service in stack["services"].values())


def _may_run_vllm(service: Mapping[str, Any]) -> bool:
    source = str(service.get("model", SOURCE).get("source"))
    return "type" not in service.get("engine", {}) and not source.startswith("image://")


def _guide(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the stacks in a guide. Those that extend files or select profiles are no stacks by themselves."""
    for block in BLOCK.findall(path.read_text(encoding="utf-8")):
        for document in yaml.safe_load_all(block):
            stack = document.get("config", {}).get("inference-stacks:stack", document)
            services = stack.get("services", {})
            sources = [service.get("model", SOURCE).get("source") for service in services.values()]
            if services and all(sources) and "extends" not in stack:
                named = {key: {"model": SOURCE, **_whole(service)} for key, service in services.items()}
                yield tree(**named) | {key: value for key, value in stack.items() if key != "services"}


def _whole(service: Mapping[str, Any]) -> dict[str, Any]:
    """Return a service whose picker has a preset if a guide leaves out the configuration of a picker."""
    picker = service.get("endpointPicker", {})
    if picker.get("preset") != "custom" or "config" in picker:
        return dict(service)
    return {**service, "endpointPicker": {key: value for key, value in picker.items() if key != "preset"}}


def served_name(container: Mapping[str, Any]) -> str:
    """Return the first name under which a container of vLLM serves its model."""
    flag = "--served-model-name="
    return next(text.removeprefix(flag) for text in container["args"] if text.startswith(flag))
