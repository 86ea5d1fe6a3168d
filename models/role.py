"""Specs of a role: the engine and its pods. The keys of a service are those of its decode role, or of its only role."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.autoscaling import Autoscaling
from models.base import Spec
from models.env import EnvName, EnvValue
from models.kubernetes import LocalObjectReference, Toleration
from models.vocabulary import (
    AbsolutePath,
    Count,
    CountOrNone,
    DnsSubdomain,
    Duration,
    ImageRef,
    Items,
    KubernetesObject,
    LabelKey,
    LabelValue,
    Port,
    Quantity,
    Share,
    Text,
    Within,
    milliseconds,
    refuse,
    seconds,
)

_SECOND = 1000
"""Shortest interval and timeout of a probe, in milliseconds."""


class Engine(Spec):
    """The inference server's container."""

    type: Literal["vllm", "custom"] | None = Field(default=None, examples=["custom"])
    """custom: the image's own entrypoint, without generated arguments, environment or drain; absent: custom for
    image://, else vllm."""
    image: ImageRef | None = Field(default=None, examples=["registry.example/vllm-openai:v0.21.0"])
    """The engine's image; absent: the release channel's for this accelerator vendor."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = Field(default=None, examples=["Always"])
    """Pull policy of the engine's image; absent: Kubernetes' own default."""
    port: Port = 8000
    """Port that the pool and the Service reach."""
    max_num_seqs: Count | None = Field(default=None, examples=[256])
    """Sequences in one batch at most (`--max-num-seqs`); absent: the engine's own."""
    gpu_memory_utilization: Share = 0.9
    """Share of a device's memory that the engine may use (`--gpu-memory-utilization`)."""
    args: Items[Text] = Field(default=(), examples=[["--enforce-eager"]])
    """Arguments of the engine, after the generated ones. A flag that has a field here is refused."""
    env: dict[EnvName, EnvValue] = Field(default={}, examples=[{"VLLM_LOGGING_LEVEL": "INFO"}])
    """Environment of the engine: a string, or a reference to a Secret, a ConfigMap or a field of the pod."""


class Parallelism(Spec):
    """How one replica is spread over devices; a pod takes tensor times dataLocal of them for each pipeline stage."""

    tensor: Count | None = Field(default=None, examples=[4])
    """Devices that share every layer (`--tensor-parallel-size`); absent: chosen by acceleratorMemory, else 1."""
    pipeline: Count = 1
    """Stages that hold a part of the layers each; they share a pod while they fit a node, else have one pod each."""
    data: Count = 1
    """Copies of the model that share requests (`--data-parallel-size`)."""
    data_local: Count | None = Field(default=None, examples=[8])
    """Copies in one pod (`--data-parallel-size-local`); absent: all of them."""
    expert: bool = False
    """Spread the experts of a mixture over all devices (`--enable-expert-parallel`)."""


class Resources(Spec):
    """Requests and limits of a container. Devices are decided by `parallelism`."""

    requests: dict[LabelKey, Quantity] = Field(default={}, examples=[{"cpu": "8"}])
    """Resources that the scheduler reserves."""
    limits: dict[LabelKey, Quantity] = Field(default={}, examples=[{"memory": "64Gi"}])
    """Most that the container may use."""


class Placed(Spec):
    """Placement and metadata of pods, by the names of PodSpec."""

    node_selector: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"topology.kubernetes.io/zone": "eu-1a"}])
    """Labels that a node has to carry."""
    tolerations: Items[Toleration] = Field(default=(), examples=[[{"key": "batch", "operator": "Exists"}]])
    """Taints that the pods tolerate; those of an accelerator class are tolerated besides."""
    affinity: KubernetesObject = Field(default={}, examples=[{"podAntiAffinity": {}}])
    """Affinity, as PodSpec has it; the nodes of an accelerator class are required besides."""
    topology_spread_constraints: Items[KubernetesObject] = Field(
        default=(),
        examples=[[{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}]],
    )
    """How pods spread over nodes; without a labelSelector, these pods are meant."""
    priority_class_name: DnsSubdomain | None = Field(default=None, examples=["inference"])
    """PriorityClass of the pods."""
    scheduler_name: DnsSubdomain | None = Field(default=None, examples=["kai-scheduler"])
    """Scheduler of the pods; absent: the cluster's default."""
    runtime_class_name: DnsSubdomain | None = Field(default=None, examples=["nvidia"])
    """RuntimeClass of the pods."""
    image_pull_secrets: Items[LocalObjectReference] = Field(default=(), examples=[[{"name": "registry"}]])
    """Existing Secrets that open the registries of the container images."""
    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"cost-centre": "search"}])
    """Labels on the pods; never in selectors."""
    annotations: dict[LabelKey, str] = Field(default={}, examples=[{"sidecar.istio.io/inject": "false"}])
    """Annotations on the pods."""


