"""Specs of the interceptor: where it runs, how it finds models, and its own deployment."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from models.base import Spec
from models.containers import Resources
from models.vocabulary import (
    Count,
    Dns1035Label,
    DnsLabel,
    DnsSubdomain,
    Duration,
    Port,
    Shape,
    check_authority,
    milliseconds,
    refuse,
)

_REPOSITORY = r"[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+"
_PINNED_IMAGE = rf"{_REPOSITORY}(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?@sha256:[0-9a-f]{{64}}"
_SHORTEST_DRAIN = 75_000
"""Time that a pod of the interceptor needs to terminate, in milliseconds: the pause before the signal to its process,
30s for requests, 10s for the log of bodies, 10s for events, and the time for the rest of its write-ahead log."""


def _check_drain(timeout: str) -> str:
    if milliseconds(timeout) < _SHORTEST_DRAIN:
        raise refuse(
            "is too short for a terminating pod to finish its requests and send its events", "write 75s or more"
        )
    return timeout


PinnedImage = Annotated[
    str,
    Shape(
        "is not an image reference with a digest",
        _PINNED_IMAGE,
        "write registry/repository with a digest, such as registry.example/phoebe@sha256:…",
        512,
    ),
]
HostPort = Annotated[
    str,
    Shape(
        "is not host:port",
        r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?:[1-9][0-9]{0,4}",
        "write an address such as valkey.metering:6379; an address with a password belongs in settingsSecret",
    ),
    AfterValidator(check_authority),
]
StreamName = Annotated[
    str, Shape("is not the name of a stream", r"[A-Za-z0-9:._-]+", "write a name such as phoebe:metering", 128)
]
NestedPath = Annotated[
    str,
    Shape(
        "is not an absolute path of a file below a directory",
        r"(/[A-Za-z0-9_-][A-Za-z0-9._-]*){2,}",
        "write an absolute path such as /var/lib/phoebe/metering-wal.jsonl",
    ),
]
DrainTime = Annotated[Duration, AfterValidator(_check_drain)]


class Emit(Spec):
    """Events of metering, and where they go."""

    valkey_addr: HostPort | None = Field(default=None, examples=["valkey.metering:6379"])
    """Address of the Valkey or Redis with the stream of events. The interceptor uses neither TLS nor a password.
    Absent: events stay in the write-ahead log of a pod, and are lost with the pod."""
    stream_name: StreamName = "phoebe:metering"
    """Name of the stream."""
    wal_path: NestedPath = "/var/lib/phoebe/metering-wal.jsonl"
    """File of the write-ahead log, which keeps events until they are in the stream. The directory of the file is a
    volume that lasts as long as the pod."""


class InterceptorDeployment(Spec):
    """A deployment of the interceptor by this stack."""

    image: Annotated[PinnedImage, Field(examples=[f"registry.example/phoebe@sha256:{'0f' * 32}"])]
    """Image of the interceptor, with its digest."""
    replicas: Count = 2
    """Number of pods. Each pod has a cache and a write-ahead log of its own."""
    resources: Resources = Resources(requests={"cpu": "100m", "memory": "128Mi"}, limits={"memory": "512Mi"})
    """Requests and limits. The interceptor holds whole bodies of HTTP requests in memory. If you set these keys, none
    of the default requests and limits remain."""
    settings_secret: DnsSubdomain | None = Field(default=None, examples=["phoebe-settings"])
    """Existing Secret in the interceptor's namespace. Its key settings.yaml has all settings of the interceptor. Use a
    Secret if the settings contain a credential, for example in the address of a database. The port in the settings must
    equal interceptor.port. In mode label, k8sNamespace in the settings must be the namespace of the metered services.
    Absent: the settings follow from the keys of interceptor."""
    emit: Emit = Emit.default()
    """Events of metering. If settingsSecret is set, these keys decide only the volume and the network policy."""
    drain_timeout: DrainTime = "75s"
    """Grace period of a terminating pod. Running requests have 30s of this period to finish. Longer requests are cut
    off when the pods are replaced."""


class Interceptor(Spec):
    """Token metering in the request path: routes lead to the interceptor, which forwards requests to a model's Service.

    Requests of metered services bypass endpoint pickers, pools and prefill.
    """

    mode: Annotated[Literal["label", "header"], Field(examples=["label"])]
    """How the interceptor finds the Service of a model. label: by the labels of the Service; the interceptor then needs
    the right to list the Services of one namespace. header: by a header that the route sets."""
    namespace: Annotated[DnsLabel, Field(examples=["metering"])]
    """Namespace that the interceptor runs in."""
    service_account_name: DnsSubdomain = "phoebe-interceptor"
    """ServiceAccount of the interceptor. In mode label, this account gets the right to get and list the Services in the
    models' namespace."""
    service_name: Dns1035Label = "phoebe-interceptor"
    """Name of the interceptor's Service and of its Deployment. Routes lead to this Service."""
    port: Port = 8080
    """Port of the interceptor's Service. If deploy is set, the interceptor listens on the same port."""
    deploy: InterceptorDeployment | None = Field(
        default=None, examples=[{"image": f"registry.example/phoebe@sha256:{'0f' * 32}"}]
    )
    """Deploy the interceptor. Absent: the interceptor runs already, and this stack has only the routes to the
    interceptor, the labels that it reads, and the rights that it needs."""
