import copy
from datetime import timedelta

import pytest

from judging.status.evidence import RouteExpectation
from judging.status.records import Link
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import GATEWAY, ROUTE
from tests.support.living_objects import NAMESPACE, Living

UNKNOWN = Unknown("it answered 403")


@pytest.fixture
def living():
    return Living()


def accepted(parents):
    """Return what the only parent of some says of acceptance."""
    (entry,) = parents
    return next(condition for condition in entry["conditions"] if condition["type"] == "Accepted")


@pytest.mark.parametrize("name", ["chat", "open", "pair", "plain"])
def test_a_service_whose_links_are_all_in_order_serves_and_nobody_is_blamed(name, living):
    status = living.status(name)
    assert (status.serves, status.culprit, status.others) == (True, None, ())


def test_the_note_of_a_route_says_where_its_requests_come_in(living):
    notes = {component.link: component.note for component in living.status("plain").components}
    assert notes[Link.ROUTE] == f"/{NAMESPACE}/plain at gateways/gateway, accepted"


def test_a_refused_route_is_quoted_with_controller_reason_and_time(living):
    accepted(living.of("HTTPRoute", "plain")["status"]["parents"]).update(
        status="False", reason="NotAllowedByListeners", message="no", lastTransitionTime="2026-11-28T02:20:00Z"
    )
    status = living.status("plain")
    assert status.serves is False
    assert status.culprit.words == "is refused by istio.io/gateway-controller: NotAllowedByListeners no"
    assert f"{status.since:%H:%M}" == "02:20"
    assert living.status("open").serves is True


def test_a_route_that_another_controller_accepts_too_is_not_refused(living):
    entries = living.of("HTTPRoute", "plain")["status"]["parents"]
    refusal = {"type": "Accepted", "status": "False"}
    entries.insert(0, entries[0] | {"controllerName": "example.com/other", "conditions": [refusal]})
    assert living.status("plain").serves is True


def test_a_route_at_two_gateways_serves_while_one_accepts_it(living):
    route = living.of("HTTPRoute", "plain")
    route["spec"]["parentRefs"].append(route["spec"]["parentRefs"][0] | {"name": "other"})
    status = living.status("plain")
    assert status.serves is True
    assert status.culprit.state.id == "gateway-missing"


def test_a_route_that_is_refused_at_the_only_gateway_that_works_stops_all_requests(living):
    route = living.of("HTTPRoute", "plain")
    (entry,) = route["status"]["parents"]
    elsewhere = route["spec"]["parentRefs"][0] | {"name": "other"}
    route["spec"]["parentRefs"].append(elsewhere)
    route["status"]["parents"].append(copy.deepcopy(entry) | {"parentRef": elsewhere})
    assert living.status("plain").serves is True
    accepted(route["status"]["parents"][:1]).update(status="False", reason="NotAllowedByListeners", message="no")
    assert living.status("plain").serves is False
    assert living.culprit("plain") == (f"HTTPRoute {NAMESPACE}/plain", "route-refused")


SETS = {
    "ListenerSet": {"group": "gateway.networking.k8s.io", "kind": "ListenerSet"},
    "XListenerSet": {"group": "gateway.networking.x-k8s.io", "kind": "XListenerSet"},
}


@pytest.fixture(params=SETS)
def at_set(request, living):
    """Return objects of which a route has a set of listeners as its parent, with the name of the Gateway."""
    route = living.of("HTTPRoute", "plain")
    route["spec"]["parentRefs"][0] |= SETS[request.param]
    route["status"]["parents"][0]["parentRef"] |= SETS[request.param]
    return living, request.param


def test_a_route_at_a_set_of_listeners_is_judged_by_what_controllers_say_of_it(at_set):
    living, kind = at_set
    notes = {component.link: component.note for component in living.status("plain").components}
    assert notes[Link.ROUTE] == f"/{NAMESPACE}/plain at {kind} gateways/gateway, accepted"
    assert (living.status("plain").serves, living.culprit("plain")) == (True, None)
    living.remove("Gateway", "gateway")
    assert living.status("plain").serves is True
    accepted(living.of("HTTPRoute", "plain")["status"]["parents"]).update(status="False", reason="NoMatchingParent")
    assert (living.status("plain").serves, living.status("plain").culprit.state.id) == (False, "route-refused")


def test_a_route_at_a_set_of_listeners_that_nobody_knows_is_unseen(at_set):
    living, kind = at_set
    route = living.of("HTTPRoute", "plain")
    route["status"]["parents"][0]["parentRef"] |= {"group": "gateway.networking.k8s.io", "kind": "Gateway"}
    status = living.status("plain")
    assert status.serves is False
    assert status.culprit.words == f"is not known to any gateway controller at {kind} gateways/gateway"


