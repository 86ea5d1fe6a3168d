"""Specs of the way from a request to a service: gateway, route, objectives and rewrites of model names."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from models.base import Spec
from models.vocabulary import (
    AbsolutePath,
    Dns1035Label,
    DnsLabel,
    DnsSubdomain,
    Duration,
    Entries,
    HeaderName,
    HeaderValue,
    Hostname,
    Items,
    LabelKey,
    Port,
    Shape,
    Text,
    Within,
    refuse,
)

MOST_HEADERS = 16
"""Largest number of headers in one match, or in one header filter, of an HTTPRoute."""
_KIND = Shape("is not a kind", r"[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?", "write a kind such as Gateway", 63)
_ANY_PRIORITY = 2**31


def _check_headers(headers: dict[str, str]) -> dict[str, str]:
    if len(headers) > MOST_HEADERS:
        raise refuse(f"has {len(headers)} entries", f"write at most {MOST_HEADERS}", echoed=False)
    if len({name.lower() for name in headers}) < len(headers):
        raise refuse("names one header twice (capitals make no difference)", "keep one of them", echoed=False)
    return headers


Headers = Annotated[
    dict[HeaderName, HeaderValue],
    AfterValidator(_check_headers),
    Field(json_schema_extra={"maxProperties": MOST_HEADERS}),
]
"""Values of headers by name."""
PathTemplate = Annotated[
    str,
    Shape(
        "is not a path template",
        r"[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*",
        "write a path such as /{.metadata.namespace}/{.metadata.name}",
        1024,
    ),
]


class Gateway(Spec):
    """The Gateway that routes attach to (Gateway API ParentReference), and who implements it."""

    name: Annotated[DnsSubdomain, Field(examples=["inference-gateway"])]
    """Name of the Gateway."""
    namespace: DnsLabel | None = Field(default=None, examples=["gateways"])
    """Namespace of the Gateway; absent: the stack's."""
    section_name: DnsSubdomain | None = Field(default=None, examples=["https"])
    """Listener of the Gateway; absent: all of them."""
    port: Port | None = Field(default=None, examples=[443])
    """Port of the listeners; absent: all of them."""
    group: DnsSubdomain = "gateway.networking.k8s.io"
    """API group of the Gateway, or of what takes its place."""
    kind: Annotated[str, _KIND] = "Gateway"
    """Kind of the Gateway, or of what takes its place, such as ListenerSet."""
    provider: Annotated[Literal["istio", "gke", "agentgateway", "none"], Field(examples=["istio"])]
    """Implementation of the Gateway; istio gets a DestinationRule for the picker's TLS, gke the policies of
    its load balancer for the pool."""
    body_router: bool = False
    """Whether a payload processor in front reads the model in a request's body and sets the header of the base model;
    allows route.matches[].model."""


class RouteMatch(Spec):
    """Requests that have all of these."""

    path: PathTemplate | None = Field(default=None, examples=["/{.metadata.labels['team']}/{.metadata.name}"])
    """Path prefix, with places for what the service says: {.metadata.name}, {.metadata.namespace},
    {.metadata.labels['key']}, {.metadata.annotations['key']}, and {.spec.…} for any key of the service as merged.
    Absent: every path."""
    headers: Headers = Field(default={}, examples=[{"x-team": "search"}])
    """Exact values of headers."""
    model: HeaderValue | None = Field(default=None, examples=["Qwen/Qwen3-0.6B"])
    """The base model that the request's body asks for, which a payload processor writes into a header
    (gateway.bodyRouter)."""


class RouteMirror(Spec):
    """A service that gets copies of the requests."""

    service: Annotated[Dns1035Label, Field(examples=["qwen-next"])]
    """Its key; its Service is asked past its endpoint picker, and its answers are thrown away."""
    percent: Annotated[int, Within(0, 100, "write the percentage of requests that are copied")] = 100
    """Percentage of the requests that are copied."""


class RouteTimeouts(Spec):
    """How long the gateway waits; 0s is for ever."""

    request: Duration | None = Field(default=None, examples=["10m"])
    """From the first byte of a request to the last of its answer, however many tokens those are."""
    backend_request: Duration | None = Field(default=None, examples=["5m"])
    """For one try of a request; at most `request`."""


class Route(Spec):
    """The HTTPRoute of the service."""

    enabled: bool = True
    """Make the route; off: the service is reached inside the cluster only."""
    gateway: Gateway | None = Field(
        default=None, examples=[{"name": "other-gateway", "namespace": "gateways", "provider": "istio"}]
    )
    """The Gateway of this service, replaced whole; absent: the stack's."""
    hostnames: Annotated[Items[Hostname], Entries(0, 16, "write at most 16")] = Field(
        default=(), examples=[["llm.example.com"]]
    )
    """Hosts that the route answers to; absent: every host of the gateway's listener."""
    annotations: dict[LabelKey, str] = Field(default={}, examples=[{"team": "search"}])
    """Annotations on the route, over the service's."""
    matches: Annotated[Items[RouteMatch], Entries(1, 64, "write 1 to 64, of which any one is enough")] = (
        RouteMatch(path="/{.metadata.namespace}/{.metadata.name}"),
    )
    """Conditions on requests; a request that meets any of them is the service's."""
    replace_prefix_match: AbsolutePath = "/"
    """Path that the engine sees in place of a match's."""
    set_headers: Headers = Field(default={}, examples=[{"x-tier": "gold"}])
    """Headers that requests have when they reach the engine, over what clients send."""
    remove_headers: Annotated[Items[HeaderName], Entries(0, MOST_HEADERS, "write at most 16")] = Field(
        default=(), examples=[["x-debug"]]
    )
    """Headers that do not reach the engine."""
    mirror: RouteMirror | None = Field(default=None, examples=[{"service": "qwen-next", "percent": 10}])
    """Service that gets copies of the requests; absent: none."""
    timeouts: RouteTimeouts | None = Field(default=None, examples=[{"request": "10m"}])
    """How long the gateway waits; absent: as long as it does by itself. GKE's takes it from its own policy."""


class Objective(Spec):
    """Priority of the requests that name the objective."""

    priority: Annotated[
        int, Within(-_ANY_PRIORITY, _ANY_PRIORITY - 1, "write a priority such as -1"), Field(examples=[-1])
    ]
    """Order among waiting requests, highest first; without an objective it is 0; below 0 requests may be dropped."""


class RewriteTarget(Spec):
    """A model that requests for another are sent to."""

    model: Annotated[Text, Field(examples=["Qwen/Qwen3-0.6B"])]
    """Its name, as the engine knows it: the service's model or an adapter."""
    weight: Annotated[int, Within(1, 1_000_000, "write 1 to 1000000")] | None = Field(default=None, examples=[90])
    """Its share of the requests, in proportion to the others'; of all targets or of none."""


class Rewrite(Spec):
    """Another name for models that are served."""

    model: Annotated[Text, Field(examples=["qwen-latest"])]
    """The name that clients send as `model`."""
    targets: Annotated[Items[RewriteTarget], Entries(1, None, "write at least one")] = Field(
        examples=[[{"model": "Qwen/Qwen3-0.6B"}]]
    )
    """Models that answer; one target is an alias."""
