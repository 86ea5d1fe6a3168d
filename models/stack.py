"""Spec of one stack: the value of the configuration key `inference-stacks:stack`."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, PrivateAttr, model_validator

from models.accelerators import UserClass
from models.base import Spec
from models.interceptor import Interceptor
from models.money import Budgets, Prices
from models.monitoring import AlertRules, Dashboards, Monitors
from models.network import NetworkPolicies
from models.problems import Mode
from models.profile import Catalogue
from models.routing import Gateway
from models.service import Service
from models.storage import Cache, complete_models
from models.upgrades import Upgrades
from models.vocabulary import (
    Dns1035Label,
    DnsLabel,
    DnsSubdomain,
    FullStackPath,
    ImageRef,
    Items,
    LabelKey,
    LabelValue,
    Shape,
    StackPath,
    Text,
    Url,
)
from models.windows import DeploymentWindow


class NamespaceOptions(Spec):
    """Creation of the namespaces in use."""

    create: bool = False
    """Create the namespaces, with the Pod Security level `restricted` enforced. If false, they must exist, and are not
    changed."""
    retain: bool = False
    """Keep created namespaces, and all objects in them, when the stack no longer uses these namespaces."""
    protect: bool = False
    """Fail a run that would delete a created namespace."""


class Platform(Spec):
    """The stack of a platform. Its outputs are values of the configuration that every file can override."""

    stack: Annotated[FullStackPath, Field(examples=["organization/platform/prod"])]
    """Name of the platform's stack: organization/project/stack."""
    output: Text = "inferencePlatform"
    """Name of the platform's output with contractVersion, gateway, cluster, observability and storageClassName. All of
    these except contractVersion may be absent. The output must not be secret."""
    kubeconfig: Text | None = Field(default=None, examples=["kubeconfig"])
    """Name of the platform's output with the kubeconfig of the cluster. A secret output is allowed. The key
    inference-stacks:kubeconfig takes precedence. Absent: no kubeconfig is read from the platform."""


class LiveFacts(Spec):
    """Read the facts from the cluster."""

    type: Literal["live"]
    """Read the facts from the cluster."""


class FileFacts(Spec):
    """Read the facts from a file."""

    type: Literal["file"]
    """Read the facts from a file."""
    path: Annotated[Text, Field(examples=["facts.json"])]
    """Path of the file, relative to the project."""


class NoFacts(Spec):
    """Read no facts. Each check that needs them becomes a warning."""

    type: Literal["none"]
    """Read no facts. Each check that needs them becomes a warning."""


class Cluster(Spec):
    """The cluster to deploy to.

    Its kubeconfig is the value of the secret configuration key inference-stacks:kubeconfig. If that key is absent, the
    kubeconfig is read from the files that the variable KUBECONFIG names, or else from the default file.
    """

    name: DnsSubdomain | None = Field(default=None, examples=["prod-eu"])
    """Name of the cluster in messages; absent: the cluster's name in the kubeconfig's context. A stack recognises its
    cluster by the UID of the namespace kube-system, not by this name."""
    context: Text | None = Field(default=None, examples=["prod"])
    """Context of the kubeconfig; absent: the kubeconfig's current context."""
    domain: DnsSubdomain = "cluster.local"
    """DNS domain of the cluster's Services."""
    facts: LiveFacts | FileFacts | NoFacts = Field(default=LiveFacts.default(type="live"), discriminator="type")
    """Source of the cluster facts."""


class Checks(Spec):
    """Severity of failed checks."""

    preflight: Mode = "strict"
    """Check that the cluster has the kinds, namespaces, classes and listeners that the stack needs, and that the
    stack's routes collide with no other routes, and take no requests from them by a longer path. A problem that only a
    person can solve is an error (strict) or a warning (warn); with skip, none of this is checked."""
    capacity: Mode = "warn"
    """Check that nodes and quotas have the devices that a change needs at its worst moment: additional replicas, two
    generations side by side, a canary. Devices that are lacking are an error (strict) or a warning (warn); with skip,
    nothing is checked. An autoscaled role counts with its smallest number of replicas; a lack of devices for its
    largest number is a warning."""
    outage: Mode = "skip"
    """Check that a run leaves no workload of a service without a ready replica, as the live objects say: a restart of
    the only replica, or of all at once, or replicas: 0. Such a run is an error (strict), unless allow has the word
    outage, or a warning (warn); with skip, nothing is checked. The report on a preview has outages in any case."""
    fit: Mode = "warn"
    """Check that the memory of the devices holds the weights, the KV cache of one sequence of the longest context, and
    the overhead of the engine. A model that does not fit is an error (strict) or a warning (warn); with skip, nothing
    is checked. If the numbers of a model are unknown, its memory is not computed, and only strict reports that."""
    lock: Mode = "warn"
    """Check that no source is missing or outdated in the lock (inference.STACK.lock.yaml), and that values of the
    platform are not, as far as its outputs are read. If the lock pins images of containers, none of these is missing,
    and none has another tag. Such sources, values and images are errors (strict) or warnings (warn);
    with skip, nothing is checked. If there is no lock, only strict reports that. A lock that pins a source to another
    one is always an error."""
    advisories: Mode = "warn"
    """Check that no service meets a published security advisory of its engine. Advisories count if the image has an
    affected version of vLLM and the service does what they require, such as accepting images. Such advisories are
    errors (strict) or warnings (warn); with skip, nothing is checked. Of an image of the release channel, the
    advisories that every service meets are reported only by strict, and so are images of unknown versions."""


