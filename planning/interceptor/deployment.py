"""Plan of the interceptor's Deployment: pods, settings, volume, health checks and times."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from models.interceptor import Interceptor, InterceptorDeployment
from models.role import RollingUpdate
from models.vocabulary import seconds
from planning.ground import labels, lifecycle
from planning.ground.awaiting import Wait
from planning.ground.lifecycle import Drain
from planning.interceptor import settings
from planning.interceptor.facts import facts
from planning.variant import connections
from planning.variant.context import VariantContext

USER = 65532
"""User and group of the process. The image itself would run as root."""
WAL_SIZE = "1Gi"
"""Size limit of the volume with the write-ahead log."""
_PRE_STOP = 5
"""Time until the gateway sends no more requests to a terminating pod, in seconds."""
_ROLLOUT = RollingUpdate.default(type="RollingUpdate", max_surge=1, max_unavailable=0)
"""Rollout in which a new pod is ready before an old pod ends, because every metered request passes the interceptor."""


@dataclass(frozen=True, slots=True)
class Check:
    """A health check of the pods. `interval` and `timeout` are in seconds."""

    path: str
    interval: int
    timeout: int | None = None
    failures: int | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """Plan of the interceptor's Deployment and of the objects that belong to it."""

    image: str
    replicas: int
    requests: Mapping[str, str]
    limits: Mapping[str, str]
    settings: str | None
    """Settings as YAML; None if a Secret has them."""
    settings_secret: str | None
    settings_folder: str
    """Folder of the settings in the pod."""
    settings_file: str
    wal_folder: str
    """Mount point of the volume with the write-ahead log."""
    wal_size: str
    mounts_token: bool
    """Whether the pods mount a token. The process needs the token for requests to the API server."""
    selector: Mapping[str, str]
    user: int
    rollout: RollingUpdate
    readiness: Check
    liveness: Check
    pre_stop: int
    grace: int
    """Termination grace period in seconds."""
    start: int
    """Seconds within which a pod becomes ready."""
    wait: Wait
    valkey: str | None
    """Address of the Valkey server that gets the events of metering; None if there is no such server."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return the arguments of the process."""
        return ("-f", f"{self.settings_folder}/{self.settings_file}")

    @property
    def checksum(self) -> str | None:
        """Return the SHA-256 of the settings. A new value restarts the pods. None if a Secret has the settings."""
        if self.settings is None:
            return None
        return hashlib.sha256(self.settings.encode()).hexdigest()


def plan(spec: Interceptor, metered: Iterable[VariantContext]) -> Deployment | None:
    """Return the plan of the Deployment; None if the stack does not deploy its interceptor.

    `metered` are the metered primaries.
    """
    deploy = spec.deploy
    pod = facts().pod
    if deploy is None:
        return None
    grace = seconds(deploy.drain_timeout)
    health = pod.health
    file = None
    if deploy.settings_secret is None:
        namespace = _models_namespace(spec, metered)
        file = settings.text(spec, deploy, namespace, connections.keep_alive_seconds(None))
    return Deployment(
        image=deploy.image,
        replicas=deploy.replicas,
        requests=deploy.resources.requests,
        limits=deploy.resources.limits,
        settings=file,
        settings_secret=deploy.settings_secret,
        settings_folder=pod.settings,
        settings_file=pod.settings_file,
        wal_folder=wal_folder(deploy),
        wal_size=WAL_SIZE,
        mounts_token=spec.mode == "label",
        selector=labels.interceptor_selector(spec.service_name),
        user=USER,
        rollout=_ROLLOUT,
        readiness=Check(health, interval=5),
        liveness=Check(health, interval=10, timeout=2, failures=3),
        pre_stop=_PRE_STOP,
        grace=grace,
        start=lifecycle.PICKER_START,
        wait=Wait(lifecycle.wait_seconds(_ROLLOUT, deploy.replicas, lifecycle.PICKER_START, _drain(grace))),
        valkey=deploy.emit.valkey_addr,
    )


def wal_folder(deploy: InterceptorDeployment) -> str:
    """Return the folder of the write-ahead log. A volume is mounted at this folder."""
    return deploy.emit.wal_path.rpartition("/")[0]


def _models_namespace(spec: Interceptor, metered: Iterable[VariantContext]) -> str | None:
    """Return the only namespace in which the interceptor searches for Services; None if it does not search.

    The interceptor does not search in mode header, and does not search if no service is metered.
    """
    namespaces = sorted({variant.namespace for variant in metered})
    if spec.mode == "label" and namespaces:
        return namespaces[0]
    return None


def _drain(grace: int) -> Drain:
    return Drain(_PRE_STOP, None, 0, grace)
