"""A route is done when the controller of its Gateway says so, which a script plays here on the real API server."""

import json
import re
import threading
import time

import pytest

from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.server import read
from tests.support.rows import mostly_proven

pytestmark = pytest.mark.real

EVERY_NAMESPACE = {"namespaces": {"from": "All"}}

SECONDS = 240
HELD = 3
"""Seconds in which a run that does not wait would be over."""
RFC = {"lastTransitionTime": "2026-01-01T00:00:00Z", "message": "said by a script"}


def until(condition, deadline=SECONDS):
    """Wait until the condition holds, and return what it returned."""
    end = time.monotonic() + deadline
    while not (value := condition()):
        assert time.monotonic() < end, condition
        time.sleep(0.1)
    return value


def condition(kind, generation, status="True", reason=None):
    return RFC | {"type": kind, "status": status, "reason": reason or kind, "observedGeneration": generation}


class Controller:
    """Plays a gateway's controller: what it says of one Gateway and of one route."""

    def __init__(self, plane, namespace):
        self.plane = plane
        self.namespace = namespace
        gateway = {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": {"name": "gateway", "namespace": f"{namespace}-gateways"},
            "spec": {
                "gatewayClassName": "scripted",
                "listeners": [{"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": EVERY_NAMESPACE}],
            },
        }
        self.plane.kubectl("create", "namespace", f"{namespace}-gateways")
        self.apply(gateway)

    def apply(self, manifest):
        self.plane.kubectl("apply", "-f", "-", input=json.dumps(manifest))

    def accept_gateway(self, status="True", reason=None):
        conditions = [condition("Accepted", 1, status, reason), condition("Programmed", 1, status, reason)]
        self._say("gateway", "gateway", f"{self.namespace}-gateways", {"conditions": conditions})

    def route(self):
        found = read(self.plane, "httproutes", self.namespace)
        return next((route for route in found if route["metadata"]["name"] == "qwen"), None)

    def seen(self, generation):
        """Wait until the route is there in a generation."""
        return until(lambda: (route := self.route()) and route["metadata"]["generation"] == generation)

    def judge(self, *conditions):
        parent = {"name": "gateway", "namespace": f"{self.namespace}-gateways"}
        parent_status = {"parentRef": parent, "controllerName": "example.com/scripted", "conditions": conditions}
        self._say("httproute", "qwen", self.namespace, {"parents": [parent_status]})

    def accept(self, generation):
        self.judge(condition("Accepted", generation), condition("ResolvedRefs", generation))

    def _say(self, kind, name, namespace, status):
        patch = json.dumps({"status": status})
        self.plane.kubectl("patch", kind, name, "-n", namespace, "--subresource=status", "--type=merge", "-p", patch)


class Running:
    """A deployment run that goes on while its test does something else."""

    def __init__(self, deployed):
        self._thread = threading.Thread(target=lambda: self._note(deployed.attempt()))
        self._thread.start()

    def _note(self, ended):
        self._ended = ended

    def assert_it_goes_on(self):
        self._thread.join(HELD)
        assert self._thread.is_alive(), self.ended()

    def ended(self):
        self._thread.join(SECONDS)
        done, operations = self._ended
        return done.returncode, done.stdout + done.stderr, operations


def stack(namespace, **route):
    whole = in_namespace(namespace, qwen={"route": route})
    whole["gateway"]["namespace"] = f"{namespace}-gateways"
    return whole


@pytest.fixture
def controller(plane, request):
    called = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    return Controller(plane, f"{called[:20]}-{called[-16:]}".strip("-"))


def readiness(deployment):
    """Return what the outputs say of the readiness of the service."""
    service = deployment.outputs()["services"]["qwen"]
    return service["ready"], service["message"]


def test_a_route_is_done_when_this_generation_of_it_is_accepted(deploy, controller):
    controller.accept_gateway()
    deployment = deploy(stack(controller.namespace))
    running = Running(deployment)
    controller.seen(1)
    running.assert_it_goes_on()
    controller.judge(condition("Accepted", 1))
    running.assert_it_goes_on()
    controller.accept(1)
    status, text, _ = running.ended()
    assert status == 0, text
    assert deployment.outputs()["services"]["qwen"]["awaited"] == [
        "endpointPicker",
        "pool",
        "replicas",
        "route",
        "workload",
    ]
    assert readiness(deployment) == (True, "")
    deployment.write(stack(controller.namespace, hostnames=["llm.example.com"]))
    running = Running(deployment)
    controller.seen(2)
    running.assert_it_goes_on()
    controller.accept(2)
    status, text, operations = running.ended()
    assert status == 0, text
    assert operations.done == {"routing-qwen-route": "update"}
    deployment.assert_unchanged()


@pytest.mark.parametrize("refused", mostly_proven(["Accepted", "ResolvedRefs"], {"Accepted"}))
def test_a_refusal_fails_with_its_reason(deploy, controller, refused):
    controller.accept_gateway()
    deployment = deploy(stack(controller.namespace))
    deployment.alter("planning/routes/acceptance.py", ACCEPTED_SECONDS=10)
    running = Running(deployment)
    controller.seen(1)
    reasons = {refused: ("False", "NotThisOne")}
    controller.judge(*(condition(kind, 1, *reasons.get(kind, ())) for kind in ("Accepted", "ResolvedRefs")))
    status, text, operations = running.ended()
    assert status != 0
    assert "NotThisOne" in text
    assert RFC["message"] in text
    assert operations.of("routing-qwen-route").ended is None
    controller.accept(1)
    assert deployment.operate().done == {"routing-qwen-route": "update"}
    deployment.assert_in_step()


@pytest.mark.parametrize(("status", "reason"), [("Unknown", "Pending"), ("False", "InvalidParameters")])
def test_nothing_waits_for_a_gateway_that_no_controller_has_accepted(deploy, controller, status, reason):
    controller.accept_gateway(status, reason)
    deployment = deploy(stack(controller.namespace))
    done, operations = deployment.attempt()
    gateway = f"{controller.namespace}-gateways/gateway"
    assert f"{gateway}: no controller has accepted this Gateway" in done.stdout + done.stderr
    assert operations.of("routing-qwen-route").ended is not None
    assert "pulumi.com/waitFor" not in controller.route()["metadata"].get("annotations", {})
    assert done.returncode == 0
    assert deployment.outputs()["services"]["qwen"]["awaited"] == ["endpointPicker", "pool", "replicas", "workload"]
    message = f"the route was not awaited, because no controller was known to have accepted {gateway}"
    assert readiness(deployment) == (False, message)
    deployment.assert_in_step()


def test_a_route_of_somebody_else_in_the_way_stops_the_run_before_it_changes_anything(deploy, controller):
    name = controller.namespace
    theirs = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "theirs", "namespace": f"{name}-gateways"},
        "spec": {
            "parentRefs": [{"name": "gateway"}],
            "rules": [{"matches": [{"path": {"type": "PathPrefix", "value": f"/{name}/qwen/"}}]}],
        },
    }
    controller.apply(theirs)
    deployment = deploy(stack(name))
    message = (
        f"services.qwen.route.matches[0].path: is taken on {name}-gateways/gateway by HTTPRoute {name}-gateways/theirs"
    )
    done, operations = deployment.attempt()
    assert done.returncode != 0
    assert message in " ".join((done.stdout + done.stderr).split())
    assert operations == ()
    assert f"namespace/{name}\n" not in controller.plane.kubectl("get", "namespaces", "-o", "name")
    controller.plane.kubectl("delete", "httproute", "theirs", "-n", f"{name}-gateways")
    deployment.up()
