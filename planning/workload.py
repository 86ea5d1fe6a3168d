"""The serving pods of one role: devices, resources, timing and the weights' unpacking."""

from dataclasses import dataclass

from models.service import Health, Service
from models.vocabulary import amount, seconds
from planning import accelerators, engine
from planning.releases import Release

_CPU, _MEMORY, _MEMORY_LIMIT, _SHARED_MEMORY = 4, 32, 48, 8
"""Defaults per device: cores, and Gi of requested, limited and shared memory."""
_FETCH_SECONDS = 1800
"""Time for images and weights to arrive, before the startup probe begins to count."""
_MARGIN_SECONDS = 60
"""The wait outlives the Deployment's own deadline, so that Kubernetes' reason is the one that is reported."""


@dataclass(frozen=True, slots=True)
class Unpack:
    """The init container that unpacks the ModelKit."""

    image: str
    reference: str
    """The OCI reference without its scheme."""
    insecure: bool
    secret: str | None


@dataclass(frozen=True, slots=True)
class Probes:
    """The probes of the engine container; times in seconds."""

    path: str
    liveness_path: str
    interval: int
    timeout: int
    failure_threshold: int
    startup_failures: int


@dataclass(frozen=True, slots=True)
class Workload:
    """One serving Deployment."""

    replicas: int
    image: str
    arguments: tuple[str, ...]
    port: int
    probes: Probes
    unpack: Unpack
    requests: dict[str, str]
    limits: dict[str, str]
    devices: tuple[str, int] | None
    """Extended resource and its count in one pod."""
    vendor: str
    product: str | None
    node_labels: dict[str, tuple[str, ...]]
    shared_memory: str
    run_as_user: int
    fs_group: int
    progress_deadline: int
    """Seconds without progress after which Kubernetes calls the rollout failed."""
    wait: int
    """Seconds that a deployment run waits for it."""


def plan(service: Service, release: Release) -> Workload:
    """Decide the decode pods of one service. Its class and image are known to exist (`planning.checks`)."""
    accelerator = accelerators.classes()[service.accelerator]
    count = accelerators.devices_per_pod(service)
    requests, limits = _resources(service, max(count, 1))
    deadline = _FETCH_SECONDS + seconds(service.health.startup_timeout)
    return Workload(
        replicas=service.replicas,
        image=service.engine.image or release.images.engine[accelerator.vendor].ref,
        arguments=engine.arguments(service),
        port=service.engine.port,
        probes=_probes(service.health),
        unpack=_unpack(service, release),
        requests=requests,
        limits=limits,
        devices=(accelerator.resource, count) if accelerator.resource is not None else None,
        vendor=accelerator.vendor,
        product=accelerator.product,
        node_labels={label: tuple(values) for label, values in accelerator.node_labels.items()},
        shared_memory=service.pod.shared_memory or (f"{_SHARED_MEMORY * count}Gi" if count else "1Gi"),
        run_as_user=service.pod.run_as_user,
        fs_group=service.pod.fs_group,
        progress_deadline=deadline,
        wait=deadline + _MARGIN_SECONDS,
    )


def _unpack(service: Service, release: Release) -> Unpack:
    return Unpack(
        image=release.images.kit.ref,
        reference=service.model.source.removeprefix("kit://"),
        insecure=service.model.insecure,
        secret=next(iter(service.model.secrets), None),
    )


def _probes(health: Health) -> Probes:
    interval = seconds(health.interval)
    return Probes(
        path=health.path,
        liveness_path=health.liveness_path,
        interval=interval,
        timeout=seconds(health.timeout),
        failure_threshold=health.failure_threshold,
        startup_failures=-(-seconds(health.startup_timeout) // interval),
    )


def _resources(service: Service, factor: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return requests and limits: the user's, over defaults that give way where they would contradict."""
    own_requests, own_limits = service.resources.requests, service.resources.limits
    requests = {"cpu": f"{_CPU * factor}", "memory": f"{_MEMORY * factor}Gi", **own_requests}
    limits = {"memory": f"{_MEMORY_LIMIT * factor}Gi", **own_limits}
    for name in requests.keys() & limits.keys():
        if amount(requests[name]) > amount(limits[name]):
            if name in own_limits:
                requests[name] = limits[name]
            else:
                limits[name] = requests[name]
    return requests, limits