def test_a_route_at_a_set_of_listeners_may_have_unresolved_references_and_be_stale(at_set):
    living, _ = at_set
    route = living.of("HTTPRoute", "plain")
    (entry,) = route["status"]["parents"]
    route["metadata"]["generation"] += 1
    assert (living.status("plain").serves, living.status("plain").culprit.state.id) == (True, "route-stale")
    resolved = next(condition for condition in entry["conditions"] if condition["type"] == "ResolvedRefs")
    resolved.update(status="False", reason="InvalidFilter", message="no")
    assert (living.status("plain").serves, living.status("plain").culprit.state.id) == (False, "route-unresolved")


def test_a_broken_gateway_stops_no_requests_that_come_by_a_set_of_listeners(living):
    route = living.of("HTTPRoute", "plain")
    by_set = route["spec"]["parentRefs"][0] | SETS["ListenerSet"] | {"name": "set"}
    route["spec"]["parentRefs"].append(by_set)
    route["status"]["parents"].append(copy.deepcopy(route["status"]["parents"][0]) | {"parentRef": by_set})
    living.remove("Gateway", "gateway")
    status = living.status("plain")
    assert (status.serves, status.culprit.state.id) == (True, "gateway-missing")
    accepted(route["status"]["parents"][1:]).update(status="False", reason="NoMatchingParent")
    assert living.status("plain").serves is False


def test_nothing_is_told_of_a_route_with_parents_of_other_kinds_alone(living):
    living.of("HTTPRoute", "plain")["spec"]["parentRefs"][0] |= {"group": "", "kind": "Service"}
    status = living.status("plain")
    assert (status.serves, status.culprit) == (None, None)


def test_a_route_without_an_answer_is_new_for_a_minute_and_unseen_later(living):
    route = living.of("HTTPRoute", "plain")
    del route["status"]
    route["metadata"]["managedFields"] = [{"manager": "kubectl", "time": f"{living.read_at:%Y-%m-%dT%H:%M:%SZ}"}]
    assert "route-new" in living.states("plain", living.read_at - living.read_at)
    assert "route-unseen" in living.states("plain")


def test_a_backend_without_a_share_that_is_not_found_stops_nothing(living):
    route = living.of("HTTPRoute", "open")
    (entry,) = route["status"]["parents"]
    resolved = next(condition for condition in entry["conditions"] if condition["type"] == "ResolvedRefs")
    resolved.update(status="False", reason="BackendNotFound", message="backend(gone) not found")
    refs = route["spec"]["rules"][0]["backendRefs"]
    refs.append(refs[0] | {"name": "gone", "weight": 0})
    assert living.status("open").serves is True
    refs[1]["weight"] = 1
    assert living.culprit("open") == (f"InferencePool {NAMESPACE}/gone", "pool-missing")
    resolved["reason"] = "InvalidFilter"
    assert living.culprit("open") == (f"HTTPRoute {NAMESPACE}/open", "route-unresolved")


def test_weights_are_compared_with_the_plan(living):
    living.routes[NAMESPACE, "chat"] = RouteExpectation({"chat": 50, "chat-canary": 50})
    assert living.states("chat") == set()
    living.of("HTTPRoute", "chat")["spec"]["rules"][0]["backendRefs"][0]["weight"] = 150
    status = living.status("chat")
    assert status.serves is True
    assert (
        status.culprit.words
        == "shares requests as chat 25 %, chat-canary 75 %, the stack as chat 50 %, chat-canary 50 %"
    )


def test_a_backend_that_somebody_has_added_is_named_with_writer_and_time(living):
    living.routes[NAMESPACE, "chat"] = RouteExpectation({"chat": 50, "chat-canary": 50})
    route = living.of("HTTPRoute", "chat")
    route["metadata"]["managedFields"] += [
        {"manager": "kubectl-edit", "time": "2026-11-28T02:17:50Z", "fieldsV1": {"f:spec": {"f:rules": {}}}},
        {"manager": "labeller", "time": "2026-11-28T02:17:55Z", "fieldsV1": {"f:metadata": {"f:labels": {}}}},
    ]
    assert living.states("chat") == set()
    route["spec"]["rules"][0]["backendRefs"].append({"name": "stranger", "port": 80, "weight": 100})
    (drift,) = next(link for link in living.status("chat").components if link.link is Link.ROUTE).findings
    assert drift.words == (
        "shares requests as chat 25 %, chat-canary 25 %, stranger 50 %, the stack as chat 50 %, chat-canary 50 %"
        "; kubectl-edit has written its rules"
    )
    assert f"{drift.since:%H:%M:%S}" == "02:17:50"


def test_a_pool_of_another_generation_is_no_drift(living):
    living.routes[NAMESPACE, "open"] = RouteExpectation({"open-2": 100})
    assert "weight-differs" not in living.states("open")


