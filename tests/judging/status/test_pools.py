"""A service without a route is judged by its Service, and one with a route by the backends of the route."""

import copy

import pytest

from judging.status.evidence import RouteExpectation
from judging.status.records import Link
from planning.ground.snapshot import POD
from tests.support.living_objects import NAMESPACE, Living


@pytest.fixture
def living():
    return Living()


def without_route(living, name):
    living.remove("HTTPRoute", name)
    return living


def stop_picker(living, name):
    living.remove("Deployment", f"{name}-epp")


def let_pool_select_nobody(living, name):
    living.of("InferencePool", name)["spec"]["selector"]["matchLabels"]["inference-stacks.io/service"] = "nobody"


def refuse_pool(living, name):
    (parent,) = living.of("InferencePool", name)["status"]["parents"]
    parent["conditions"][1].update(status="False", reason="InvalidExtensionRef", message="not found")


@pytest.mark.parametrize("change", [stop_picker, let_pool_select_nobody, refuse_pool])
def test_without_a_route_neither_pool_nor_picker_stops_requests(change, living):
    change(living, "pair")
    assert living.status("pair").serves is False
    assert without_route(living, "pair").status("pair").serves is True


def test_without_a_route_a_service_needs_a_ready_pod(living):
    status = without_route(living, "pair").status("pair")
    services = [str(part.object) for part in status.components if part.link is Link.POOL]
    assert services == [f"InferencePool {NAMESPACE}/pair", f"Service {NAMESPACE}/pair"]
    living.unready("pair-decode")
    assert living.status("pair").serves is False
    assert "no-endpoints" in living.states("pair")


def test_without_a_route_a_canary_is_asked_by_its_own_service_alone(living):
    without_route(living, "chat").unready("chat-canary-decode")
    assert living.status("chat").serves is True
    living.unready("chat-decode")
    assert living.status("chat").serves is False


def test_without_a_route_a_missing_workload_has_the_name_of_the_pool(living):
    without_route(living, "pair").remove("Deployment", "pair-decode")
    assert living.culprit("pair") == (f"Deployment {NAMESPACE}/pair-decode", "workload-missing")
    living.of("InferencePool", "pair")["metadata"]["name"] = "pair-3f2a1"
    assert living.culprit("pair") == (f"Deployment {NAMESPACE}/pair-3f2a1-decode", "workload-missing")


def test_the_route_that_a_run_is_about_to_make_leads_to_the_pool(living):
    living.routes[NAMESPACE, "pair"] = RouteExpectation({"pair": 100})
    stop_picker(without_route(living, "pair"), "pair")
    living.unready("pair-decode")
    links = {part.link: part for part in living.status("pair").components}
    assert links[Link.PICKER].is_broken is True
    assert str(links[Link.POOL].object) == f"InferencePool {NAMESPACE}/pair"


def test_what_another_gateway_says_of_a_pool_is_not_blamed(living):
    parents = living.of("InferencePool", "pair")["status"]["parents"]
    refused = copy.deepcopy(parents[0])
    refused["parentRef"]["name"] = "of-others"
    refused["conditions"][1].update(status="False", reason="InvalidExtensionRef", message="not found")
    parents.insert(0, refused)
    assert (living.status("pair").serves, living.status("pair").culprit) == (True, None)
    refused["parentRef"]["name"] = "gateway"
    assert (living.status("pair").serves, living.status("pair").culprit.state.id) == (True, "pool-refused")
    del parents[1]
    assert (living.status("pair").serves, living.status("pair").culprit.state.id) == (False, "pool-refused")


def test_what_any_gateway_says_of_a_pool_counts_for_a_set_of_listeners(living):
    route = living.of("HTTPRoute", "pair")
    for reference in (route["spec"]["parentRefs"][0], route["status"]["parents"][0]["parentRef"]):
        reference |= {"kind": "ListenerSet", "name": "set"}
    assert living.status("pair").serves is True
    refuse_pool(living, "pair")
    assert living.status("pair").serves is False


def test_a_pool_of_another_service_exists_and_is_not_judged(living):
    refs = living.of("HTTPRoute", "open")["spec"]["rules"][0]["backendRefs"]
    refs.append(refs[0] | {"name": "pair", "weight": 0})
    assert (living.status("open").serves, living.status("open").culprit) == (True, None)
    refs[1]["weight"] = 1
    assert (living.status("open").serves, living.status("open").culprit) == (None, None)
    living.remove("InferencePool", "pair")
    assert living.culprit("open") == (f"InferencePool {NAMESPACE}/pair", "pool-missing")


def test_a_missing_pool_of_another_service_counts_by_the_rule_with_its_largest_share(living):
    rules = living.of("HTTPRoute", "open")["spec"]["rules"]
    refs = rules[0]["backendRefs"]
    path = {"path": {"type": "PathPrefix", "value": f"/{NAMESPACE}/open/v2"}}
    rules.append(rules[0] | {"matches": [path], "backendRefs": [*refs, refs[0] | {"name": "gone", "weight": 0}]})
    assert living.status("open").serves is True
    rules.insert(0, rules[1] | {"backendRefs": [*refs, refs[0] | {"name": "gone", "weight": 1}]})
    assert living.culprit("open") == (f"InferencePool {NAMESPACE}/gone", "pool-missing")


@pytest.mark.parametrize(("role", "serves"), [("decode-amd", True), ("prefill-long", False)])
def test_pods_of_a_set_answer_if_the_set_is_one_of_decode(role, serves, living):
    key = "inference-stacks.io/role"
    deployment = living.of("Deployment", "pair-decode")
    deployment["spec"]["selector"]["matchLabels"][key] = role
    for item in living.objects[POD]:
        if item["metadata"]["name"].startswith("pair-decode"):
            item["metadata"]["labels"][key] = role
    assert living.status("pair").serves is serves
