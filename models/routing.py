"""Specs of routing: gateway, route, objectives, and rewrites of model names."""

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
    ModelName,
    Port,
    Shape,
    Within,
    refuse,
)

MAX_HEADERS = 16
"""Maximum number of headers in one match, or in one header filter, of an HTTPRoute."""
_KIND = Shape("is not a kind", r"[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?", "write a kind such as Gateway", 63)
_VERSION = Shape(
    "is not a version", r"v?[0-9]+(\.[0-9]+){0,3}([-+][0-9A-Za-z.-]+)?", "write a version such as 1.31.2", 64
)
_PRIORITY_LIMIT = 2**31
"""Priorities are 32-bit integers: at least minus this number, and less than this number."""


def _check_headers(headers: dict[str, str]) -> dict[str, str]:
    if len(headers) > MAX_HEADERS:
        raise refuse(f"has {len(headers)} entries", f"write at most {MAX_HEADERS}", echoed=False)
    if len({name.lower() for name in headers}) < len(headers):
        raise refuse("names one header twice (capitals make no difference)", "keep one of them", echoed=False)
    return headers


Headers = Annotated[
    dict[HeaderName, HeaderValue],
    AfterValidator(_check_headers),
    Field(json_schema_extra={"maxProperties": MAX_HEADERS}),
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
    """The Gateway that routes attach to (Gateway API ParentReference), and its implementation."""

    name: Annotated[DnsSubdomain, Field(examples=["inference-gateway"])]
    """Name of the Gateway."""
    namespace: DnsLabel | None = Field(default=None, examples=["gateways"])
    """Namespace of the Gateway; absent: the stack's."""
    section_name: DnsSubdomain | None = Field(default=None, examples=["https"])
    """Listener of the Gateway; absent: all listeners."""
    port: Port | None = Field(default=None, examples=[443])
    """Port of the listeners; absent: listeners of all ports."""
    group: DnsSubdomain = "gateway.networking.k8s.io"
    """API group of the Gateway, or of the object that takes the Gateway's place."""
    kind: Annotated[str, _KIND] = "Gateway"
    """Kind of the object that routes attach to: Gateway, or the kind that takes its place, such as ListenerSet."""
    provider: Annotated[Literal["istio", "gke", "agentgateway", "none"], Field(examples=["istio"])]
    """Implementation of the Gateway. istio adds a DestinationRule for the picker's TLS; gke adds the policies of GKE's
    load balancer for the pool."""
    version: Annotated[str, _VERSION] | None = Field(default=None, examples=["1.31.2"])
    """Version of the implementation. It decides which features a route may use. Absent: features that some versions
    lack are refused, or give a warning."""
    body_router: bool = False
    """Whether a payload processor of the gateway reads the model from the request's body and writes the base model into
    a header. route.matches[].model needs such a processor, which must watch ConfigMaps in the namespaces of the
    services."""


class RouteMatch(Spec):
    """Conditions on a request. The request must meet all of them."""

    path: PathTemplate | None = Field(default=None, examples=["/{.metadata.labels['team']}/{.metadata.name}"])
    """Path prefix, served as it is written; paths are case-sensitive. Refused is what gateways change before they
    compare paths: percent escapes, empty segments, '.' and '..'. Placeholders stand for values of the service:
    {.metadata.name}, {.metadata.namespace}, {.metadata.labels['key']}, {.metadata.annotations['key']}, and {.spec.…}
    for any key of the service after merging. Values are in lower case, with '-' for characters that a DNS label cannot
    have. Absent: every path."""
    headers: Headers = Field(default={}, examples=[{"x-team": "search"}])
    """Headers that a request must have, each with its exact value."""
    model: HeaderValue | None = Field(default=None, examples=["Qwen/Qwen3-0.6B"])
    """Served model name of the service. If present, only requests match whose body names this model, one of its
    adapters, or another name of the model from `rewrites`. A payload processor writes the name of the base model into a
    header (gateway.bodyRouter). Absent: requests for any model."""


class RouteMirror(Spec):
    """A service that receives copies of the requests."""

    service: Annotated[Dns1035Label, Field(examples=["qwen-next"])]
    """Key of the service. Copies go to the Kubernetes Service of this service, past its endpoint picker. The gateway
    discards the responses."""
    percent: Annotated[int, Within(0, 100, "write the percentage of requests that are copied")] = 100
    """Percentage of the requests that are copied."""


class RouteTimeouts(Spec):
    """Time limits of the gateway; 0s means no limit."""

    request: Duration | None = Field(default=None, examples=["10m"])
    """Time from the first byte of a request to the last byte of its response, whatever the number of tokens."""
    backend_request: Duration | None = Field(default=None, examples=["5m"])
    """Time for one attempt of a request; at most `request`."""


class Route(Spec):
    """The HTTPRoute of the service."""

    enabled: bool = True
    """Create the route. If false, the service can be reached only inside the cluster."""
    gateway: Gateway | None = Field(
        default=None, examples=[{"name": "other-gateway", "namespace": "gateways", "provider": "istio"}]
    )
    """The Gateway of this service. It replaces the stack's gateway as a whole; no key is inherited. Absent: the stack's
    gateway."""
    hostnames: Annotated[Items[Hostname], Entries(0, 16, "write at most 16")] = Field(
        default=(), examples=[["llm.example.com"]]
    )
    """Hosts that the route accepts; absent: every host of the gateway's listener."""
    annotations: dict[LabelKey, str] = Field(default={}, examples=[{"team": "search"}])
    """Annotations on the route; they override annotations of the service with the same key."""
    matches: Annotated[Items[RouteMatch], Entries(1, 64, "write 1 to 64; a request has to meet only one of them")] = (
        RouteMatch(path="/{.metadata.namespace}/{.metadata.name}"),
    )
    """Alternative conditions. A request that meets one of them goes to the service."""
    replace_prefix_match: AbsolutePath = "/"
    """Prefix that replaces the path of the match before a request reaches the engine."""
    set_headers: Headers = Field(default={}, examples=[{"x-tier": "gold"}])
    """Headers that the gateway sets on requests; they replace those that clients send. Values are sent as they are
    written. A character with which the gateway's proxies begin a command, such as % of Envoy, is refused."""
    remove_headers: Annotated[Items[HeaderName], Entries(0, MAX_HEADERS, "write at most 16")] = Field(
        default=(), examples=[["x-debug"]]
    )
    """Headers that the gateway removes from requests."""
    mirror: RouteMirror | None = Field(default=None, examples=[{"service": "qwen-next", "percent": 10}])
    """Service that receives copies of the requests; absent: none."""
    timeouts: RouteTimeouts | None = Field(default=None, examples=[{"request": "10m"}])
    """Time limits of the gateway; absent: the gateway's defaults. With provider gke, this key is not allowed, because
    the backend policy of GKE's load balancer sets the limit from drainTimeout."""


class Objective(Spec):
    """Priority of the requests that name the objective."""

    priority: Annotated[
        int, Within(-_PRIORITY_LIMIT, _PRIORITY_LIMIT - 1, "write a priority such as -1"), Field(examples=[-1])
    ]
    """Waiting requests are served in the order of priority, highest first. A request without an objective has priority
    0. Requests with a priority below 0 may be dropped."""


class RewriteTarget(Spec):
    """A model that answers requests for the rewritten name."""

    model: Annotated[ModelName, Field(examples=["Qwen/Qwen3-0.6B"])]
    """Name of the model in the engine: the service's model or one of its adapters."""
    weight: Annotated[int, Within(1, 1_000_000, "write 1 to 1000000")] | None = Field(default=None, examples=[90])
    """Share of the requests, relative to the weights of the other targets. Set it on all targets or on none."""


class Rewrite(Spec):
    """Another name for served models."""

    model: Annotated[ModelName, Field(examples=["qwen-latest"])]
    """Name that clients send as `model`."""
    targets: Annotated[Items[RewriteTarget], Entries(1, None, "write at least one")] = Field(
        examples=[[{"model": "Qwen/Qwen3-0.6B"}]]
    )
    """Models that answer. With a single target, the name is an alias."""
