"""Istio as the judge of gateways, routes and pools: what its conditions say of objects that are applied."""

import copy
import os
import re
import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from local.cluster import ControlPlane
from local.cluster.parts import CONTROLLERS
from local.gateway import LocalGateway, addresses, objects
from local.gateway.objects import GatewayListener, Manifest
from local.tools import Tool
from tests.support.cluster.server import apply, read
from tests.support.traffic.istio_routes import routes
from tests.support.traffic.others import referenced_pools

APPLIED = ("Service", "DestinationRule", "ReferenceGrant", "InferencePool", "HTTPRoute")
"""Kinds that Istio reads of a stack."""
JUDGED = {
    "HTTPRoute": "httproutes.gateway.networking.k8s.io",
    "InferencePool": "inferencepools.inference.networking.k8s.io",
}
"""Kinds that it judges, with the names under which they are listed."""
CONDITIONS = ("Accepted", "ResolvedRefs")
SECONDS = 300.0
"""Time in which Istio has to judge all that was applied at once. It takes up to a minute beside other programs."""
INTERVAL = 0.5
Place = tuple[str, str, str]
"""Kind, namespace and name."""
Verdict = Mapping[str, str]
"""Reasons of the conditions that are not true; empty if all are true."""
UNJUDGED: Verdict = {"": "unjudged"}


class Judge:
    """A control plane with istiod, to which objects are applied."""

    def __init__(self, directory: Path, tools: Mapping[str, Tool], plane: ControlPlane) -> None:
        self._plane = plane
        self._gateway = LocalGateway(directory, tools, plane, tie_to_parent=True)

    def start(self) -> None:
        """Start istiod."""
        self._gateway.start()

    def end(self) -> None:
        """End istiod."""
        self._gateway.end()

    def configuration(self, manifests: Sequence[Manifest], rules: Collection[str]) -> dict[str, Any]:
        """Return the configuration of a proxy of the Gateway that the routes among objects name.

        Istio may accept a route before it sends the route to proxies. So the configuration is read again until it has
        routes with all names in `rules`.
        """
        listeners = objects.listeners(manifests)
        ports = objects.service_ports(manifests)
        server = addresses.Server(lambda: addresses.read(self._plane.api()))
        deadline = time.monotonic() + SECONDS
        try:
            proxy = self._gateway.serve(listeners, ports, server.server_port)
            found = proxy.configuration()
            while missing := set(rules) - {route.get("name") for route in routes(found)}:
                assert time.monotonic() < deadline, missing
                time.sleep(INTERVAL)
                found = proxy.configuration()
            self._gateway.stop(f"envoy-{listeners[0].gateway}")
        finally:
            server.end()
        return found

    def leave_alone(self) -> None:
        """End the controllers of the control plane: what they make of Services and namespaces is not judged."""
        running = self._plane.pids()
        for part in CONTROLLERS:
            os.kill(running[part], signal.SIGKILL)

    def submit(self, gateways: Iterable[Manifest], manifests: Iterable[Manifest]) -> None:
        """Apply Gateways and what Istio reads of other objects, in their namespaces, which are made first."""
        found = [*gateways, *(each for each in manifests if each["kind"] in APPLIED)]
        apply(self._plane, [*map(objects.namespace_object, sorted(_namespaces(found))), *found])

    def verdicts(self) -> dict[Place, Verdict]:
        """Return the verdicts on all objects that a route refers to, and on all routes."""
        listed = [each for kind in JUDGED.values() for each in read(self._plane, kind)]
        return {_place(each): verdict(each) for each in listed}

    def wait(self, places: Collection[Place], is_final: Callable[[Verdict], bool]) -> dict[Place, Verdict]:
        """Return the verdicts on some objects when all are final, or else after `SECONDS` seconds."""
        deadline = time.monotonic() + SECONDS
        while True:
            if self._gateway.has_ended("istiod"):
                # Two collections write into one map while they merge routes (pilot/pkg/config/kube/gateway/
                # route_collections.go), which ends it at times. A Deployment would start it again, too.
                self._gateway.start()
            known = self.verdicts()
            found = {place: known.get(place, UNJUDGED) for place in places}
            if all(map(is_final, found.values())) or time.monotonic() > deadline:
                return found
            time.sleep(INTERVAL)


def verdict(manifest: Manifest) -> Verdict:
    """Return Istio's verdict on an object as it is now."""
    parents = manifest.get("status", {}).get("parents", ())
    generation = manifest["metadata"]["generation"]
    found = [
        condition
        for parent in parents
        for condition in parent.get("conditions", ())
        if condition["type"] in CONDITIONS and condition.get("observedGeneration") == generation
    ]
    if {condition["type"] for condition in found} != {*CONDITIONS}:
        return UNJUDGED
    return {each["type"]: each["reason"] for each in found if each["status"] != "True"}


def judged(manifests: Iterable[Manifest]) -> set[Place]:
    """Return the places of the routes among objects, and of the pools that they refer to."""
    routes = [each for each in manifests if each["kind"] == "HTTPRoute"]
    return {*map(_place, routes), *(("InferencePool", *place) for place in referenced_pools(routes))}


def gateways_for(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Return the Gateways that the routes among objects name."""
    found: list[GatewayListener] = objects.listeners(manifests)
    return objects.gateways(found)


def moved(manifests: Iterable[Manifest], suffix: str) -> list[Manifest]:
    """Return copies of what Istio reads of a stack, in namespaces with a suffix."""
    return [_moved(each, suffix) for each in manifests if each["kind"] in APPLIED]


def _moved(node: Any, suffix: str) -> Any:
    match node:
        case dict():
            return {
                key: f"{value}{suffix}" if key == "namespace" else _moved(value, suffix) for key, value in node.items()
            }
        case list():
            return [_moved(value, suffix) for value in node]
        case str():
            return re.sub(r"^([^./]+\.[^./]+)(?=\.svc\.)", rf"\1{suffix}", node)
        case _:
            return copy.copy(node)


def _namespaces(manifests: Iterable[Manifest]) -> set[str]:
    return {each["metadata"]["namespace"] for each in manifests}


def _place(manifest: Manifest) -> Place:
    return manifest["kind"], manifest["metadata"]["namespace"], manifest["metadata"]["name"]