def test_a_rule_for_a_header_gives_a_canary_no_share_of_other_requests(living):
    rules = living.of("HTTPRoute", "chat")["spec"]["rules"]
    rules.insert(0, rules[0] | {"backendRefs": rules[0]["backendRefs"][:1], "matches": with_header(rules[0])})
    rules[1]["backendRefs"][0] = rules[1]["backendRefs"][0] | {"weight": 0}
    living.unready("chat-canary-decode")
    assert living.status("chat").serves is True
    assert "canary-empty" not in living.states("chat")


def test_a_rule_without_a_backend_leaves_its_requests_unanswered(living):
    rules = living.of("HTTPRoute", "plain")["spec"]["rules"]
    path = {"path": {"type": "PathPrefix", "value": f"/{NAMESPACE}/plain/v2"}}
    rules.append(copy.deepcopy(rules[0]) | {"matches": [path]})
    assert living.status("plain").serves is True
    rules[1]["backendRefs"][0]["weight"] = 0
    assert living.culprit("plain") == (f"HTTPRoute {NAMESPACE}/plain", "route-empty")
    assert living.status("plain").serves is False
    rules[1] = {"matches": [path], "filters": [{"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}]}
    assert living.status("plain").serves is True
    rules[1]["filters"] = []
    assert living.status("plain").serves is False


def unresolved(living, name, reason):
    """Let a controller not find what a route refers to."""
    (entry,) = living.of("HTTPRoute", name)["status"]["parents"]
    resolved = next(condition for condition in entry["conditions"] if condition["type"] == "ResolvedRefs")
    resolved.update(status="False", reason=reason, message="no")


@pytest.mark.parametrize("reason", ["BackendNotFound", "InvalidKind"])
def test_a_controller_that_does_not_find_pools_that_exist_stops_requests(reason, living):
    unresolved(living, "open", reason)
    assert living.status("open").serves is False
    assert living.culprit("open") == (f"HTTPRoute {NAMESPACE}/open", "route-unresolved")


def test_a_new_route_may_be_looked_at_before_its_pools(living):
    route = living.of("HTTPRoute", "open")
    route["metadata"]["managedFields"] = [{"manager": "kubectl", "time": f"{living.read_at:%Y-%m-%dT%H:%M:%SZ}"}]
    unresolved(living, "open", "BackendNotFound")
    assert living.status("open", timedelta()).serves is True
    assert "route-resolving" in living.states("open", timedelta())


def test_a_route_may_be_looked_at_before_its_new_pool(living):
    living.of("InferencePool", "open")["metadata"]["creationTimestamp"] = f"{living.read_at:%Y-%m-%dT%H:%M:%SZ}"
    unresolved(living, "open", "BackendNotFound")
    assert living.status("open", timedelta()).serves is True
    assert living.status("open").serves is False


def test_a_mirror_that_is_not_found_stops_no_request(living):
    mirror = {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "copies", "port": 80}}}
    living.of("HTTPRoute", "open")["spec"]["rules"][0]["filters"].append(mirror)
    unresolved(living, "open", "BackendNotFound")
    assert living.status("open").serves is True


def mirrored(rule):
    """Copy the requests of a rule to a Service."""
    mirror = {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "copies", "port": 80}}}
    rule["filters"].append(mirror)


def unused(rule):
    """Give a rule a further Service without a share."""
    rule["backendRefs"].append({"name": "copies", "port": 80, "weight": 0})


@pytest.mark.parametrize("reason", ["BackendNotFound", "RefNotPermitted", "InvalidKind"])
@pytest.mark.parametrize("edit", [mirrored, unused])
def test_whether_a_service_or_another_reference_is_not_found_is_unknown(edit, reason, living):
    unresolved(living, "plain", reason)
    assert (living.status("plain").serves, living.culprit("plain")) == (
        False,
        (f"HTTPRoute {NAMESPACE}/plain", "route-unresolved"),
    )
    edit(living.of("HTTPRoute", "plain")["spec"]["rules"][0])
    status = living.status("plain")
    assert (status.serves, status.culprit, living.states("plain")) == (None, None, {"route-unresolved"})


def test_an_unknown_reference_does_not_hide_a_parent_that_stops_nothing(living):
    route = living.of("HTTPRoute", "plain")
    mirrored(route["spec"]["rules"][0])
    unresolved(living, "plain", "BackendNotFound")
    aside = route["spec"]["parentRefs"][0] | {"port": 80}
    route["spec"]["parentRefs"].append(aside)
    entry = copy.deepcopy(route["status"]["parents"][0]) | {"parentRef": aside}
    route["status"]["parents"].append(entry)
    assert living.status("plain").serves is None
    for condition in entry["conditions"]:
        condition["status"] = "True"
    assert living.status("plain").serves is True


