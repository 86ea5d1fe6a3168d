"""A Gateway is judged for a service by the listeners to which the service's route attaches."""

import base64
import copy
from datetime import UTC, datetime, timedelta

import pytest

from judging.status import attachments, evidence, gateways, topology
from judging.status.records import Link
from judging.status.states import Level
from planning.ground.snapshot import GATEWAY as GATEWAYS
from planning.ground.snapshot import TLS_CERTIFICATE, Snapshot
from tests.support.cluster import certificates
from tests.support.living_objects import LATER, Living

GATEWAY = "Gateway gateways/gateway"


@pytest.fixture
def living():
    return Living()


def with_fault(living, kind, reason, **listener):
    """Add a listener with a condition that is not met, and return it."""
    gateway = living.of("Gateway", "gateway")
    added = gateway["spec"]["listeners"][0] | {"name": "aside", "port": 8443, **listener}
    gateway["spec"]["listeners"].append(added)
    entry = {"type": kind, "status": "False", "reason": reason, "message": "no", "observedGeneration": 1}
    gateway["status"]["listeners"].append({"name": "aside", "attachedRoutes": 0, "conditions": [entry]})
    return added


def with_programmed(living, **entry):
    """Let the Gateway say that it is not programmed."""
    conditions = living.of("Gateway", "gateway")["status"]["conditions"]
    programmed = next(condition for condition in conditions if condition["type"] == "Programmed")
    programmed.update(status="False", **entry)


def changed(item, moment):
    """Let somebody have changed an object at a moment."""
    item["metadata"]["managedFields"] = [{"manager": "kubectl", "time": f"{moment:%Y-%m-%dT%H:%M:%SZ}"}]


def with_further_gateway(living):
    """Let the route attach to a further Gateway, which takes the same hosts, and return it."""
    further = copy.deepcopy(living.of("Gateway", "gateway"))
    further["metadata"]["name"] = "other"
    living.objects[GATEWAYS].append(further)
    route = living.of("HTTPRoute", "plain")
    ref = route["spec"]["parentRefs"][0] | {"name": "other"}
    route["spec"]["parentRefs"].append(ref)
    route["status"]["parents"].append(route["status"]["parents"][0] | {"parentRef": ref})
    return further


def off(gateway):
    """Let a Gateway not be programmed."""
    conditions = gateway["status"]["conditions"]
    next(entry for entry in conditions if entry["type"] == "Programmed").update(status="False", reason="Invalid")


OF_OTHERS = {
    "another namespace": {"allowedRoutes": {"namespaces": {"from": "Same"}}},
    "another kind": {"allowedRoutes": {"namespaces": {"from": "All"}, "kinds": [{"kind": "GRPCRoute"}]}},
    "another protocol": {"protocol": "TLS"},
}


@pytest.mark.parametrize("listener", OF_OTHERS.values(), ids=OF_OTHERS)
def test_the_fault_of_a_listener_of_others_is_not_blamed(listener, living):
    with_fault(living, "ResolvedRefs", "InvalidCertificateRef", **listener)
    status = living.status("plain")
    assert (status.serves, status.culprit) == (True, None)


def test_the_fault_of_a_listener_of_another_host_is_not_blamed(living):
    with_fault(living, "ResolvedRefs", "InvalidCertificateRef", hostname="*.example.org")
    route = living.of("HTTPRoute", "plain")
    assert living.culprit("plain") == (GATEWAY, "listener-cert")
    route["spec"]["hostnames"] = ["example.org"]
    assert living.culprit("plain") is None
    route["spec"]["hostnames"] = ["a.example.org"]
    assert living.culprit("plain") == (GATEWAY, "listener-cert")


def test_a_service_does_not_serve_if_all_of_its_listeners_fail_although_others_work(living):
    (first,) = living.of("Gateway", "gateway")["spec"]["listeners"]
    with_fault(living, "Programmed", "Invalid")
    assert living.status("plain").serves is True
    first["allowedRoutes"] = {"namespaces": {"from": "Same"}}
    assert (living.status("plain").serves, living.culprit("plain")) == (False, (GATEWAY, "listener-off"))


def test_each_host_that_a_route_names_needs_a_listener_that_works(living):
    with_fault(living, "Programmed", "Invalid", hostname="*.example.org")
    (first, _) = living.of("Gateway", "gateway")["spec"]["listeners"]
    first["hostname"] = "example.com"
    assert living.status("plain").serves is True
    route = living.of("HTTPRoute", "plain")
    route["spec"]["hostnames"] = ["example.com", "nobody.example"]
    assert (living.status("plain").serves, living.culprit("plain")) == (True, None)
    route["spec"]["hostnames"] = ["example.com", "a.example.org"]
    assert (living.status("plain").serves, living.culprit("plain")) == (False, (GATEWAY, "listener-off"))
    del first["hostname"]
    assert (living.status("plain").serves, living.culprit("plain")) == (True, (GATEWAY, "listener-off"))


