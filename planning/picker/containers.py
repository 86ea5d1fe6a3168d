"""Further containers in the picker's pods: containers that a user adds, and servers of a latency predictor."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.containers import Resources
from models.paths import Path
from models.picker import EndpointPicker, PickerContainer, PredictorDeployment
from models.problems import Problem
from planning.ground import environment
from planning.ground.environment import Variable
from planning.ground.ports import HEALTH_PORT, METRICS_PORT
from planning.releases.picker_facts import PredictorServer, PredictorServers

PICKER_CONTAINER = "epp"
"""Name of the picker's own container. The name never changes, because patches refer to it."""


TRAINING = "training-server"
PREDICTION = "prediction-server"
"""Names of the containers of a latency predictor."""
_PREDICTOR_USER = 1000
"""User id of the processes of a latency predictor. The images name no user; the processes write only to the mounted
folder."""


@dataclass(frozen=True, slots=True)
class ScratchFolder:
    """A folder that a container writes to; it is empty when the pod starts."""

    path: str
    size: str
    """Maximum size."""


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
    """User id of the container's processes. None for the user that the image names."""
    folder: ScratchFolder | None = None
    """Folder that the container writes to. None if it writes to none."""
    live_path: str | None = None
    """HTTP path of the liveness probe on the first of `ports`. None for no probe."""


def plan(at: Path, picker: EndpointPicker, servers: PredictorServers | None) -> tuple[Companion, ...]:
    """Return the further containers of the picker's pods: first those of the user, at `at`, sorted by name.

    The `servers` of a predictor follow. `servers` is None if no predictor is deployed.
    """
    predictor = ()
    spec = picker.latency_predictor
    if servers is not None and spec is not None and spec.deploy is not None:
        predictor = _predictor(spec.deploy, servers)
    explicit = (_companion(at / name, name, picker.containers[name]) for name in sorted(picker.containers))
    return (*explicit, *predictor)


def address(server: PredictorServer) -> str:
    """Return the URL by which other containers of the same pod reach a server of the predictor."""
    return f"http://localhost:{server.port}"


def _predictor(deployment: PredictorDeployment, servers: PredictorServers) -> tuple[Companion, Companion]:
    """Return the servers of a latency predictor.

    The servers have no readiness probe: with such a probe, the pod would not be ready while the predictor learns, and
    the picker would get no requests.
    """
    training = servers.training
    prediction = servers.prediction
    learning = _server(TRAINING, training, deployment.training_image, deployment.training_resources, {})
    connected = {
        servers.address_variable: address(training),
        servers.workers_variable: str(deployment.prediction_workers),
    }
    image = deployment.prediction_image
    resources = deployment.prediction_resources
    return learning, _server(PREDICTION, prediction, image, resources, connected)


def _server(
    name: str, server: PredictorServer, image: str | None, resources: Resources, env: Mapping[str, str]
) -> Companion:
    return Companion(
        name=name,
        image=image or server.ref,
        command=(),
        arguments=(),
        env=environment.container_variables({**server.env, **env}, {}, Path()),
        ports=(server.port,),
        requests=resources.requests,
        limits=resources.limits,
        user=_PREDICTOR_USER,
        folder=ScratchFolder(server.folder, server.folder_size),
        live_path=server.health_path,
    )


def _companion(at: Path, name: str, container: PickerContainer) -> Companion:
    return Companion(
        name=name,
        image=container.image,
        command=container.command,
        arguments=container.args,
        env=environment.container_variables({}, environment.values(container.env), at / "env"),
        ports=container.ports,
        requests=container.resources.requests,
        limits=container.resources.limits,
        user=container.run_as_user,
    )


def judge(at: Path, picker: EndpointPicker, servers: PredictorServers | None) -> Iterator[Problem]:
    """Reject containers whose name or port is already used in the pod, and references to missing variables."""
    holders = {
        picker.port: "the picker",
        HEALTH_PORT: "the picker's health service",
        METRICS_PORT: "the picker's metrics",
    }
    names = {PICKER_CONTAINER: "the picker's own container"}
    if servers is not None:
        names |= dict.fromkeys((TRAINING, PREDICTION), "a container of the latency predictor")
        holders |= dict.fromkeys((servers.training.port, servers.prediction.port), "the latency predictor")
    for name in sorted(picker.containers):
        container = picker.containers[name]
        path = at / name
        if name in names:
            yield Problem(path, f"is the name of {names[name]} ({name})", "choose another name")
        for index, port in enumerate(container.ports):
            if port in holders:
                what = f"is the port of {holders[port]} as well ({port})"
                yield Problem(path / "ports" / index, what, "choose another port: each port is for one container")
            holders.setdefault(port, f"container {name}")
        explicit = environment.values(container.env)
        yield from environment.problems(path / "env", {}, explicit, {})
        yield from environment.dangling_in(path / "command", container.command, explicit)
        yield from environment.dangling_in(path / "args", container.args, explicit)
