"""States of Gateways, routes, pools and pickers that real controllers, a real proxy and real pickers make."""

import contextlib
import os
import signal
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from judging.status.records import time
from judging.status.states import Level
from judging.status.verdict import ExitCode
from tests.support.traffic.faults import FAULTS, GATEWAY, deleted, edited, picker_down, unready
from tests.support.traffic.living import LATER, LEASE, NAMESPACE, crashing, living
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NOW = timedelta()
SECONDS = 60
SERVICE = ("gateways", "gateway-istio")
FIRST = {fault.blamed: fault for fault in reversed(FAULTS)}.values()
"""One fault for each state that is to blame; `test_repairs` makes all of them."""
EACH = [
    pytest.param(fault, id=fault.name, marks=pytest.mark.states(*sorted({state for _, state in fault.blamed})))
    for fault in FIRST
]


@pytest.fixture(scope="module")
def stack(deploy_for_all, loopback_plane, tools, tmp_path_factory):
    with living(deploy_for_all, loopback_plane, tools, tmp_path_factory.mktemp("living")) as running_stack:
        yield running_stack


@contextlib.contextmanager
def made(stack, make):
    """Make a fault for the time of a `with` block, after which the stack is well again."""
    repair = make(stack)
    try:
        yield
    finally:
        repair()
        await_state(stack, lambda: is_well(stack))


def await_culprit(stack, place, state):
    """Return when an object is blamed for a state of the service `plain`."""
    await_state(stack, lambda: culprit_of(stack, "plain") == (place, state))


def await_state(stack, condition):
    """Return when a condition holds. After a third of the time, let Istio write all statuses anew."""
    try:
        eventually(condition, SECONDS / 3)
    except AssertionError:
        stack.renew_statuses()
        eventually(condition, SECONDS, state=lambda: health(stack))


def health(stack):
    """Return what is not answered and who is to blame, for the report of a failed test."""
    blamed = {(str(culprit.object), culprit.state.id, culprit.words) for culprit in culprits(stack)}
    return {"not answered": stack.failing(), "blamed": sorted(blamed), "controller": stack.controller().poll()}


def is_well(stack):
    stack.follow_pods()
    return stack.failing() == set() and stack.status().exit_code is ExitCode.SERVES


def culprits(stack):
    stack.follow_pods()
    return [service.culprit for service in stack.status().services if service.culprit is not None]


def culprit_of(stack, service, later=LATER):
    culprit = stack.of(service, later=later).culprit
    return culprit and (str(culprit.object), culprit.state.id)


def states(stack, service, later=LATER):
    """Return the ids of all states of a service's links."""
    components = stack.of(service, later=later).components
    return {finding.state.id for component in components for finding in component.findings}


EARLIER = {"no-leader": timedelta(seconds=10)}
"""Time by which a state may begin before its fault. A leader that ends has renewed its Lease at most so long before
(client-go of controller-runtime v0.22, pkg/manager/manager.go: a renewal every 2 s, within 10)."""


@pytest.mark.parametrize("fault", EACH)
def test_a_fault_is_named_with_its_object_and_the_time_since_when_it_is_there(fault, stack):
    before = datetime.now(UTC).replace(microsecond=0)
    with made(stack, fault.make):
        eventually(lambda: stack.failing() == fault.stops, SECONDS)
        eventually(lambda: culprits(stack) and all(map(fault.is_blamed, culprits(stack))), SECONDS)
        for culprit in culprits(stack):
            assert culprit.level is not Level.NORMAL
            earliest = before - EARLIER.get(culprit.state.id, timedelta(seconds=1))
            assert culprit.since is None or culprit.since >= earliest
            assert culprit.words
            assert culprit.remedy


@pytest.mark.states("picker-of-primary")
def test_nobody_is_blamed_in_a_stack_that_is_well(stack):
    status = stack.status()
    assert status.exit_code is ExitCode.SERVES
    assert culprits(stack) == []
    assert states(stack, "chat") == {"picker-of-primary"}
    assert states(stack, "pair") == set()


def test_statuses_that_are_lost_are_written_anew(stack):
    stack.renew_statuses()
    eventually(lambda: is_well(stack), SECONDS, state=lambda: health(stack))


