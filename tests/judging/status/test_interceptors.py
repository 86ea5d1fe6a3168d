"""Interceptors on the way of requests: the Services that they find, and those of which nothing is known."""

import dataclasses
from datetime import timedelta

import pytest

from judging.status import verdict
from judging.status.evidence import RouteExpectation
from judging.status.records import Link
from planning.ground.snapshot import DEPLOYMENT, POD, ROUTE, SERVICE
from tests.support.cluster.status import marked
from tests.support.healthy import NOW, replaced, whole
from tests.support.living_objects import Living
from tests.support.stacks.varied_metering import metered

ID = "saturncloud.io/resource-id"


@pytest.fixture
def ready():
    return whole(marked(metered(qwen={"interceptor": {"resourceId": "chat"}})))


def service(snapshot, routes=None):
    (status,) = verdict.of(snapshot, {}, routes).services
    return status


def link(status):
    return next(component for component in status.components if component.link is Link.INTERCEPTOR)


def judged(snapshot):
    """Return whether the service serves, and the object and the state to blame."""
    status = service(snapshot)
    culprit = status.culprit
    return status.serves, culprit and (str(culprit.object), culprit.state.id)


def with_services(ready, *services):
    return replaced(ready, **{SERVICE: services})


def routed(ready):
    """Return the Service that has the resource id."""
    return next(item for item in ready.of(SERVICE) if ID in item["metadata"]["labels"])


def named(item, name):
    return {**item, "metadata": {**item["metadata"], "name": name}}


def test_a_service_that_the_interceptor_finds_serves(ready):
    assert judged(ready) == (True, None)
    assert judged(with_services(ready, routed(ready))) == (True, None)


def test_without_a_service_with_the_resource_id_metered_requests_end(ready):
    assert judged(with_services(ready)) == (False, ("Service models/qwen", "meter-none"))
    other_id = routed(ready)
    other_id["metadata"]["labels"][ID] = "other"
    assert judged(with_services(ready, other_id)) == (False, ("Service models/qwen", "meter-none"))


def test_a_service_without_the_resource_id_is_awaited_for_a_minute_after_a_change_of_the_route(ready):
    lacking = with_services(ready)
    (route,) = lacking.of(ROUTE)
    route["metadata"]["creationTimestamp"] = f"{NOW - timedelta(seconds=50):%Y-%m-%dT%H:%M:%SZ}"
    assert judged(lacking) == (False, ("Service models/qwen", "meter-awaited"))
    later = dataclasses.replace(lacking, read_at=NOW + timedelta(seconds=20))
    assert judged(later) == (False, ("Service models/qwen", "meter-none"))


def test_requests_that_the_interceptor_sends_to_another_service_do_not_reach_the_service(ready):
    stranger = named(routed(ready), "stranger")
    assert judged(with_services(ready, stranger)) == (False, ("Service models/stranger", "meter-other"))
    (state,) = link(service(with_services(ready, stranger))).findings
    assert state.words == (
        "is the only Service with the resource id chat, so the interceptor sends the requests of qwen to it"
    )


def test_two_services_with_the_resource_id_end_metered_requests(ready):
    both = with_services(ready, routed(ready), named(routed(ready), "twin"))
    assert judged(both) == (False, ("Service models/twin", "meter-double"))


def test_a_service_without_a_clear_port_ends_metered_requests(ready):
    found = routed(ready)
    found["spec"]["ports"] = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
    assert judged(with_services(ready, found)) == (False, ("Service models/qwen", "meter-portless"))
    found["spec"]["ports"][1]["name"] = "8000"
    assert judged(with_services(ready, found)) == (True, None)


def elsewhere(ready):
    """Return the snapshot of a stack whose interceptor is that of another stack, which was not read."""
    deployments = [item for item in ready.of(DEPLOYMENT) if item["metadata"]["namespace"] != "metering"]
    pods = [item for item in ready.of(POD) if item["metadata"]["namespace"] != "metering"]
    return replaced(ready, **{DEPLOYMENT: deployments, POD: pods})


def test_nothing_is_told_of_an_interceptor_in_a_namespace_that_was_not_read(ready):
    unread = dataclasses.replace(elsewhere(ready), namespaces=frozenset({"models"}))
    status = service(unread)
    assert (status.serves, status.culprit) == (None, None)
    assert (link(status).is_broken, link(status).note) == (None, "is in a namespace that was not read")


def test_an_interceptor_of_others_in_a_namespace_that_was_read_is_taken_to_answer(ready):
    for namespaces in (None, frozenset({"models", "metering"})):
        status = service(dataclasses.replace(elsewhere(ready), namespaces=namespaces))
        assert status.serves is True
        assert link(status).note == "is not deployed by a stack"


def test_nothing_is_told_of_requests_to_a_service_that_is_not_in_the_plan():
    living = Living()
    (rule,) = living.of("HTTPRoute", "plain")["spec"]["rules"]
    rule["backendRefs"].append({"name": "stranger", "port": 80, "weight": 9})
    assert living.status("plain").serves is True
    living.routes = {("living", "plain"): RouteExpectation({"plain": 100})}
    status = living.status("plain")
    assert status.serves is None
    assert link(status).note == "is not in the plan"
    living.routes = {("living", "plain"): RouteExpectation({"plain": 10, "stranger": 90})}
    assert living.status("plain").serves is True
