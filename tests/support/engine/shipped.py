"""Containers of vLLM that everything shipped renders to: stack files, examples, profiles, and a service per channel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from local.vllm import installation
from models.problems import ConfigError
from planning.releases import channel, offered_channels
from planning.releases.engine_versions import number_in
from tests.support import catalogue
from tests.support.known_flags import engines
from tests.support.stacks import SHIPPED, rendered, shipped, tree

IMAGE = "vllm/vllm-openai:v{version}"
SOURCE = {"name": "Qwen/Qwen3-8B", "source": "kit://registry.example/qwen3:8b"}


@dataclass(frozen=True)
class ShippedContainer:
    """A container of vLLM, and the stack file, profile or channel that it is rendered from."""

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

    These are the version of its image, and the versions of `versions.toml` for services that name no image of their
    own. A stack is left out with a version for which it is refused.
    """
    rows = [*_containers(None)]
    for version in installation.versions():
        rows += [row for row in _containers(version) if row.version == version]
    return tuple(rows)


def _containers(version: str | None) -> Iterator[ShippedContainer]:
    for origin, stack in _stacks():
        try:
            manifests = rendered(_with_version(stack, version))
        except ConfigError:
            if version is None:
                raise
            continue
        yield from (ShippedContainer(origin, container) for container in engines(manifests))


def _with_version(stack: Mapping[str, Any], version: str | None) -> dict[str, Any]:
    """Return a stack whose services run a version of vLLM, unless they name an image or kind of engine themselves."""
    if version is None:
        return dict(stack)
    services = dict[str, Any]()
    for key, service in stack["services"].items():
        engine = {"image": IMAGE.format(version=version)} | service.get("engine", {})
        services[key] = service if "type" in engine else service | {"engine": engine}
    return {**stack, "services": services}


def _stacks() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a name and the tree of each stack."""
    for path in SHIPPED:
        yield str(path), shipped(path)
    for key in catalogue.profiles():
        yield f"profile {key}", tree(model=catalogue.service(key))
    for name in offered_channels():
        roles = {"prefill": {}} if channel(name).sidecar else {}
        yield f"channel {name}", tree(qwen={"model": SOURCE, "kvCache": {"events": True}, **roles}) | {"release": name}


def served_name(container: Mapping[str, Any]) -> str:
    """Return the first name under which a container of vLLM serves its model."""
    flag = "--served-model-name="
    return next(text.removeprefix(flag) for text in container["args"] if text.startswith(flag))
