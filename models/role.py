"""Specs of a role: the engine and its pods.

A service is itself a role: its keys configure its decode pods, or all of its pods if it has no prefill.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.autoscaling import Autoscaling
from models.base import Spec
from models.claims import PodClaim
from models.containers import PodContainer, Privileges, Resources
from models.env import EnvName, EnvValue
from models.health import Health
from models.kubernetes import LocalObjectReference, Toleration
from models.vocabulary import (
    Argument,
    Bytes,
    Count,
    CountOrNone,
    DnsLabel,
    DnsSubdomain,
    ImageRef,
    Items,
    KubernetesObject,
    LabelKey,
    LabelValue,
    Port,
    Share,
    Text,
    Within,
    refuse,
)
from models.volumes import Volume


class Load(Spec):
    """The loader of vLLM (`--load-format`)."""

    type: Literal["default", "runai-streamer", "fastsafetensors"] = "default"
    """default: vLLM's choice, and for object storage with storage.type engine the streamer; runai-streamer: reads
    many tensors at once, from object storage or from a folder; fastsafetensors: reads files straight into the memory of
    devices of NVIDIA and AMD, from a folder or a hub. The image needs the package of the loader. For others, such as
    modelexpress, write `--load-format` in args."""


class CompileCache(Spec):
    """Compiled code that outlives a pod."""

    volume: Annotated[DnsLabel, Field(examples=["compiled"])]
    """Key of the volume in pod.volumes. It needs a mountPath, and the engine writes to it. The code of each image and
    accelerator class has a folder of its own."""


class Engine(Spec):
    """The container of the inference server."""

    type: Literal["vllm", "sglang", "trtllm-serve", "custom"] | None = Field(default=None, examples=["custom"])
    """vllm: arguments, environment and drain are generated; sglang, trtllm-serve: program and arguments are generated,
    and engine.image is required; custom: the image's entrypoint runs as it is; absent: custom if model.source begins
    with image://, else vllm."""
    image: ImageRef | None = Field(default=None, examples=["registry.example/vllm-openai:v0.21.0"])
    """Image of the engine; absent: the release channel's image for the accelerator's vendor."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = Field(default=None, examples=["Always"])
    """Pull policy of the engine's image; absent: the default of Kubernetes."""
    port: Port = 8000
    """Port of the pods. The pool and the Service send requests to this port."""
    compile_cache: CompileCache | None = Field(default=None, examples=[{"volume": "compiled"}])
    """Volume for the code that vLLM compiles when it starts (`VLLM_CACHE_ROOT`), so that later pods find it. Absent:
    each pod compiles."""
    load: Load = Load.default()
    """How vLLM loads the weights to the devices."""
    max_num_seqs: Count | None = Field(default=None, examples=[256])
    """Maximum number of sequences in a batch (`--max-num-seqs`); absent: the engine's default."""
    gpu_memory_utilization: Share = 0.9
    """Share of a device's memory that the engine may use (`--gpu-memory-utilization`). For another engine than vLLM, it
    counts only if it is set (`--mem-fraction-static` of SGLang, `--free_gpu_memory_fraction` of TensorRT-LLM)."""
    command: Items[Argument] = Field(default=(), examples=[["sh", "-c", 'ulimit -l unlimited; exec vllm serve "$@"']])
    """Program of the engine with its first arguments, before the generated arguments and args. Absent: the generated
    program; for type custom, the entrypoint of the image. For type vllm it has to end with `vllm`, `serve`, or with a
    shell script that ends with `exec vllm serve "$@"`."""
    args: Items[Argument] = Field(default=(), examples=[["--enforce-eager"]])
    """Arguments of the engine, after the generated ones. Flags that a key of this configuration sets are refused."""
    without_args: Items[Argument] = Field(default=(), examples=[["--enforce-eager"]])
    """Flags in the inherited args that this engine does not get, without values: of the service in prefill, encode and
    canary, and of defaults or a profile in a service."""
    worker_command: Items[Argument] = Field(default=(), examples=[["worker.sh"]])
    """Program of the pods of a replica after its first pod, for type custom; absent: command."""
    worker_args: Items[Argument] = Field(default=(), examples=[["--node-rank=$(LWS_WORKER_INDEX)"]])
    """Arguments of the pods of a replica after its first pod, for type custom; absent: args."""
    env: dict[EnvName, EnvValue] = Field(default={}, examples=[{"VLLM_LOGGING_LEVEL": "INFO"}])
    """Environment variables of the engine. A value is a text, or a reference to a Secret, a ConfigMap or a field of the
    pod."""


