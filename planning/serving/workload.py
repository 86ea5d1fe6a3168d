"""Workload of a role: a Deployment, or a LeaderWorkerSet if a replica spans pods."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.accelerators import ResourceClaim
from models.paths import Path
from models.role import Recreate, Role, RollingUpdate
from planning.fit.memory import Fit
from planning.ground import labels, lifecycle, loading
from planning.ground.api_groups import DEPLOYMENT_API, LEADER_WORKER_SET_API
from planning.ground.awaiting import CURRENT, ROLLED_OUT, Wait
from planning.ground.cluster_facts import Unknown
from planning.ground.lifecycle import Drain
from planning.ground.loading import Loading
from planning.ground.stages import RequestStage
from planning.hardware import placement
from planning.hardware.accelerators import AcceleratorClass
from planning.hardware.devices import Layout
from planning.hardware.placement import Placement
from planning.serving import additions, autoscaling, cold_start, engine, pod_claims, shared_memory, sidecar
from planning.serving.additions import PodAdditions
from planning.serving.autoscaling import Autoscaler
from planning.serving.cold_start import ColdStart, RequestTimes
from planning.serving.context import EngineContext
from planning.serving.engine import EnginePlan
from planning.serving.pod_claims import PodClaims
from planning.serving.sidecar import SidecarPlan
from planning.variant.context import RoleContext, max_replicas
from planning.weights import sources
from planning.weights.sources import Location, Weights

_GROUPS_READY = (
    f"jsonpath={{.status.conditions[?(@.type=='Available' && {CURRENT})].status}}=True",
    f"jsonpath={{$[?({CURRENT} && !(@.replicas>$.spec.replicas))].observedGeneration}}",
)
"""Conditions of a ready LeaderWorkerSet: available at its current `metadata.generation`, and without surplus replicas.

The LeaderWorkerSet controller reports the `observedGeneration` from version 0.9 on.
"""


@dataclass(frozen=True, slots=True)
class PodSettings:
    """Service account, pull secrets, metadata and user of a workload's pods."""

    service_account: str | None
    """Service account of the pods: an existing account, or an account that the stack creates for the workload.

    None for the default account of the namespace. Of the containers, only the sidecar gets a token of the account.
    """
    makes_account: bool
    """Whether the stack creates the service account for the workload."""
    image_pull_secrets: tuple[str, ...]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    run_as_user: int
    fs_group: int
    supplemental_groups: tuple[int, ...] | None
    """Supplemental groups of the containers' processes; None if the user sets no list. An empty list counts as set."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The workload object of one role, and its pods."""

    role: str
    stage: RequestStage
    """Stage of a request that the pods process."""
    set_name: str
    """Name of the set of pods; empty if all pods of the stage are one set."""
    name: str
    path: Path
    """Place of the role in the configuration."""
    replicas: int | None
    """Number of replicas; None if an autoscaler decides it."""
    max_replicas: int
    autoscaler: Autoscaler | None
    accelerator: AcceleratorClass
    layout: Layout
    fit: Fit | Unknown
    """Memory that the model needs on each device, or the reason why that memory is unknown."""
    engine: EnginePlan
    exposures: frozenset[str]
    """Ids of the advisories that the engine meets in the versions that they affect."""
    target_ports: tuple[int, ...]
    """Ports on which the pods get requests from the pool."""
    weights: Weights
    sidecar: SidecarPlan | None
    placement: Placement
    pod_settings: PodSettings
    additions: PodAdditions
    """Further volumes, containers and privileges of the pods."""
    claims: PodClaims
    loading: Loading
    """Way in which the engine gets its weights."""
    shared_memory: str
    """Size of /dev/shm."""
    drain: Drain
    cold_start: ColdStart
    """Times from the first waiting request to a ready pod, and to the end of the pod."""
    rollout: RollingUpdate | Recreate
    disruptions: int | None
    """Maximum number of pods that may be evicted at the same time; None for no disruption budget."""
    progress_deadline: int
    """Seconds without progress after which Kubernetes marks the rollout as failed."""
    wait: Wait
    patch: Mapping[str, Any]

    @property
    def claims_devices(self) -> bool:
        """Tell whether the pods claim the devices of their accelerator class."""
        return isinstance(self.accelerator.allocation, ResourceClaim) and bool(self.layout.devices_per_pod)

    @property
    def engine_port_names(self) -> tuple[str, ...]:
        """Return the names of the engine's ports. Requests and scrapers use the same ports."""
        first = "engine" if self.sidecar else "http"
        return port_names(first, len(self.engine.ports))

    @property
    def api_version(self) -> str:
        """Return the API version of the workload object."""
        return {"LeaderWorkerSet": LEADER_WORKER_SET_API, "Deployment": DEPLOYMENT_API}[self.kind]

    @property
    def kind(self) -> str:
        """Return the kind of the workload object."""
        if self.layout.pods_per_replica > 1:
            return "LeaderWorkerSet"
        return "Deployment"


