"""Containers of vLLM that everything shipped renders to: stack files, examples, profiles, and a service per channel."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from planning.releases import channel, offered_channels
from tests.support import catalogue
from tests.support.known_flags import engines
from tests.support.stacks import SHIPPED, rendered, shipped, tree


@dataclass(frozen=True)
class ShippedContainer:
    """A container of vLLM, and the stack file, profile or channel that it is rendered from."""

    origin: str
    container: dict[str, Any]

    @property
    def model(self) -> str:
        """Name of the model that the container serves."""
        return served_name(self.container)


@cache
def containers() -> tuple[ShippedContainer, ...]:
    """Return the containers of vLLM of everything that is shipped."""
    return tuple(
        ShippedContainer(origin, container) for origin, stack in _stacks() for container in engines(rendered(stack))
    )


def _stacks() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a name and the tree of each stack."""
    for path in SHIPPED:
        yield str(path), shipped(path)
    for key in catalogue.profiles():
        yield f"profile {key}", tree(model=catalogue.service(key))
    for name in offered_channels():
        roles = {"prefill": {}} if channel(name).sidecar else {}
        qwen = {"model": {"source": "hf://Qwen/Qwen3-8B"}, "kvCache": {"events": True}, **roles}
        yield f"channel {name}", tree(qwen=qwen) | {"release": name}


def served_name(container: dict[str, Any]) -> str:
    """Return the first name under which a container of vLLM serves its model."""
    flag = "--served-model-name="
    return next(text.removeprefix(flag) for text in container["args"] if text.startswith(flag))
