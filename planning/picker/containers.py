"""Containers beside the picker in its pods: those of the user."""

from collections.abc import Iterator
from dataclasses import dataclass

from models.paths import Path
from models.picker import EndpointPicker, PickerContainer
from models.problems import Problem
from planning.ground import environment
from planning.ground.environment import Variable
from planning.ground.ports import HEALTH_PORT, METRICS_PORT

PICKER_CONTAINER = "epp"
"""Name of the picker's own container; it never changes, because patches refer to it."""


@dataclass(frozen=True, slots=True)
class Companion:
    """A further container of the picker's pods."""

    name: str
    image: str
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    env: tuple[Variable, ...]
    ports: tuple[int, ...]
    requests: dict[str, str]
    limits: dict[str, str]
    user: int | None
    """User id of its processes. None for the image's own."""


def plan(picker: EndpointPicker) -> tuple[Companion, ...]:
    """Return the further containers of the picker's pods, by name."""
    return tuple(_companion(name, picker.containers[name]) for name in sorted(picker.containers))


def _companion(name: str, container: PickerContainer) -> Companion:
    return Companion(
        name=name,
        image=container.image,
        command=container.command,
        arguments=container.args,
        env=environment.container_variables({}, environment.values(container.env)),
        ports=container.ports,
        requests=container.resources.requests,
        limits=container.resources.limits,
        user=container.run_as_user,
    )


def problems(at: Path, picker: EndpointPicker) -> Iterator[Problem]:
    """Reject containers with the picker's name or with ports that are taken, and references to missing variables."""
    holders = {picker.port: "the picker", HEALTH_PORT: "the picker's health service", METRICS_PORT: "its metrics"}
    for name in sorted(picker.containers):
        container, path = picker.containers[name], at / name
        if name == PICKER_CONTAINER:
            yield Problem(path, f"is the name of the picker's own container ({name})", "choose another")
        for index, port in enumerate(container.ports):
            if port in holders:
                what = f"is the port of {holders[port]} as well ({port})"
                yield Problem(path / "ports" / index, what, "choose another: the containers of a pod share its address")
            holders.setdefault(port, name)
        explicit = environment.values(container.env)
        yield from environment.problems(path / "env", {}, explicit, {})
        yield from environment.dangling_in(path / "command", container.command, explicit)
        yield from environment.dangling_in(path / "args", container.args, explicit)