def port_names(first: str, count: int) -> tuple[str, ...]:
    """Return the names of a container's ports: `first`, `<first>-1`, `<first>-2` and so on."""
    return first, *(f"{first}-{rank}" for rank in range(1, count))


def plan(serving: EngineContext, location: Location, requests: RequestTimes) -> Workload:
    """Return the workload of a role. The rules have checked the role's class, image and layout."""
    context = serving.role
    variant = context.variant
    role = context.role
    deadline = _deadline(context)
    autoscaler = autoscaling.plan(context)
    weights = _weights(context, location)
    engine_plan = engine.plan(serving)
    added = additions.plan(context.path / "pod", role.pod, engine_plan.name, context.workload)
    sidecar_plan = account = None
    if context.is_proxied:
        sidecar_plan = sidecar.plan(context)
        account = variant.names.decode
    return Workload(
        role=context.name,
        stage=context.stage,
        set_name=context.place.set_name,
        name=context.workload,
        path=context.path,
        replicas=_replicas(role),
        max_replicas=max_replicas(role),
        autoscaler=autoscaler,
        accelerator=context.accelerator,
        layout=context.layout,
        fit=serving.fit,
        engine=engine_plan,
        exposures=serving.exposure.ids,
        target_ports=context.target_ports,
        weights=weights,
        sidecar=sidecar_plan,
        placement=placement.plan(role.pod, context.accelerator, labels.role_selector(variant.names, context.name)),
        pod_settings=_pod_settings(context, account),
        additions=added,
        claims=pod_claims.plan(context),
        loading=loading.of(variant.spec),
        shared_memory=shared_memory.size(context),
        drain=context.drain,
        cold_start=cold_start.plan(context, weights, requests),
        rollout=role.rollout,
        disruptions=_disruptions(role),
        progress_deadline=deadline,
        wait=_wait(context, deadline, added),
        patch=role.patch,
    )


def _deadline(context: RoleContext) -> int:
    """Return the seconds in which a pod must fetch and load its model."""
    spec = context.variant.spec
    size = spec.model.size
    return lifecycle.fetch_seconds(size) + lifecycle.startup_seconds(context.role.health, size, loading.of(spec))


def _replicas(role: Role) -> int | None:
    """Return the number of replicas; None if an autoscaler decides it."""
    if role.autoscaling is not None:
        return None
    return role.replicas


def _disruptions(role: Role) -> int | None:
    """Return how many pods may be evicted at the same time; None for a role without a disruption budget."""
    budget = role.disruption_budget
    if not budget.enabled or max_replicas(role) <= 1:
        return None
    return budget.max_unavailable


def _wait(context: RoleContext, deadline: int, added: PodAdditions) -> Wait:
    """Return the wait for a workload.

    If the pods have files, the wait lasts until no former pods are left, because the run then deletes their files.
    """
    seconds = lifecycle.wait_seconds(context.role.rollout, max_replicas(context.role), deadline, context.drain)
    if context.layout.pods_per_replica > 1:
        return Wait(seconds, conditions=_GROUPS_READY)
    if context.variant.stack.upgrades is not None or added.files is not None:
        return Wait(seconds, conditions=ROLLED_OUT)
    return Wait(seconds)


def _weights(context: RoleContext, location: Location) -> Weights:
    """Return the weights of a role's pods, with the containers that fetch them."""
    variant = context.variant
    source = sources.WeightSource(
        variant.spec.model,
        variant.path / "model",
        variant.stack.images,
        variant.release,
        identity=context.role.pod.service_account_name is not None,
        retries=context.layout.pods_per_replica > 1,
        fetches_all=not context.kind.vllm_tables,
    )
    return sources.plan(source, location)


def _pod_settings(context: RoleContext, workload_account: str | None) -> PodSettings:
    """Return the settings of a role's pods.

    `workload_account` is the service account that the stack creates if the role names none; None if the pods need none.
    """
    pod = context.role.pod
    account = pod.service_account_name or workload_account
    return PodSettings(
        service_account=account,
        makes_account=account is not None and account == workload_account,
        image_pull_secrets=tuple(secret.name for secret in pod.image_pull_secrets),
        labels={**_engine_label(context), **context.place.labels},
        annotations=pod.annotations,
        run_as_user=pod.run_as_user,
        fs_group=pod.fs_group,
        supplemental_groups=pod.supplemental_groups,
    )


def _engine_label(context: RoleContext) -> dict[str, str]:
    """Return the label by which the picker chooses the names of metrics; empty if it needs none, or knows none."""
    label = context.variant.release.picker.engine_label
    if label is None or context.kind.label is None:
        return {}
    return {label: context.kind.label}
