"""The proxy beside a picker, and the Service through which clients reach it."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tests.contracts.invariants import identity
from tests.contracts.invariants.facts import EXPLAINED, SEALED
from tests.contracts.invariants.world import World, same

IMAGE = "docker.io/envoyproxy/envoy:distroless-v1.40.0"
RESOURCES = {"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
ARGUMENTS = ["--config-path", "/config/envoy.yaml", "--disable-hot-restart", "--log-level", "warning"]
PROBED = {"path": "/ready", "port": 9004}


def the_proxys_service_leads_to_it(world: World) -> Iterator[str]:
    if world.variant.proxy is None:
        return
    spec = world.get("Service", f"{world.variant.base}-proxy")["spec"]
    port = {"name": "http", "port": 80, "targetPort": _port(world), "protocol": "TCP", "appProtocol": "http"}
    yield from same("proxy's Service", spec, {"type": "ClusterIP", "selector": identity.picker(world), "ports": [port]})


def the_proxys_container_is_as_written(world: World) -> Iterator[str]:
    spec = world.variant.proxy
    if spec is None:
        return
    pod = world.get("Deployment", world.variant.picker)["spec"]["template"]["spec"]
    (container,) = (container for container in pod["containers"] if container["name"] == "proxy")
    ports = [("http", _port(world)), ("proxy-ready", 9004)]
    expected = {
        "name": "proxy",
        "image": spec.get("image", IMAGE),
        "args": ARGUMENTS,
        "ports": [{"name": name, "containerPort": number, "protocol": "TCP"} for name, number in ports],
        "readinessProbe": {"httpGet": PROBED, "periodSeconds": 2},
        "livenessProbe": {"httpGet": PROBED, "periodSeconds": 10},
        "lifecycle": {"preStop": {"sleep": {"seconds": pod["terminationGracePeriodSeconds"] - 5}}},
        "resources": spec.get("resources", RESOURCES),
        "terminationMessagePolicy": EXPLAINED,
        "securityContext": SEALED | {"runAsUser": 65532},
        "volumeMounts": [{"name": "config", "mountPath": "/config", "readOnly": True}],
    }
    yield from same("proxy", container, expected)


def the_proxy_asks_the_picker_beside_it(world: World) -> Iterator[str]:
    """Compare ports and TLS with those of other objects. `tests/real/test_picker_proxy.py` sends requests."""
    if world.variant.proxy is None:
        return
    text = world.get("ConfigMap", world.variant.picker)["data"]["envoy.yaml"]
    resources = yaml.safe_load(text)["static_resources"]
    listening = {listener["name"]: _address(listener["address"]) for listener in resources["listeners"]}
    yield from same("proxy listens", listening, {"requests": ("0.0.0.0", _port(world)), "ready": ("0.0.0.0", 9004)})
    clusters = {cluster["name"]: cluster for cluster in resources["clusters"]}
    (group,) = clusters["picker"]["load_assignment"]["endpoints"]
    (entry,) = group["lb_endpoints"]
    asked = world.variant.say("endpointPicker", "port", default=9002)
    yield from same("proxy asks", _address(entry["endpoint"]["address"]), ("127.0.0.1", asked))
    encrypts = world.variant.picker_tls["type"] != "none"
    yield from same("proxy encrypts", "transport_socket" in clusters["picker"], encrypts)


def _address(value: Mapping[str, Any]) -> tuple[str, int]:
    return value["socket_address"]["address"], value["socket_address"]["port_value"]


def _port(world: World) -> int:
    assert world.variant.proxy is not None
    return world.variant.proxy.get("port", 8081)