@pytest.mark.states("picker-awaited")
def test_nobody_is_blamed_during_the_first_run(stack):
    """The first service is there within seconds; that the watch saw progress is the control."""
    seen = [status for status in stack.seen if status.services]
    blamed = [
        (service.view.name, str(service.culprit.object), service.culprit.state.id)
        for status in seen
        for service in status.services
        if service.culprit is not None and service.culprit.level is not Level.NORMAL
    ]
    assert sorted(set(blamed)) == []
    assert {status.exit_code for status in seen} <= {ExitCode.SERVES, ExitCode.DEGRADED}
    assert {service.serves for status in seen for service in status.services} >= {False}
    waits = {finding.state.id for status in seen for service in status.services for finding in service.others}
    assert "route-awaited" in waits


def aside(stack):
    """Let a route attach to a Gateway that no controller serves."""
    gateway = stack.editor.get("Gateway", *GATEWAY)
    other = gateway | {"metadata": {"name": "aside", "namespace": "gateways"}}
    stack.editor.create("Gateway", other | {"spec": gateway["spec"] | {"gatewayClassName": "nowhere"}})
    repair = edited("HTTPRoute", (NAMESPACE, "plain"), "/spec/parentRefs/0/name", "aside")(stack)

    def undo():
        repair()
        stack.editor.delete("Gateway", "gateways", "aside")

    return undo


@pytest.mark.states("gateway-new", "gateway-off", "route-new", "route-unseen")
def test_a_gateway_without_a_controller_is_new_at_first_and_off_later(stack):
    with made(stack, aside):
        eventually(lambda: stack.failing() == {"plain"}, SECONDS)
        assert states(stack, "plain", NOW) == {"gateway-new", "route-new"}
        assert stack.of("plain", later=NOW).culprit.level is Level.NORMAL
        assert states(stack, "plain") == {"gateway-off", "route-unseen"}
        assert culprit_of(stack, "plain") == ("Gateway gateways/aside", "gateway-off")


def with_listener(protocol, **more):
    """Let a route attach to a listener of another port, for which the Gateway's Service has a port, too."""

    def make(stack):
        ports = stack.editor.get("Service", *SERVICE)["spec"]["ports"]
        port = {"name": "aside", "port": 8443, "targetPort": 18443}
        behind = edited("Service", SERVICE, "/spec/ports", [*ports, port])(stack)
        listener = {"name": "aside", "port": 8443, "protocol": protocol, **more}
        listener["allowedRoutes"] = {"namespaces": {"from": "All"}}
        whole = edited("Gateway", GATEWAY, "/spec/listeners", [*listeners(stack), listener])(stack)
        repair = edited("HTTPRoute", (NAMESPACE, "plain"), "/spec/parentRefs/0/sectionName", "aside")(stack)
        return lambda: (repair(), whole(), behind())

    return make


def listeners(stack):
    return stack.editor.get("Gateway", *GATEWAY)["spec"]["listeners"]


@pytest.mark.states("listener-cert")
def test_a_listener_whose_certificate_is_missing_is_named_with_the_secret(stack):
    tls = {"mode": "Terminate", "certificateRefs": [{"name": "absent"}]}
    with made(stack, with_listener("HTTPS", tls=tls)):
        await_culprit(stack, "Gateway gateways/gateway", "listener-cert")
        words = stack.of("plain").culprit.words
        assert "aside" in words
        assert "absent" in words


@pytest.mark.states("listener-off")
def test_a_listener_with_a_protocol_that_the_controller_does_not_know_is_off(stack):
    with made(stack, with_listener("example.com/other")):
        await_culprit(stack, "Gateway gateways/gateway", "listener-off")


@pytest.mark.states("gateway-off")
def test_a_gateway_whose_service_is_missing_is_not_programmed(stack):
    with made(stack, deleted("Service", SERVICE)):
        await_culprit(stack, "Gateway gateways/gateway", "gateway-off")
        assert stack.of("plain").serves is False


def another_listener(stack):
    """Add a listener for whose port the Gateway's Service has none."""
    listener = listeners(stack)[0] | {"name": "aside", "port": 8443}
    return edited("Gateway", GATEWAY, "/spec/listeners", [*listeners(stack), listener])(stack)


def test_a_port_that_lacks_behind_another_listener_stops_no_route(stack):
    with made(stack, another_listener):
        eventually(lambda: stack.status().exit_code is ExitCode.DEGRADED, SECONDS)
        assert {service.serves for service in stack.status().services} == {True}
        assert {culprit.state.id for culprit in culprits(stack)} == {"gateway-off"}
        assert stack.failing() == set()


