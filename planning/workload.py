"""One role's workload: a Deployment, or a LeaderWorkerSet where a replica spans pods."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.accelerators import ResourceClaim
from models.role import Recreate, Role, RollingUpdate
from models.service import Prefill, Service
from models.stack import Stack
from planning import autoscaling, devices, engine, labels, lifecycle, placement, resources, sidecar, sources, storage
from planning.accelerators import AcceleratorClass
from planning.autoscaling import Autoscaler
from planning.devices import Layout
from planning.engine import EnginePlan
from planning.lifecycle import Drain
from planning.names import Names
from planning.placement import Placement
from planning.releases import Release
from planning.sidecar import SidecarPlan
from planning.sources import Weights


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the pods are, and what they look like from outside."""

    service_account: str | None
    """The user's, or the workload's own; absent: the namespace's default, without a token."""
    image_pull_secrets: tuple[str, ...]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    run_as_user: int
    fs_group: int


@dataclass(frozen=True, slots=True)
class Workload:
    """The pods of one role."""

    role: str
    name: str
    path: str
    """Where the role stands in the configuration."""
    replicas: int | None
    """Absent: the autoscaler owns the number."""
    autoscaler: Autoscaler | None
    accelerator: AcceleratorClass
    layout: Layout
    engine: EnginePlan
    weights: Weights
    sidecar: SidecarPlan | None
    placement: Placement
    identity: Identity
    shared_memory: str
    drain: Drain
    rollout: RollingUpdate | Recreate
    disruptions: int | None
    """Pods that evictions may take at a time; absent: no budget."""
    progress_deadline: int
    """Seconds without progress after which Kubernetes calls the rollout failed."""
    wait: int
    """Seconds that a deployment run waits for it."""
    patch: Mapping[str, Any]

    @property
    def claim(self) -> ResourceClaim | None:
        """Return the claim on devices, where they are claimed instead of counted."""
        allocation = self.accelerator.allocation
        return allocation if isinstance(allocation, ResourceClaim) and self.layout.devices_per_pod else None

    @property
    def most(self) -> int:
        """Return how many replicas there may be."""
        return self.autoscaler.most if self.autoscaler is not None else self.replicas or 0

    @property
    def kind(self) -> str:
        """Return the kind of the workload object."""
        return "LeaderWorkerSet" if self.layout.pods_per_replica > 1 else "Deployment"


@dataclass(frozen=True, slots=True)
class Context:
    """What the roles of one service share."""

    path: str
    names: Names
    service: Service
    stack: Stack
    release: Release
    classes: Mapping[str, AcceleratorClass]


def decode(context: Context) -> Workload:
    """Decide the decode, or only, role. Class, image and layout are known to be sound (`planning.checks`)."""
    service, proxy = context.service, None
    if service.prefill is not None:
        proxy = sidecar.plan(service, context.names, context.release, context.stack.observability.tracing)
    return _plan(context, service, labels.DECODE, proxy)


def prefill(context: Context, role: Prefill) -> Workload:
    """Decide the prefill role."""
    return _plan(context, role, labels.PREFILL, None)


def _plan(context: Context, role: Role, name: str, proxy: SidecarPlan | None) -> Workload:
    service, own = context.service, context.names
    accelerator = context.classes[role.accelerator]
    layout = devices.layout(role.parallelism, role.accelerator_memory, accelerator)
    drains = context.release.engine.shutdown_timeout is not None and not engine.custom(service, role)
    drained = lifecycle.drain(service.drain_timeout, engine_drains=drains)
    deadline = lifecycle.fetch(service.model.size) + lifecycle.startup(role.health, service.model.size)
    workload_name = own.decode if name == labels.DECODE else own.prefill
    selector = labels.role_selector(own.base, name)
    budget = role.disruption_budget
    path = context.path if name == labels.DECODE else f"{context.path}.prefill"
    autoscaler = autoscaling.plan(path, role, context.stack, context.release)
    most = role.replicas if autoscaler is None else autoscaler.most
    wanted = engine.Wanted(
        role=role,
        name=name,
        workload=workload_name,
        accelerator=accelerator,
        layout=layout,
        drain=drained,
        listens=service.engine.port if proxy is None else proxy.engine_port,
    )
    return Workload(
        role=name,
        name=workload_name,
        path=path,
        replicas=role.replicas if autoscaler is None else None,
        autoscaler=autoscaler,
        accelerator=accelerator,
        layout=layout,
        engine=engine.plan(wanted, service, context.release, context.stack.observability.tracing),
        weights=sources.plan(
            service.model,
            storage.kept(service, context.stack, own),
            context.stack.images,
            context.release,
            identity=role.pod.service_account_name is not None,
        ),
        sidecar=proxy,
        placement=placement.plan(role.pod, accelerator, selector),
        identity=_identity(role, workload_name if proxy is not None else None),
        shared_memory=resources.shared_memory(role.pod.shared_memory, layout.devices_per_pod),
        drain=drained,
        rollout=role.rollout,
        disruptions=budget.max_unavailable if budget.enabled and most > 1 else None,
        progress_deadline=deadline,
        wait=lifecycle.wait(role.rollout, most, deadline, drained),
        patch=role.patch,
    )


def _identity(role: Role, own_account: str | None) -> Identity:
    pod = role.pod
    return Identity(
        service_account=pod.service_account_name or own_account,
        image_pull_secrets=tuple(secret.name for secret in pod.image_pull_secrets),
        labels=pod.labels,
        annotations=pod.annotations,
        run_as_user=pod.run_as_user,
        fs_group=pod.fs_group,
    )