def test_a_controller_that_ignores_rules_stops_their_requests(living):
    (entry,) = living.of("HTTPRoute", "plain")["status"]["parents"]
    partial = {"type": "PartiallyInvalid", "status": "True", "reason": "UnsupportedValue", "message": "Dropped Rule 1"}
    entry["conditions"].append(partial)
    assert (living.status("plain").serves, living.status("plain").culprit.state.id) == (False, "route-refused")
    partial["message"] = "Fall Back to generation 1"
    assert (living.status("plain").serves, living.status("plain").culprit.state.id) == (True, "route-refused")
    partial["status"] = "False"
    assert living.status("plain").culprit is None


def test_what_a_removed_controller_said_of_a_former_generation_does_not_count(living):
    route = living.of("HTTPRoute", "plain")
    (entry,) = route["status"]["parents"]
    route["metadata"]["generation"] += 1
    refusal = {"type": "Accepted", "status": "False", "observedGeneration": route["metadata"]["generation"]}
    route["status"]["parents"].append(entry | {"controllerName": "example.com/new", "conditions": [refusal]})
    assert (living.status("plain").serves, living.status("plain").culprit.state.id) == (False, "route-refused")
    del refusal["observedGeneration"]
    refusal["status"] = "True"
    assert living.status("plain").culprit is None


def test_a_route_that_a_controller_has_not_decided_on_is_new_for_a_minute(living):
    route = living.of("HTTPRoute", "plain")
    route["metadata"]["managedFields"] = [{"manager": "kubectl", "time": f"{living.read_at:%Y-%m-%dT%H:%M:%SZ}"}]
    undecided = accepted(route["status"]["parents"])
    undecided.update(status="Unknown", reason="Pending")
    assert living.states("plain", timedelta()) == {"route-new"}
    assert living.states("plain") == {"route-refused"}
    undecided["status"] = "False"
    assert living.states("plain", timedelta()) == {"route-refused"}


def with_header(rule):
    """Return the matches of a rule for requests that have a further header."""
    header = {"type": "Exact", "name": "x-canary", "value": "always"}
    return [match | {"headers": [*match.get("headers", ()), header]} for match in rule["matches"]]


def test_a_rule_for_a_path_counts_whatever_its_backend():
    living = Living()
    rules = living.of("HTTPRoute", "chat")["spec"]["rules"]
    path = {"path": {"type": "PathPrefix", "value": f"/{NAMESPACE}/chat/v2"}}
    rules.append(rules[0] | {"backendRefs": rules[0]["backendRefs"][:1], "matches": [path]})
    rules[0]["backendRefs"][0] = rules[0]["backendRefs"][0] | {"weight": 0}
    assert living.status("chat").serves is True
    living.unready("chat-canary-decode")
    assert living.status("chat").serves is False


def test_a_backend_for_special_headers_that_is_not_found_stops_no_other_request(living):
    route = living.of("HTTPRoute", "open")
    (entry,) = route["status"]["parents"]
    resolved = next(condition for condition in entry["conditions"] if condition["type"] == "ResolvedRefs")
    resolved.update(status="False", reason="BackendNotFound", message="backend(gone) not found")
    rules = route["spec"]["rules"]
    rules.append({"backendRefs": [{"name": "gone", "port": 80}], "matches": with_header(rules[0])})
    assert living.status("open").serves is True
    del rules[1]["matches"][0]["headers"]
    assert living.status("open").serves is False


def test_a_missing_route_is_known_only_by_the_plan(living):
    living.remove("HTTPRoute", "plain")
    assert living.status("plain").serves is True
    living.routes[NAMESPACE, "plain"] = RouteExpectation({"plain": 100})
    assert living.culprit("plain") == (f"HTTPRoute {NAMESPACE}/plain", "route-missing")


@pytest.mark.parametrize("kind", [ROUTE, GATEWAY])
def test_without_routes_or_gateways_nothing_is_told(kind, living):
    living.routes[NAMESPACE, "plain"] = RouteExpectation({"plain": 100})
    living.unread[kind] = UNKNOWN
    status = living.status("plain")
    assert (status.serves, status.culprit) == (None, None)


def test_a_gateway_whose_other_port_lacks_serves_the_routes_of_its_ports(living):
    gateway = living.of("Gateway", "gateway")
    programmed = next(each for each in gateway["status"]["conditions"] if each["type"] == "Programmed")
    programmed.update(status="False", message='port 8443 not found for hostname "gateway-istio"')
    assert living.status("plain").serves is True
    programmed["message"] = 'port 80 not found for hostname "gateway-istio"'
    assert living.culprit("plain") == ("Gateway gateways/gateway", "gateway-off")
    assert living.status("plain").serves is False