def refused_refs(stack):
    """Return the reasons for which references of the Gateway's listeners are refused, by the listener's name."""
    statuses = stack.editor.get("Gateway", *GATEWAY)["status"]["listeners"]
    refused = [(status["name"], entry) for status in statuses for entry in status["conditions"]]
    return {name: entry["reason"] for name, entry in refused if (entry["type"], entry["status"]) == RESOLVED_FALSE}


RESOLVED_FALSE = ("ResolvedRefs", "False")
ABSENT = {"mode": "Terminate", "certificateRefs": [{"name": "absent"}]}
OF_OTHERS = {
    "another namespace": {"allowedRoutes": {"namespaces": {"from": "Same"}}},
    "another kind": {"allowedRoutes": {"namespaces": {"from": "All"}, "kinds": [{"kind": "GRPCRoute"}]}},
}


@pytest.mark.parametrize("fields", OF_OTHERS.values(), ids=OF_OTHERS)
def test_a_listener_of_others_without_a_certificate_is_not_blamed(fields, stack):
    """`test_a_listener_whose_certificate_is_missing_is_named_with_the_secret` is the control."""

    def make(stack):
        listener = {"name": "aside", "port": 8443, "protocol": "HTTPS", "tls": ABSENT, **fields}
        ports = stack.editor.get("Service", *SERVICE)["spec"]["ports"]
        behind = edited("Service", SERVICE, "/spec/ports", [*ports, {"name": "aside", "port": 8443}])(stack)
        whole = edited("Gateway", GATEWAY, "/spec/listeners", [*listeners(stack), listener])(stack)
        return lambda: (whole(), behind())

    with made(stack, make):
        # Istio may judge the Gateway by the ports that its Service had before, until both change again.
        eventually(lambda: refused_refs(stack) == {"aside": "InvalidCertificateRef"}, SECONDS)
        stack.renew_statuses()
        eventually(lambda: refused_refs(stack) == {"aside": "InvalidCertificateRef"} and is_well(stack), SECONDS)
        assert culprits(stack) == []


def test_a_listener_with_a_kind_that_its_controller_does_not_know_is_not_blamed(stack):
    kinds = [{"kind": "HTTPRoute"}, {"kind": "TomorrowRoute"}]
    with made(stack, edited("Gateway", GATEWAY, "/spec/listeners/0/allowedRoutes/kinds", kinds)):
        eventually(lambda: "InvalidRouteKinds" in refused_refs(stack).values(), SECONDS)
        eventually(lambda: is_well(stack), SECONDS)


@pytest.mark.states("route-unseen")
def test_a_route_at_a_set_of_listeners_that_no_controller_knows_is_unseen(stack):
    kind = edited("HTTPRoute", (NAMESPACE, "plain"), "/spec/parentRefs/0/kind", "ListenerSet")
    with made(stack, kind):
        eventually(lambda: stack.failing() == {"plain"}, SECONDS)
        eventually(lambda: culprit_of(stack, "plain") == (f"HTTPRoute {NAMESPACE}/plain", "route-unseen"), SECONDS)
        assert "ListenerSet gateways/gateway" in stack.of("plain").culprit.words


def frozen(stack):
    """Halt the gateway's controller, and change a route."""
    controller = stack.controller()
    controller.send_signal(signal.SIGSTOP)
    # Its threads may run on for a moment. The parent is notified when all have stopped.
    os.waitid(os.P_PID, controller.pid, os.WSTOPPED)
    repair = edited("HTTPRoute", (NAMESPACE, "plain"), "/spec/rules/0/timeouts", {"request": "9s"})(stack)

    def undo():
        controller.send_signal(signal.SIGCONT)
        # The second change waits until the first is seen: Istio may lose the status of two (`renew_statuses`).
        eventually(lambda: states(stack, "plain") == set(), SECONDS, state=lambda: health(stack))
        repair()

    return undo


@pytest.mark.states("route-stale")
def test_a_route_that_was_changed_while_its_controller_is_away_is_stale_and_serves(stack):
    with made(stack, frozen):
        assert states(stack, "plain", NOW) == set()
        assert stack.failing() == set()
        assert stack.of("plain").serves is True
        assert culprit_of(stack, "plain") == (f"HTTPRoute {NAMESPACE}/plain", "route-stale")


