"""Routes of a proxy that Istio configures: where each rule leads, and whose picker is asked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.traffic.gateway import EXT_PROC

ROUTES = "RoutesConfigDump"
Tree = Mapping[str, Any]


@dataclass(frozen=True)
class Backend:
    """A cluster to which a rule leads."""

    cluster: str
    weight: int
    picker: str | None
    """Cluster of the endpoint picker that is asked for its requests; None if none is."""


def backends(configuration: Tree, rule: str) -> list[Backend]:
    """Return where a rule of an HTTPRoute leads, by the name that Istio gives it: namespace, route, number."""
    (found,) = (route for route in routes(configuration) if route.get("name") == rule)
    action = found["route"]
    asked = _picker(found)
    if "cluster" in action:
        return [Backend(action["cluster"], 1, asked)]
    clusters = action["weighted_clusters"]["clusters"]
    return [Backend(each["name"], each["weight"], _picker(each) or asked) for each in clusters]


def routes(configuration: Tree) -> Iterator[Tree]:
    """Yield the routes of a proxy's configuration."""
    for dump in configuration.get("configs", ()):
        if dump["@type"].endswith(ROUTES):
            for table in dump.get("dynamic_route_configs", ()):
                for host in table["route_config"].get("virtual_hosts", ()):
                    yield from host["routes"]


def _picker(node: Tree) -> str | None:
    """Return the picker that a route or one of its clusters names."""
    settings = node.get("typed_per_filter_config", {}).get(EXT_PROC, {})
    return settings.get("overrides", {}).get("grpc_service", {}).get("envoy_grpc", {}).get("cluster_name")