class Images(Spec):
    """Images of the containers that fetch weights."""

    kit: ImageRef | None = Field(default=None, examples=["registry.example/kitops:v1.11.0"])
    """Image that unpacks ModelKits; absent: the release channel's. If a service verifies signatures, the image must
    contain cosign as well, as kitops-init does."""
    downloader: ImageRef | None = Field(default=None, examples=["registry.example/storage-initializer:v0.20.0"])
    """Image that downloads from Hugging Face and S3; absent: the release channel's."""


class Tracing(Spec):
    """OpenTelemetry traces of the engine, the sidecar and the picker. They are on if this section is present."""

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
    """Share of traces to keep, from "0" to "1" (OTEL_TRACES_SAMPLER_ARG)."""


class PrometheusAuthentication(Spec):
    """An existing object with the credentials for the Prometheus."""

    name: Annotated[DnsSubdomain, Field(examples=["prometheus"])]
    """Name of the object. A TriggerAuthentication must exist in the namespace of each service that uses it."""
    kind: Literal["TriggerAuthentication", "ClusterTriggerAuthentication"] = "TriggerAuthentication"
    """Kind of the object."""
    modes: Items[Literal["basic", "bearer", "custom", "tls"]] = Field(default=(), examples=[["bearer"]])
    """Ways to authenticate (`authModes` of KEDA's prometheus scaler). Absent: the cloud identity that the object
    names."""


class Prometheus(Spec):
    """A Prometheus that scrapes the engines."""

    server_address: Annotated[Url, Field(examples=["http://prometheus.monitoring:9090"])]
    """URL at which autoscaling of type keda queries the Prometheus."""
    authentication: PrometheusAuthentication | None = Field(
        default=None, examples=[{"name": "prometheus", "modes": ["bearer"]}]
    )
    """Credentials of KEDA for the Prometheus; absent: the Prometheus requires none."""


class Observability(Spec):
    """Metrics, alerts, dashboards and traces of running services."""

    metrics: Monitors = Monitors.default()
    """Monitor objects by which metrics are scraped."""
    rules: AlertRules | None = Field(default=None, examples=[{"labels": {"release": "kube-prometheus-stack"}}])
    """Alerts about the services, and about their objectives (slo). {}: alerts with the default labels. Absent:
    none."""
    dashboards: Dashboards | None = Field(default=None, examples=[{"namespace": "monitoring"}])
    """Dashboards of the services. {}: dashboards with the default label. Absent: none."""
    prometheus: Prometheus | None = Field(
        default=None, examples=[{"serverAddress": "http://prometheus.monitoring:9090"}]
    )
    """The Prometheus that scrapes the engines and labels their series with namespace and pod. Absent: autoscaling
    has no Prometheus to query."""
    tracing: Tracing | None = Field(default=None, examples=[{"endpoint": "http://otel-collector.monitoring:4317"}])
    """Traces; absent: none."""