@pytest.mark.states("route-awaited", "no-endpoints")
def test_a_route_is_awaited_while_its_service_is_not_ready_and_missing_later(stack):
    route = (NAMESPACE, "code")
    with made(stack, deleted("HTTPRoute", route)):
        with made_engines_hang(stack):
            eventually(lambda: "no-endpoints" in states(stack, "code"), SECONDS)
            assert "route-awaited" in states(stack, "code")
            assert stack.of("code").culprit.object.kind == "Pod"
        assert culprit_of(stack, "code", NOW) == (f"HTTPRoute {NAMESPACE}/code", "route-awaited")
        assert stack.of("code", later=NOW).level is Level.NORMAL
        assert culprit_of(stack, "code") == (f"HTTPRoute {NAMESPACE}/code", "route-missing")


@contextlib.contextmanager
def made_engines_hang(stack):
    repair = unready("code")(stack)
    yield
    repair()
    stack.follow_pods()


@pytest.mark.states("canary-empty")
def test_a_canary_without_endpoints_takes_its_share_away(stack):
    with made(stack, unready("chat", "canary")):
        eventually(lambda: stack.failing() == {"chat"}, SECONDS)
        assert "canary-empty" in states(stack, "chat")
        assert stack.of("chat").culprit.object.name.startswith("chat-canary-decode-")


@pytest.mark.states("fail-open")
def test_a_pool_that_fails_open_serves_without_a_picker(stack):
    with made(stack, named("picker-stopped-open").make):
        eventually(lambda: stack.status().exit_code is ExitCode.DEGRADED, SECONDS)
        assert states(stack, "open") >= {"fail-open", "picker-stopped"}
        # The proxy tries the picker's last address until it has asked for addresses again.
        eventually(lambda: stack.failing() == set(), SECONDS)
        assert stack.of("open").serves is True


@pytest.mark.states("picker-waits", "picker-slow")
def test_a_picker_that_just_started_is_waited_for_and_blamed_later(stack):
    with made(stack, named("picker-hangs-code").make):
        eventually(lambda: stack.failing() == {"code"}, SECONDS)
        culprit = stack.of("code", later=NOW).culprit
        assert culprit.state.id == "picker-waits"
        assert stack.status(later=NOW).exit_code is ExitCode.DEGRADED
        assert stack.of("code").culprit.state.id == "picker-slow"


def paused(stack):
    """Pause the Deployment of a picker and delete its ReplicaSet: nobody makes pods, and nobody says why."""
    place = (NAMESPACE, "code-epp")
    repair = edited("Deployment", place, "/spec/paused", True)(stack)
    owned = [
        item["metadata"]["name"]
        for item in stack.editor.items("ReplicaSet", NAMESPACE)
        if item["metadata"]["ownerReferences"][0]["name"] == "code-epp"
    ]
    stack.stop_picker("code-epp")
    for name in owned:
        stack.editor.delete("ReplicaSet", NAMESPACE, name)

    def undo():
        repair()
        stack.start_picker("code-epp")

    return undo


@pytest.mark.states("picker-down")
def test_a_picker_whose_pods_nobody_makes_is_down(stack):
    with made(stack, paused):
        eventually(lambda: stack.failing() == {"code"} and not stack.pods("endpoint-picker", "code"), SECONDS)
        eventually(lambda: culprit_of(stack, "code") == (f"Deployment {NAMESPACE}/code-epp", "picker-down"), SECONDS)


@pytest.mark.states("picker-refuses")
def test_a_picker_that_refuses_its_configuration_is_quoted(stack):
    code, message = stack.refusal("code-epp")
    crash = partial(crashing, "epp", code, message)
    with made(stack, picker_down("code-epp", "code", "primary", crash)):
        eventually(lambda: stack.failing() == {"code"}, SECONDS)
        culprit = stack.of("code").culprit
        assert culprit.state.id == "picker-refuses"
        assert "no-such-plugin" in culprit.words


def test_a_pickers_note_says_who_leads_since_when(stack):
    notes = {component.link: component.note for component in stack.of("pair").components}
    acquired = time(stack.editor.get("Lease", NAMESPACE, LEASE)["spec"]["acquireTime"])
    assert notes["picker"].startswith("pair-epp-")
    assert notes["picker"].endswith(f" leads since {acquired:%H:%M}")
    assert notes["route"] == f"/{NAMESPACE}/pair at gateways/gateway, accepted"


def named(name):
    (fault,) = (fault for fault in FAULTS if fault.name == name)
    return fault