def test_a_port_that_lacks_behind_the_only_listener_of_a_route_stops_it(living):
    (first,) = living.of("Gateway", "gateway")["spec"]["listeners"]
    gateway = living.of("Gateway", "gateway")
    gateway["spec"]["listeners"].append(first | {"name": "aside", "port": 8443})
    programmed = next(entry for entry in gateway["status"]["conditions"] if entry["type"] == "Programmed")
    programmed.update(status="False", message='port 8443 not found for hostname "gateway-istio"')
    assert living.status("plain").serves is True
    first["allowedRoutes"] = {"namespaces": {"from": "Same"}}
    assert living.status("plain").serves is False


def test_a_listener_with_a_kind_that_its_controller_does_not_know_serves_the_others(living):
    kinds = [{"kind": "HTTPRoute"}, {"kind": "TomorrowRoute"}]
    (first,) = living.of("Gateway", "gateway")["spec"]["listeners"]
    (entry,) = living.of("Gateway", "gateway")["status"]["listeners"]
    first["allowedRoutes"]["kinds"] = kinds
    resolved = next(condition for condition in entry["conditions"] if condition["type"] == "ResolvedRefs")
    resolved.update(status="False", reason="InvalidRouteKinds", message="Invalid route kinds")
    assert (living.status("plain").serves, living.status("plain").culprit) == (True, None)
    resolved["reason"] = "RefNotPermitted"
    assert living.culprit("plain") == (GATEWAY, "listener-cert")


@pytest.mark.parametrize("kind", ["ResolvedRefs", "Programmed"])
def test_a_listener_of_a_gateway_that_was_just_changed_may_still_come_to_work(kind, living):
    gateway = living.of("Gateway", "gateway")
    changed(gateway, living.read_at - timedelta(seconds=3))
    conditions = gateway["status"]["listeners"][0]["conditions"]
    entry = next(condition for condition in conditions if condition["type"] == kind)
    entry.update(status="False", reason="InvalidCertificateRef", message="no Secret")
    status = living.status("plain", timedelta())
    assert (status.serves, status.culprit.state.id, status.level) == (False, "gateway-new", Level.NORMAL)
    later = living.status("plain", timedelta(seconds=58))
    assert (later.serves, later.level) == (False, Level.BROKEN)
    assert later.culprit.state.id.startswith("listener-")


def test_a_gateway_that_lacks_further_addresses_serves_at_those_that_it_has(living):
    with_programmed(living, reason="AddressNotAssigned", message="one of two addresses is not assigned")
    (component,) = [link for link in living.status("plain").components if link.link is Link.GATEWAY]
    assert (living.status("plain").serves, component.is_broken, component.level) == (True, False, Level.DEGRADED)
    assert living.culprit("plain") == (GATEWAY, "gateway-off")
    living.of("Gateway", "gateway")["status"]["addresses"] = []
    assert living.status("plain").serves is False


def test_addresses_of_before_take_no_requests_if_istio_says_that_nothing_is_behind_them(living):
    message = 'Failed to assign to any requested addresses: no instances found for hostname "gateway-istio"'
    with_programmed(living, reason="AddressNotAssigned", message=message)
    assert (living.status("plain").serves, living.culprit("plain")) == (False, (GATEWAY, "gateway-off"))


def test_a_gateway_that_lacks_addresses_is_judged_by_its_listeners_nevertheless(living):
    with_programmed(living, reason="AddressNotAssigned", message="one of two addresses is not assigned")
    conditions = living.of("Gateway", "gateway")["status"]["listeners"][0]["conditions"]
    next(condition for condition in conditions if condition["type"] == "Programmed")["status"] = "False"
    assert living.status("plain").serves is False
    assert living.states("plain") == {"gateway-off", "listener-off"}


def test_a_host_whose_only_gateway_is_off_is_not_served(living):
    further = with_further_gateway(living)
    living.of("HTTPRoute", "plain")["spec"]["hostnames"] = ["a.example.org", "b.example.org"]
    off(further)
    assert (living.status("plain").serves, living.culprit("plain")) == (True, ("Gateway gateways/other", "gateway-off"))
    further["spec"]["listeners"][0]["hostname"] = "b.example.org"
    assert living.status("plain").serves is True
    living.of("Gateway", "gateway")["spec"]["listeners"][0]["hostname"] = "a.example.org"
    assert (living.status("plain").serves, living.culprit("plain")) == (
        False,
        ("Gateway gateways/other", "gateway-off"),
    )


