"""The HTTPRoute of a service: matches, rules, headers, time limits and copies of requests."""

import pytest

from judging import validation
from manifests.assembly import objects, render
from planning import outputs
from planning.ground import parts
from planning.ground.order import Id
from tests.support.stacks import as_rendered, exactly, find, plan, rendered, tree
from tests.support.stacks.routed import (
    BODY,
    MODEL,
    filters,
    headers,
    paths,
    route,
    routed,
    rules,
    told,
    tried,
)


def test_any_match_is_enough_and_has_all_its_parts():
    manifest = route(matches=[{"path": "/a"}, {"path": "/b", "headers": {"x-b": "1", "x-a": "2"}}])
    assert paths(manifest) == ["/a", "/b"]
    assert [headers(rule["matches"][0]) for rule in rules(manifest)] == [{}, {"x-a": "2", "x-b": "1"}]


def test_b22_annotations_of_the_route_are_over_the_services():
    """See aim-engine B22."""
    stack = routed(annotations={"a": "route"}, service={"annotations": {"a": "service", "b": "service"}})
    everything = rendered(stack)
    assert find(everything, "HTTPRoute", "qwen")["metadata"]["annotations"] == {"a": "route", "b": "service"}
    assert find(everything, "InferencePool", "qwen")["metadata"]["annotations"]["a"] == "service"


def test_b24_a_route_that_is_switched_off_is_not_made():
    """See aim-engine B24."""
    assert [manifest for manifest in rendered(routed(enabled=False)) if manifest["kind"] == "HTTPRoute"] == []


def test_a_prefix_is_rewritten_beside_exactly_one_match():
    manifest = route(matches=[{"path": "/a"}, {"path": "/b"}], replacePrefixMatch="/v1")
    assert [len(rule["matches"]) for rule in rules(manifest)] == [1, 1]
    rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/v1"}}
    assert filters(manifest, "URLRewrite") == [[{"type": "URLRewrite", "urlRewrite": rewrite}]] * 2


def test_a_path_that_the_engine_sees_as_it_is_is_not_rewritten():
    manifest = route(matches=[{"headers": {"a": "1"}}, {"headers": {"a": "2"}}])
    (rule,) = rules(manifest)
    assert ("filters" in rule, len(rule["matches"])) == (False, 2)
    assert filters(route(matches=[{"path": "/v1"}], replacePrefixMatch="/v1"), "URLRewrite") == [[]]


def test_headers_are_set_and_removed():
    manifest = route(setHeaders={"x-b": "1", "x-a": "2"}, removeHeaders=["x-c"])
    ((header_filter,),) = filters(manifest, "RequestHeaderModifier")
    assert header_filter["requestHeaderModifier"] == {
        "set": [{"name": "x-a", "value": "2"}, {"name": "x-b", "value": "1"}],
        "remove": ["x-c"],
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"timeouts": {}}, None),
        ({"timeouts": {"request": "1h30m"}}, {"request": "1h30m"}),
        ({"timeouts": {"request": "0s", "backendRequest": "99999ms"}}, {"request": "0s", "backendRequest": "99999ms"}),
    ],
)
def test_b23_b32_timeouts_are_those_that_are_written_and_no_others(fields, expected):
    """See aim-engine B23, B32."""
    (rule,) = rules(route(**fields))
    assert rule.get("timeouts") == expected


def test_gkes_gateway_takes_no_timeouts():
    gateway = {**BODY, "provider": "gke"}
    (line,) = told(routed(gateway, timeouts={"request": "5s"}))
    assert line.startswith("services.qwen.route.timeouts: has no effect on GKE's gateway")
    assert "timeouts" not in rules(route("qwen", gateway))[0]


def mirrored(percent=None, **other):
    fields = {"mirror": {"service": "next"} | ({} if percent is None else {"percent": percent})}
    return routed(others={"next": {"model": MODEL, **other}}, **fields)


def mirror(stack):
    ((mirror_filter,),) = filters(find(rendered(stack), "HTTPRoute", "qwen"), "RequestMirror")
    return mirror_filter["requestMirror"]


def test_copies_go_to_the_routed_service():
    assert mirror(mirrored()) == {"backendRef": {"group": "", "kind": "Service", "name": "next", "port": 8000}}


@pytest.mark.parametrize("percent", [0, 7])
def test_a_percentage_of_copies_is_written_out(percent):
    assert mirror(mirrored(percent))["percent"] == percent


def test_copies_into_the_same_namespace_need_no_grant():
    assert [manifest for manifest in rendered(mirrored()) if manifest["kind"] == "ReferenceGrant"] == []


