"""A Gateway is judged for a service by the listeners to which the service's route attaches."""

import pytest

from tests.support.living_objects import Living

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