def test_a_gateway_that_is_gone_stops_nothing_that_another_one_serves(living):
    further = with_further_gateway(living)
    living.objects[GATEWAYS].remove(further)
    assert living.status("plain").serves is True
    off(living.of("Gateway", "gateway"))
    assert living.status("plain").serves is False


def test_a_gateway_is_judged_for_each_route_of_a_service(living):
    with_fault(living, "Programmed", "Invalid", hostname="b.example.org")
    route = living.of("HTTPRoute", "plain")
    living.of("Gateway", "gateway")["spec"]["listeners"][0]["hostname"] = "a.example.org"
    further = copy.deepcopy(route)
    further["metadata"]["name"] = "plain-b"
    further["metadata"]["labels"]["app.kubernetes.io/name"] = "plain"
    for live, host in ((further, "b.example.org"), (route, "a.example.org")):
        live["spec"]["hostnames"] = [host]
        assert attachments.hostnames(live) == [host]
    verdicts = [(live, gateways.verdicts(live, *judged(living))) for live in (further, route)]
    assert [of_places["gateways", "gateway"].broken for _, of_places in verdicts] == [
        {"b.example.org": True},
        {"a.example.org": False},
    ]
    for of_routes in (verdicts, verdicts[::-1]):
        (link,) = gateways.components(of_routes)
        assert (link.is_broken, [state.state.id for state in link.findings]) == (True, ["listener-off"])


def judged(living):
    """Return the topology and the evidence of some objects."""
    snapshot = Snapshot(living.read_at + LATER, living.objects)
    return topology.of(snapshot), evidence.of(snapshot, {}, {})


@pytest.fixture
def narrowed(living):
    """Return a Gateway with a further listener of the same port for the only host of a route, on which all is well."""
    gateway = living.of("Gateway", "gateway")
    living.of("HTTPRoute", "plain")["spec"]["hostnames"] = ["chat.example.org"]
    (wide,) = gateway["spec"]["listeners"]
    narrow = copy.deepcopy(wide) | {"name": "narrow", "hostname": "chat.example.org"}
    gateway["spec"]["listeners"].append(narrow)
    gateway["status"]["listeners"].append(copy.deepcopy(gateway["status"]["listeners"][0]) | {"name": "narrow"})
    return gateway


@pytest.fixture
def let_expire(living, tmp_path):
    """Return what gives a listener a certificate that has expired."""
    living.read_at = datetime.now(UTC) + timedelta(days=2)
    data = base64.b64encode(certificates.make(tmp_path).data("server")).decode()
    secret = {"metadata": {"namespace": "gateways", "name": "old-tls"}, "data": {"tls.crt": data}}
    living.objects[TLS_CERTIFICATE] = [secret]

    def expire(listener):
        listener["tls"] = {"certificateRefs": [{"name": "old-tls"}]}

    return expire


@pytest.mark.parametrize("hostname", ["chat.example.org", "*.example.org", "*.org"])
def test_a_listener_takes_the_requests_of_a_less_specific_one_of_its_port(hostname, living, narrowed, let_expire):
    narrow = narrowed["spec"]["listeners"][1]
    narrow["hostname"] = hostname
    assert (living.status("plain").serves, living.culprit("plain")) == (True, None)
    let_expire(narrow)
    assert (living.status("plain").serves, living.culprit("plain")[1]) == (False, "certificate-expired")
    narrow["port"] = 8443
    assert living.status("plain").serves is True


def test_a_less_specific_listener_stops_nothing(living, narrowed, let_expire):
    let_expire(narrowed["spec"]["listeners"][0])
    assert living.status("plain").serves is True


def test_a_more_specific_listener_that_does_not_work_takes_no_requests(living, narrowed):
    conditions = narrowed["status"]["listeners"][1]["conditions"]
    next(entry for entry in conditions if entry["type"] == "Programmed")["status"] = "False"
    assert (living.status("plain").serves, living.culprit("plain")) == (True, (GATEWAY, "listener-off"))


def test_it_is_unknown_what_a_listener_does_with_requests_if_it_does_not_admit_the_route(living, narrowed):
    narrow = narrowed["spec"]["listeners"][1]
    narrow["allowedRoutes"] = {"namespaces": {"from": "Same"}}
    assert living.status("plain").serves is None
    narrow["hostname"] = "other.example.org"
    assert living.status("plain").serves is True


def test_a_listener_for_some_hosts_of_a_wildcard_leaves_the_others(living, narrowed):
    narrowed["spec"]["listeners"][1]["allowedRoutes"] = {"namespaces": {"from": "Same"}}
    living.of("HTTPRoute", "plain")["spec"]["hostnames"] = ["*.example.org"]
    assert living.status("plain").serves is True