class Parallelism(Spec):
    """Layout of one replica over devices.

    A pod takes tensor times dataLocal devices for each of its pipeline stages.
    """

    tensor: Count | None = Field(default=None, examples=[4])
    """Number of devices over which each layer is split (`--tensor-parallel-size`). Absent: the smallest n among
    the powers of two for which n devices have at least acceleratorMemory; 1 if acceleratorMemory is absent."""
    pipeline: Count = 1
    """Number of stages into which the layers are divided. A pod has as many stages as fit on a node, or one
    stage if the number of devices of a node is unknown."""
    data: Count = 1
    """Number of copies of the model in a replica (`--data-parallel-size`). The copies share the replica's requests."""
    data_local: Count | None = Field(default=None, examples=[8])
    """Number of copies in one pod (`--data-parallel-size-local`); absent: all of them."""
    load_balancing: Literal["internal", "external", "hybrid"] = "internal"
    """Choice of the copy for a request. internal: vLLM chooses among all copies of a replica, behind one port of the
    replica's first pod. external: the endpoint picker chooses. Every copy of every pod is then an endpoint with a
    separate port, counted up from engine.port. external works only for mixture-of-experts models, with at most eight
    copies in a pod. hybrid, for replicas of several pods: the endpoint picker chooses the pod, and vLLM chooses among
    the pod's copies, behind one port of the pod."""
    pods: Count = 1
    """Number of pods of a replica, for engine.type custom, each with tensor devices. The engine's arguments may contain
    $(LWS_WORKER_INDEX), $(LWS_LEADER_ADDRESS) and $(LWS_GROUP_SIZE): the number of the pod, the name of the first pod,
    and the number of pods. The number of pods of other engines follows from pipeline, data and dataLocal."""
    expert: bool = False
    """Distribute the experts of a mixture-of-experts model over all devices (`--enable-expert-parallel`)."""


class Placed(Spec):
    """Placement and metadata of pods. Keys have the names of PodSpec and ObjectMeta."""

    node_selector: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"topology.kubernetes.io/zone": "eu-1a"}])
    """Labels that a node must have."""
    tolerations: Items[Toleration] = Field(default=(), examples=[[{"key": "batch", "operator": "Exists"}]])
    """Tolerations of the pods, in addition to those of the accelerator class."""
    affinity: KubernetesObject = Field(default={}, examples=[{"podAntiAffinity": {}}])
    """Affinity of the pods. The node labels of the accelerator class are required in addition."""
    topology_spread_constraints: Items[KubernetesObject] = Field(
        default=(),
        examples=[[{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}]],
    )
    """Constraints on the distribution of the pods over nodes or zones. A constraint without labelSelector counts the
    pods of this role, or of this picker."""
    priority_class_name: DnsSubdomain | None = Field(default=None, examples=["inference"])
    """PriorityClass of the pods."""
    scheduler_name: DnsSubdomain | None = Field(default=None, examples=["kai-scheduler"])
    """Scheduler of the pods; absent: the cluster's default."""
    runtime_class_name: DnsSubdomain | None = Field(default=None, examples=["nvidia"])
    """RuntimeClass of the pods."""
    image_pull_secrets: Items[LocalObjectReference] = Field(default=(), examples=[[{"name": "registry"}]])
    """Existing Secrets with the credentials for the registries of the container images."""
    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"cost-centre": "search"}])
    """Labels of the pods. Selectors do not use them."""
    annotations: dict[LabelKey, str] = Field(default={}, examples=[{"sidecar.istio.io/inject": "false"}])
    """Annotations of the pods."""


