"""Spec of one stack: the value of the configuration key `inference-stacks:stack`."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from models.accelerators import UserClass
from models.base import Spec
from models.monitoring import Monitors
from models.network import NetworkPolicies
from models.routing import Gateway
from models.service import Service
from models.storage import Cache, complete_models
from models.vocabulary import (
    Dns1035Label,
    DnsLabel,
    DnsSubdomain,
    ImageRef,
    LabelKey,
    LabelValue,
    Shape,
    Text,
    Url,
)


class NamespaceOptions(Spec):
    """Whether namespaces in use are made."""

    create: bool = False
    """Make them, with Pod Security restricted enforced. Otherwise they exist already and are left alone."""


class LiveFacts(Spec):
    """Ask the cluster."""

    type: Literal["live"]
    """Ask the cluster."""


class FileFacts(Spec):
    """Read the facts from a file."""

    type: Literal["file"]
    """Read the facts from a file."""
    path: Annotated[Text, Field(examples=["facts.json"])]
    """The file, relative to the project."""


class NoFacts(Spec):
    """Know nothing of the cluster; what needs facts becomes a warning."""

    type: Literal["none"]
    """Know nothing of the cluster; what needs facts becomes a warning."""


class Cluster(Spec):
    """The cluster deployed to. Credentials: secret key inference-stacks:kubeconfig, else KUBECONFIG's rules."""

    name: DnsSubdomain | None = Field(default=None, examples=["prod-eu"])
    """Identity of the cluster in the state; absent: the name that the kubeconfig's context has for it."""
    context: Text | None = Field(default=None, examples=["prod"])
    """Context of the kubeconfig; absent: its current one."""
    domain: DnsSubdomain = "cluster.local"
    """DNS domain of the cluster's Services."""
    facts: LiveFacts | FileFacts | NoFacts = Field(default=LiveFacts.default(type="live"), discriminator="type")
    """Source of the cluster facts."""


class Checks(Spec):
    """Effect of a failed check."""

    preflight: Literal["strict", "warn", "skip"] = "strict"
    """Kinds that the cluster does not serve, and routes that are in the way: an error, a warning, or not looked at."""


class Images(Spec):
    """The images that fetch weights."""

    kit: ImageRef | None = Field(default=None, examples=["registry.example/kitops:v1.11.0"])
    """Unpacks ModelKits; absent: the release channel's. Where a service verifies signatures, one that holds cosign too,
    such as kitops-init."""
    downloader: ImageRef | None = Field(default=None, examples=["registry.example/storage-initializer:v0.20.0"])
    """Downloads from Hugging Face and S3; absent: the release channel's."""


class Tracing(Spec):
    """OpenTelemetry traces of the engine, the sidecar and the picker; its presence switches them on."""

    endpoint: Annotated[Url, Field(examples=["http://otel-collector.monitoring:4317"])]
    """OTLP endpoint of the collector."""
    sampler: Literal[
        "always_on",
        "always_off",
        "traceidratio",
        "parentbased_always_on",
        "parentbased_always_off",
        "parentbased_traceidratio",
    ] = "parentbased_traceidratio"
    """Sampler of traces (OTEL_TRACES_SAMPLER)."""
    sampler_arg: Annotated[
        str, Shape("is not a share", r"0(\.[0-9]{1,9})?|1(\.0{1,9})?", 'write a quoted number from "0" to "1"', 11)
    ] = "0.01"
    """The share of traces that is kept (OTEL_TRACES_SAMPLER_ARG)."""


class Prometheus(Spec):
    """A Prometheus that scrapes the engines."""

    server_address: Annotated[Url, Field(examples=["http://prometheus.monitoring:9090"])]
    """Prometheus that autoscaling of type keda queries."""


class Observability(Spec):
    """Metrics and traces of running services."""

    metrics: Monitors = Monitors.default()
    """Kinds of objects that make metrics scraped."""
    prometheus: Prometheus | None = Field(
        default=None, examples=[{"serverAddress": "http://prometheus.monitoring:9090"}]
    )
    """The Prometheus that scrapes the engines, by the labels namespace and pod; absent: none that could be asked."""
    tracing: Tracing | None = Field(default=None, examples=[{"endpoint": "http://otel-collector.monitoring:4317"}])
    """Traces; absent: none."""


class Interceptor(Spec):
    """Token metering in the request path, which finds a model's Service by its labels."""

    mode: Annotated[Literal["label"], Field(examples=["label"])]
    """How it finds the engine: by the labels of the routed Service."""
    namespace: Annotated[DnsLabel, Field(examples=["metering"])]
    """Namespace that the interceptor runs in."""
    service_account_name: DnsSubdomain = "phoebe-interceptor"
    """Its ServiceAccount, which may get and list the Services of the models' namespace."""


class Stack(Spec):
    """The configuration of one stack."""

    release: Text = "llm-d-0.10"
    """Release channel: images, flags and API versions that belong together."""
    namespace: Annotated[DnsLabel, Field(examples=["models"])]
    """Namespace of the services, unless they say otherwise."""
    storage_class_name: DnsSubdomain | None = Field(default=None, examples=["shared-nfs"])
    """StorageClass of the claims that are made; absent: the cluster's default."""
    namespace_options: NamespaceOptions = NamespaceOptions.default()
    """Whether namespaces in use are made."""
    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"team": "platform"}])
    """Labels on every object; never in selectors."""
    gateway: Gateway | None = Field(
        default=None, examples=[{"name": "inference-gateway", "namespace": "gateways", "provider": "istio"}]
    )
    """The Gateway; absent: no routes, in-cluster Services only."""
    images: Images = Images.default()
    """The images that fetch weights; those of engine, sidecar and picker are said with the service."""
    accelerators: dict[Dns1035Label, UserClass] = Field(
        default={}, examples=[{"h100-slice": {"vendor": "nvidia", "memory": "40Gi"}}]
    )
    """Accelerator classes besides the shipped ones, or amendments of those."""
    observability: Observability = Observability.default()
    """Metrics and traces of running services."""
    cluster: Cluster = Cluster.default()
    """The cluster deployed to."""
    checks: Checks = Checks.default()
    """Effect of a failed check."""
    network_policies: NetworkPolicies | None = Field(
        default=None, examples=[{"gatewayPods": {"gateway.networking.k8s.io/gateway-name": "inference-gateway"}}]
    )
    """Network policies: who may reach the pods, and whom they may reach; absent: none, {}: the known edges."""
    interceptor: Interceptor | None = Field(default=None, examples=[{"mode": "label", "namespace": "metering"}])
    """Token metering; absent: none."""
    caches: dict[Dns1035Label, Cache] = Field(
        default={}, examples=[{"mistral": {"source": "s3://acme-models/mistral-small-24b", "size": "48Gi"}}]
    )
    """Weights that are fetched once, onto claims that services share by the cache's key."""
    defaults: dict[str, JsonValue] = Field(default={}, examples=[{"route": {"hostnames": ["llm.example.com"]}}])
    """Beneath every service: a partial service."""
    services: Annotated[dict[Dns1035Label, Service], Field(min_length=1)]
    """The services by key; the key is identity: renaming it replaces the service."""

    @model_validator(mode="before")
    @classmethod
    def _complete_models(cls, tree: object) -> object:
        return complete_models(tree)