class Pod(Placed):
    """The pod around the engine, by PodSpec's names."""

    service_account_name: DnsSubdomain | None = Field(default=None, examples=["models"])
    """An existing ServiceAccount, such as one with a workload identity; absent: one without any rights."""
    run_as_user: Annotated[int, Within(1, 2**31 - 1, "write a user id above 0; root is refused")] = 1000
    """User id of every container; never root."""
    fs_group: Annotated[int, Within(1, 2**31 - 1, "write a group id above 0")] = 1000
    """Group that owns the volumes, so that engine and unpacking agree about the files."""
    shared_memory: Quantity | None = Field(default=None, examples=["16Gi"])
    """Size of /dev/shm of one pod; absent: 8Gi per device, 1Gi without devices."""


class Health(Spec):
    """The probes, asked on the engine's own port."""

    path: AbsolutePath = "/v1/models"
    """Path of the startup and readiness probes."""
    liveness_path: AbsolutePath = "/health"
    """Path of the liveness probe."""
    interval: Duration = "10s"
    """Time between two probes, at least 1s."""
    timeout: Duration = "5s"
    """Time that one probe may take; at most the interval."""
    failure_threshold: Count = 3
    """Failed probes in a row after which a pod is not ready, or restarted."""
    startup_timeout: Duration | None = Field(default=None, examples=["45m"])
    """Time from container start until the model must be loaded; absent: from the model's size, at least 10m; 30m where
    the size is unknown."""

    @model_validator(mode="after")
    def _probe_fits_interval(self) -> "Health":
        if seconds(self.timeout) > seconds(self.interval):
            raise refuse(
                f"a probe may take longer than the time between two (timeout {self.timeout}, interval {self.interval})",
                "lower timeout or raise interval",
                echoed=False,
            )
        if min(milliseconds(self.interval), milliseconds(self.timeout)) < _SECOND:
            raise refuse("a probe's interval and timeout are at least a second", "write 1s or more", echoed=False)
        return self


class RollingUpdate(Spec):
    """Replace pods step by step."""

    type: Literal["RollingUpdate"]
    """Replace pods step by step."""
    max_surge: CountOrNone = 0
    """Pods above the number while rolling; a surge pod needs free devices, or it waits for ever."""
    max_unavailable: CountOrNone = 1
    """Pods that may be missing while rolling."""

    @model_validator(mode="after")
    def _replaces_pods(self) -> "RollingUpdate":
        if self.max_surge == self.max_unavailable == 0:
            raise refuse("can never replace a pod (maxSurge 0, maxUnavailable 0)", "raise one of them", echoed=False)
        return self


class Recreate(Spec):
    """End all pods before the first new one starts."""

    type: Literal["Recreate"]
    """End all pods before the first new one starts."""


Rollout = Annotated[RollingUpdate | Recreate, Field(discriminator="type")]


class DisruptionBudget(Spec):
    """The PodDisruptionBudget of the role; made where more than one replica is possible."""

    enabled: bool = True
    """Make it."""
    max_unavailable: CountOrNone = 1
    """Pods that evictions may take at a time; 0 forbids every eviction."""


class Role(Spec):
    """Keys that all roles of a service have."""

    engine: Engine = Engine.default()
    """The inference server."""
    accelerator: Annotated[Text, Field(examples=["nvidia"])]
    """Accelerator class: a vendor such as nvidia, or a product such as nvidia-h100-80gb; cpu for none."""
    accelerator_memory: Quantity | None = Field(default=None, examples=["160Gi"])
    """Device memory that one copy of the model needs: chooses parallelism.tensor where that is absent, else is
    checked."""
    parallelism: Parallelism = Parallelism.default()
    """How one replica is spread over devices."""
    replicas: CountOrNone = 1
    """Number of replicas; 0 keeps everything but the pods. Refused beside autoscaling, which owns the number."""
    autoscaling: Autoscaling | None = Field(
        default=None,
        examples=[{"type": "hpa", "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}],
    )
    """Let the number of replicas follow the load; absent: it is fixed."""
    resources: Resources = Resources.default()
    """Requests and limits of the engine container; absent per device: 4 CPU and 32Gi requested, 48Gi at most, and
    kvCache.cpuOffload on top."""
    pod: Pod = Pod.default()
    """The pod around the engine."""
    health: Health = Health.default()
    """The probes."""
    rollout: Rollout = RollingUpdate(type="RollingUpdate")
    """How new pods take the place of old ones."""
    disruption_budget: DisruptionBudget = DisruptionBudget.default()
    """How many pods evictions may take at a time."""
    patch: KubernetesObject = Field(default={}, examples=[{"spec": {"minReadySeconds": 30}}])
    """The last word on the workload object: maps by key, lists of named items by name, other lists whole."""