class Pod(Placed):
    """Placement, metadata, identity and shared memory of the serving pods."""

    service_account_name: DnsSubdomain | None = Field(default=None, examples=["models"])
    """Existing ServiceAccount, such as one with a workload identity; absent: if the variant has prefill, decode pods
    get an account that has only the right to read pods and their pool. All other pods have the namespace's default
    account, without a token."""
    run_as_user: Annotated[int, Within(1, 2**31 - 1, "write a user id above 0; root is refused")] = 1000
    """User id of all containers. Root is refused."""
    fs_group: Annotated[int, Within(1, 2**31 - 1, "write a group id above 0")] = 1000
    """Group id of the volumes, so that the engine can read the files that init containers write."""
    supplemental_groups: (
        Items[Annotated[int, Within(1, 2**31 - 1, "write the id of a group that nodes have, above 0")]] | None
    ) = Field(default=None, examples=[[109]])
    """Ids of further groups of the processes in all containers. For example, a node lets only members of its group
    `render` open AMD's devices. []: the processes need no further group."""
    volumes: dict[DnsLabel, Volume] = Field(
        default={}, examples=[{"config": {"mountPath": "/etc/engine", "name": "engine-config", "type": "config-map"}}]
    )
    """Further volumes of the pods, by name. A name that a generated volume has is refused."""
    init_containers: dict[DnsLabel, PodContainer] = Field(
        default={}, examples=[{"wait": {"image": "registry.example/wait:v1"}}]
    )
    """Further init containers, by name. They run in the order of their names, before weights are fetched."""
    containers: dict[DnsLabel, PodContainer] = Field(
        default={}, examples=[{"exporter": {"image": "registry.example/exporter:v1", "ports": [9100]}}]
    )
    """Further containers beside the engine, by name."""
    claims: dict[DnsLabel, PodClaim] = Field(default={}, examples=[{"nic": {"deviceClassName": "mrdma.google.com"}}])
    """Claims on further devices for the engine container, by name, beside those of the accelerator class: network
    cards, or channels of a ComputeDomain. A change of a claim that the stack creates replaces the pods."""
    privileges: Privileges | None = Field(
        default=None, examples=[{"capabilities": ["IPC_LOCK"], "reason": "RDMA pins memory", "root": True}]
    )
    """Privileges of the engine container; absent: none. Namespaces of the Pod Security level restricted refuse them."""
    shared_memory: Bytes | None = Field(default=None, examples=["16Gi"])
    """Size of /dev/shm in a pod. Absent: 8Gi for each device, or 1Gi without devices. kvCache.cpuOffload, or
    a tier of type cpu, is added for vLLM 0.27 and later, which keep offloaded blocks in /dev/shm."""


class RollingUpdate(Spec):
    """Replace pods step by step."""

    type: Literal["RollingUpdate"]
    """Replace pods step by step."""
    max_surge: CountOrNone = 0
    """Number of additional replicas that may exist during a rollout. If no devices are free for these replicas, the
    rollout does not finish."""
    max_unavailable: CountOrNone = 1
    """Number of replicas that may be unavailable during a rollout."""

    @model_validator(mode="after")
    def _replaces_pods(self) -> "RollingUpdate":
        if self.max_surge == self.max_unavailable == 0:
            raise refuse("can never replace a pod (maxSurge 0, maxUnavailable 0)", "raise one of them", echoed=False)
        return self


class Recreate(Spec):
    """End all old pods before the first new pod starts."""

    type: Literal["Recreate"]
    """End all old pods before the first new pod starts."""


Rollout = Annotated[RollingUpdate | Recreate, Field(discriminator="type")]


class DisruptionBudget(Spec):
    """The PodDisruptionBudget of the role. It is created only if the role can have more than one replica."""

    enabled: bool = True
    """Whether the PodDisruptionBudget is created."""
    max_unavailable: CountOrNone = 1
    """Maximum number of pods that are evicted at a time; 0 forbids every eviction."""


class Role(Spec):
    """Keys that all roles of a service have."""

    engine: Engine = Engine.default()
    """The inference server."""
    accelerator: Annotated[Text, Field(examples=["nvidia"])]
    """Accelerator class: a vendor such as nvidia, a product such as nvidia-h100-80gb, or cpu for no devices."""
    accelerator_memory: Bytes | None = Field(default=None, examples=["160Gi"])
    """Device memory that one copy of the model needs. If parallelism.tensor is absent, the number of devices follows
    from this memory. If parallelism.tensor is set, a check compares the memory of the devices with this memory."""
    parallelism: Parallelism = Parallelism.default()
    """Layout of one replica over devices."""
    replicas: CountOrNone = 1
    """Number of replicas. With 0 all objects exist, but no pods. Refused together with autoscaling, which sets the
    number."""
    autoscaling: Autoscaling | None = Field(
        default=None,
        examples=[{"type": "hpa", "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}],
    )
    """Autoscaling of the number of replicas by load; absent: the number is fixed."""
    resources: Resources = Resources.default()
    """Requests and limits of the engine container. Absent values are, for each device: requests of 4 CPU and 32Gi of
    memory, and a limit of 48Gi of memory. A pod without devices gets the values of one device. kvCache.cpuOffload
    and the sizes of kvCache.tiers are added to both amounts of memory."""
    pod: Pod = Pod.default()
    """Settings of the serving pods."""
    health: Health = Health.default()
    """The probes of the engine."""
    rollout: Rollout = RollingUpdate(type="RollingUpdate")
    """Strategy by which new pods replace old ones."""
    disruption_budget: DisruptionBudget = DisruptionBudget.default()
    """Limit on evictions of pods."""
    patch: KubernetesObject = Field(default={}, examples=[{"spec": {"minReadySeconds": 30}}])
    """Changes of the rendered workload object, merged into it at the end. Maps merge by key, and null removes a key.
    Lists of named items merge by name; other lists are replaced. A patch is refused if the API server, or Pod Security
    in a namespace that the stack creates, would refuse its pods."""