class Stack(Spec):
    """The configuration of one stack."""

    release: Text = "llm-d-0.10"
    """Release channel of caches, and of services that set none: images, flags and API versions that belong
    together."""
    extends: Items[Text] = Field(default=(), examples=[["stacks/base.yaml"]])
    """Base files, whose values this file overrides. Each file overrides the files before it in the list. Base files
    have the same keys as this file, and can extend other files. Paths are relative to the folder of Pulumi.yaml."""
    platform: Platform | None = Field(default=None, examples=[{"stack": "organization/platform/prod"}])
    """The platform that this stack runs on. Its outputs give gateway, cluster, observability and storageClassName, and
    values in files override them. Absent: no outputs are read."""
    namespace: Annotated[DnsLabel, Field(examples=["models"])]
    """Namespace of the services that set no namespace."""
    storage_class_name: DnsSubdomain | None = Field(default=None, examples=["shared-nfs"])
    """StorageClass of the claims that the stack creates; absent: the cluster's default."""
    namespace_options: NamespaceOptions = NamespaceOptions.default()
    """Creation of the namespaces in use."""
    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"team": "platform"}])
    """Labels of every object. Selectors do not use them."""
    gateway: Gateway | None = Field(
        default=None, examples=[{"name": "inference-gateway", "namespace": "gateways", "provider": "istio"}]
    )
    """The Gateway that routes attach to. Absent: there are no routes, and services can be reached only inside the
    cluster."""
    images: Images = Images.default()
    """Images of the containers that fetch weights. Keys of a service set the images of engine, sidecar and picker."""
    accelerators: dict[Dns1035Label, UserClass] = Field(
        default={}, examples=[{"h100-slice": {"vendor": "nvidia", "memory": "40Gi"}}]
    )
    """Accelerator classes: new ones, and changes to the shipped ones."""
    catalogue: Catalogue = Catalogue.default()
    """Serving profiles that services select from."""
    observability: Observability = Observability.default()
    """Metrics, alerts, dashboards and traces of running services."""
    cluster: Cluster = Cluster.default()
    """The cluster to deploy to."""
    formerly: Items[StackPath] = Field(default=(), examples=[["inference-stacks/staging"]])
    """Earlier names of this stack, as project/stack or organization/project/stack. Objects that are marked with an
    earlier name belong to this stack: add the old name here after `pulumi stack rename`. The name of a stack that lives
    on is refused."""
    allow: Items[Literal["cluster", "meaning", "name", "namespace", "outage", "release", "removal", "takeover"]] = (
        Field(default=(), examples=[["removal"]])
    )
    """Causes for which the next run may end running services as a whole, or for a while. Without the word, such a run
    is refused.
    cluster: the stack moves to another cluster. meaning: the stack takes its release as upstream means the name, and
    not as earlier versions of this program did. name: a service gets another name. namespace: a service gets another
    namespace, or its namespace is deleted. outage: no replica stays ready for a while, although checks.outage is
    strict. release: another release channel replaces all pods of a service. removal: a
    service is removed. takeover: the objects are in the state of a stack in formerly. Take the words out after the
    run."""
    checks: Checks = Checks.default()
    """Severity of failed checks."""
    upgrades: Upgrades | None = Field(default=None, examples=[{"atOnce": 1, "order": ["internal", "search"]}])
    """Limit on the services that a run restarts at the same time. Absent: a run restarts all services side by side."""
    windows: Items[DeploymentWindow] = Field(
        default=(), examples=[[{"days": ["Mon", "Tue"], "end": "17:00", "start": "09:00", "timezone": "Europe/Berlin"}]]
    )
    """Days and hours in which `pulumi up` may deploy this stack. In all other hours it is refused, unless the key
    inference-stacks:outsideWindows of Pulumi's configuration has the day of the run. Previews only warn. Absent: at any
    time."""
    prices: Prices = Prices.default()
    """Prices of devices."""
    budgets: Budgets | None = Field(default=None, examples=[{"by": "team", "limits": {"search": {"perMonth": 40000}}}])
    """Budgets. Services with the same value of a label share a budget. Absent: no budgets."""
    network_policies: NetworkPolicies | None = Field(
        default=None, examples=[{"gatewayPods": {"gateway.networking.k8s.io/gateway-name": "inference-gateway"}}]
    )
    """Network policies: which connections to and from the pods are allowed. Absent: no policies. {}: policies that
    allow the known connections."""
    interceptor: Interceptor | None = Field(default=None, examples=[{"mode": "label", "namespace": "metering"}])
    """Token metering: the routes of services lead to the interceptor. Absent: no metering."""
    caches: dict[Dns1035Label, Cache] = Field(
        default={}, examples=[{"mistral": {"source": "s3://acme-models/mistral-small-24b", "size": "48Gi"}}]
    )
    """Claims that services share, each with weights that are fetched once. A service names a cache in storage.cache, by
    the cache's key."""
    defaults: dict[str, JsonValue] = Field(default={}, examples=[{"route": {"hostnames": ["llm.example.com"]}}])
    """Keys of a service that every service inherits."""
    services: Annotated[dict[Dns1035Label, Service], Field(min_length=1)]
    """The services by key. The key is the identity of a service: renaming the key replaces the service."""

    _moved_images: Mapping[str, str] = PrivateAttr(default={})

    def with_moved_images(self, digests: Mapping[str, str]) -> Self:
        """Return the stack with the digests of images that have moved since their references were first locked."""
        copy = self.model_copy()
        copy._moved_images = digests  # noqa: SLF001, the same class
        return copy

    def identity_of(self, image: str) -> str:
        """Return the text of an image from which names are derived: with its digest if the digest has moved."""
        digest = self._moved_images.get(image)
        return image if digest is None else f"{image}@{digest}"

    @model_validator(mode="before")
    @classmethod
    def _complete_models(cls, tree: object) -> object:
        return complete_models(tree)