def test_copies_into_another_namespace_are_granted_there_to_the_routes_of_this_one_alone():
    stack = mirrored(namespace="trials")
    assert mirror(stack)["backendRef"]["namespace"] == "trials"
    grant = exactly(rendered(stack), "ReferenceGrant", "next-mirror")
    assert grant["metadata"]["namespace"] == "trials"
    assert grant["spec"] == {
        "from": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "models"}],
        "to": [{"group": "", "kind": "Service", "name": "next"}],
    }


def test_a_route_that_is_off_is_granted_nothing():
    stack = mirrored(namespace="trials")
    stack["services"]["qwen"]["route"]["enabled"] = False
    assert [manifest for manifest in rendered(stack) if manifest["kind"] in {"ReferenceGrant", "HTTPRoute"}] == [
        find(rendered(stack), "HTTPRoute", "next")
    ]


def test_the_target_of_copies_exists_before_the_route_and_is_not_waited_for():
    after = {resource.id: resource.after for resource in objects(render(plan(mirrored(namespace="trials"))))}
    before = after[Id("qwen", parts.ROUTE)]
    assert {Id("next", parts.SERVICE), Id("next", parts.MIRROR_GRANT)} <= set(before)
    assert Id("next", parts.DECODE.workload) not in before


def test_two_services_may_copy_to_each_other():
    stack = mirrored(route={"mirror": {"service": "qwen"}})
    seen = set()
    for resource in objects(render(plan(stack))):
        assert set(resource.after) <= seen
        seen.add(resource.id)


def test_the_target_of_all_copies_copies_nothing_to_itself():
    stack = tree(qwen={"model": MODEL}, next={"model": MODEL}) | {
        "defaults": {"route": {"mirror": {"service": "next"}}}
    }
    everything = rendered(stack)
    assert filters(find(everything, "HTTPRoute", "next"), "RequestMirror") == [[]]
    assert filters(find(everything, "HTTPRoute", "qwen"), "RequestMirror") != [[]]


def test_a_canarys_headers_join_every_match():
    manifest = find(
        rendered(tried(0, {"x-canary": "1"}, matches=[{"path": "/a"}, {"headers": {"x-a": "1"}}])), "HTTPRoute", "qwen"
    )
    weights = [[(backend["name"], backend["weight"]) for backend in rule["backendRefs"]] for rule in rules(manifest)]
    assert weights == [[("qwen-canary", 1)], [("qwen-canary", 0), ("qwen", 100)]] * 2
    header_sets = [headers(match) for rule in rules(manifest) for match in rule["matches"]]
    assert header_sets == [{"x-canary": "1"}, {}, {"x-a": "1", "x-canary": "1"}, {"x-a": "1"}]


def test_as_many_paths_as_rules_fit():
    def named(count):
        return [{"path": f"/p{number}"} for number in range(count)]

    assert len(rules(route(matches=named(16)))) == 16
    limit = "but a route has at most 16"
    (line,) = told(routed(matches=named(17)))
    assert line.startswith(f"services.qwen.route.matches: needs 17 rules, {limit} (a rule for each rewritten path)")
    (line,) = told(tried(0, {"x-canary": "1"}, matches=named(9)))
    assert line.startswith(
        f"services.qwen.route.matches: needs 18 rules, {limit} (two rules for each rewritten path, one"
    )


def test_matches_that_are_not_rewritten_share_a_rule():
    many = [{"headers": {"x-model": f"{number}"}} for number in range(64)]
    manifest = find(rendered(tried(0, {"x-canary": "1"}, matches=many)), "HTTPRoute", "qwen")
    assert [len(rule["matches"]) for rule in rules(manifest)] == [64, 64]
    validation.check([as_rendered(manifest)])
    assert told(routed(matches=[*many, {}]))[0].startswith("services.qwen.route.matches: has 65 entries")


def test_b26_paths_hosts_and_addresses_are_told():
    """See aim-engine B26."""
    gateway = {**BODY, "port": 443}
    fields = {
        "hostnames": ["b.example.com", "*.example.com", "a.example.com"],
        "matches": [{"path": "/y"}, {"path": "/x"}],
    }
    output = outputs.of_stack(plan(routed(gateway, **fields)), None)["services"]["qwen"]
    assert output["paths"] == ["/x", "/y"]
    assert output["hostnames"] == ["*.example.com", "a.example.com", "b.example.com"]
    assert output["urls"] == [f"https://{host}.example.com/{path}" for host in "ab" for path in "xy"]


@pytest.mark.parametrize("fields", [{"hostnames": []}, {"hostnames": ["*.example.com"]}])
def test_no_address_is_told_that_nobody_knows(fields):
    assert outputs.of_stack(plan(routed({**BODY, "port": 443}, **fields)), None)["services"]["qwen"]["urls"] == []
    hosted = routed(BODY, hostnames=["llm.example.com"])
    assert outputs.of_stack(plan(hosted), None)["services"]["qwen"]["urls"] == []
