"""Routes: which requests are a service's, what happens to them on their way, and what others are told."""

import copy

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judging import validation
from manifests.assembly import objects, render
from planning import outputs
from planning.ground import parts
from planning.ground.order import Id
from planning.routes import templates
from tests.support.stacks import as_rendered, exactly, find, lines, plan, rendered, tree
from tests.support.stacks.routed import (
    BASE_MODEL,
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

# --- what is the service's own


def test_a_service_is_found_by_its_namespace_and_its_name():
    """See aim-engine 9.6."""
    assert paths(route()) == ["/models/qwen"]


def test_a_service_is_found_by_its_name_and_not_by_its_key():
    stack = routed(service={"name": "chat", "namespace": "search"})
    assert paths(find(rendered(stack), "HTTPRoute", "chat")) == ["/search/chat"]


def test_templates_read_the_service_as_merged():
    stack = routed(matches=[{"path": "/{.metadata.labels['team']}/{.spec.engine.port}/{.spec.model.name}"}])
    stack |= {"labels": {"team": "platform"}, "defaults": {"engine": {"port": 8001}}}
    assert paths(find(rendered(stack), "HTTPRoute", "qwen")) == ["/platform/8001/org-m"]


def test_a_services_label_is_over_the_stacks():
    stack = routed(matches=[{"path": "/{.metadata.labels['team']}"}], service={"labels": {"team": "search"}})
    assert paths(find(rendered(stack | {"labels": {"team": "x"}}), "HTTPRoute", "qwen")) == ["/search"]


def test_any_match_is_enough_and_has_all_its_parts():
    found = route(matches=[{"path": "/a"}, {"path": "/b", "headers": {"x-b": "1", "x-a": "2"}}])
    assert paths(found) == ["/a", "/b"]
    assert [headers(rule["matches"][0]) for rule in rules(found)] == [{}, {"x-a": "2", "x-b": "1"}]


def test_a_model_is_matched_in_the_header_that_the_payload_processor_sets():
    found = route("qwen", BODY, matches=[{"model": "org/m"}])
    (rule,) = rules(found)
    assert rule["matches"] == [
        {
            "path": {"type": "PathPrefix", "value": "/"},
            "headers": [{"type": "Exact", "name": BASE_MODEL, "value": "org/m"}],
        }
    ]


@pytest.mark.parametrize("release", ["llm-d-0.10", "llm-d-0.9", "llm-d-0.6", "gie-1.3"])
def test_every_release_knows_the_header_of_the_base_model(release):
    stack = routed(BODY, matches=[{"model": "org/m"}]) | {"release": release}
    (rule,) = rules(find(rendered(stack), "HTTPRoute", "qwen"))
    assert headers(rule["matches"][0]) == {BASE_MODEL: "org/m"}


def test_a_model_is_not_matched_where_nobody_reads_bodies():
    (line,) = told(routed(matches=[{"model": "org/m"}]))
    assert line.startswith("services.qwen.route.matches[0].model: is matched in a header that nobody sets")


@pytest.mark.parametrize(
    ("match", "service"),
    [({}, {}), ({"path": "/"}, {}), ({"path": "/{.metadata.labels['none']}"}, {"labels": {"none": ""}})],
)
def test_b21_every_path_of_every_host_is_no_services_own(match, service):
    """See aim-engine B21."""
    (line,) = told(routed(matches=[match], service=service))
    assert line == (
        "services.qwen.route.matches[0]: would catch all traffic of gateways/gateway "
        "(/ without header, model or hostname); add a hostname, or use another path"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"matches": [{"headers": {"x-team": "search"}}]},
        {"matches": [{}], "hostnames": ["llm.example.com"]},
        {"matches": [{"model": "org/m"}]},
    ],
)
def test_every_path_is_legal_beside_a_header_a_model_or_a_host(fields):
    assert paths(route("qwen", BODY, **fields)) == ["/"]


def test_b20_a_path_that_cannot_be_rendered_stops_everything():
    """See aim-engine B20."""
    (line,) = told(routed(matches=[{"path": "/{.metadata.labels['team']}/x"}]))
    assert line == (
        "services.qwen.route.matches[0].path: cannot be rendered ({.metadata.labels['team']}: no label team); "
        "add labels.team or change the template"
    )


def test_a_template_of_all_services_says_which_of_them_cannot_be_rendered():
    stack = tree(a={"labels": {"team": "x"}}, b={})
    stack["defaults"] = {"route": {"matches": [{"path": "/{.metadata.labels['team']}/{.metadata.name}"}]}}
    (line,) = told(stack)
    assert line == (
        "defaults.route.matches[0].path: cannot be rendered for services.b "
        "({.metadata.labels['team']}: no label team); add labels.team or change the template"
    )


def test_b27_an_empty_path_masks_nothing():
    """See aim-engine 9.6, B27."""
    assert told(routed(matches=[{"path": ""}]))[0].startswith("services.qwen.route.matches[0].path: is not a path")


# --- where it is attached


def test_a_services_gateway_takes_the_place_of_the_stacks_as_a_whole():
    gateway = {"name": "other", "provider": "none", "group": "edge.example.com", "kind": "ListenerSet"}
    stack = routed({**BODY, "sectionName": "https", "port": 443}, gateway=gateway)
    everything = rendered(stack)
    assert find(everything, "HTTPRoute", "qwen")["spec"]["parentRefs"] == [
        {"group": "edge.example.com", "kind": "ListenerSet", "name": "other", "namespace": "models"}
    ]
    assert not [manifest for manifest in everything if manifest["kind"] == "DestinationRule"]


def test_a_services_gateway_is_enough():
    stack = routed(gateway={"name": "other", "provider": "istio"})
    del stack["gateway"]
    everything = rendered(stack)
    assert find(everything, "HTTPRoute", "qwen")
    assert find(everything, "DestinationRule", "qwen-epp")
    assert outputs.of_stack(plan(stack), None)["services"]["qwen"]["gateway"] == {
        "name": "other",
        "namespace": "models",
        "sectionName": None,
    }


def test_what_a_route_says_has_no_effect_without_a_gateway():
    stack = routed(timeouts={"request": "5s"}, setHeaders={"a": "b"}, annotations={"a": "b"})
    del stack["gateway"]
    lines = told(stack)
    assert [line.partition(":")[0].rpartition(".")[2] for line in lines] == ["annotations", "setHeaders", "timeouts"]
    inherited = tree() | {"defaults": {"route": {"hostnames": ["llm.example.com"]}}}
    del inherited["gateway"]
    assert [manifest for manifest in rendered(inherited) if manifest["kind"] == "HTTPRoute"] == []


def test_b22_annotations_of_the_route_are_over_the_services():
    """See aim-engine B22."""
    stack = routed(annotations={"a": "route"}, service={"annotations": {"a": "service", "b": "service"}})
    everything = rendered(stack)
    assert find(everything, "HTTPRoute", "qwen")["metadata"]["annotations"] == {"a": "route", "b": "service"}
    assert find(everything, "InferencePool", "qwen")["metadata"]["annotations"]["a"] == "service"


def test_b24_a_route_that_is_switched_off_is_not_made():
    """See aim-engine B24."""
    assert [manifest for manifest in rendered(routed(enabled=False)) if manifest["kind"] == "HTTPRoute"] == []


# --- what happens on the way


def test_a_prefix_is_rewritten_beside_exactly_one_match():
    found = route(matches=[{"path": "/a"}, {"path": "/b"}], replacePrefixMatch="/v1")
    assert [len(rule["matches"]) for rule in rules(found)] == [1, 1]
    rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/v1"}}
    assert filters(found, "URLRewrite") == [[{"type": "URLRewrite", "urlRewrite": rewrite}]] * 2


def test_a_path_that_the_engine_sees_as_it_is_is_not_rewritten():
    found = route(matches=[{"headers": {"a": "1"}}, {"headers": {"a": "2"}}])
    (rule,) = rules(found)
    assert ("filters" in rule, len(rule["matches"])) == (False, 2)
    assert filters(route(matches=[{"path": "/v1"}], replacePrefixMatch="/v1"), "URLRewrite") == [[]]


def test_headers_are_set_and_removed():
    found = route(setHeaders={"x-b": "1", "x-a": "2"}, removeHeaders=["x-c"])
    ((header_filter,),) = filters(found, "RequestHeaderModifier")
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


@pytest.mark.parametrize("written", ["1.5s", "100us", "1m30.5s", "123456s", "10"])
def test_b23_a_duration_that_gateway_api_does_not_know_is_refused(written):
    """See aim-engine B23."""
    (line,) = told(routed(timeouts={"request": written}))
    assert line.startswith("services.qwen.route.timeouts.request: is not a duration")


def test_gkes_gateway_takes_no_timeouts():
    gateway = {**BODY, "provider": "gke"}
    (line,) = told(routed(gateway, timeouts={"request": "5s"}))
    assert line.startswith("services.qwen.route.timeouts: has no effect on GKE's gateway")
    assert "timeouts" not in rules(route("qwen", gateway))[0]


# --- copies


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


def test_who_gets_copies_exists_before_the_route_and_is_not_waited_for():
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


def test_who_gets_the_copies_of_all_others_copies_nothing_to_itself():
    stack = tree(qwen={"model": MODEL}, next={"model": MODEL}) | {
        "defaults": {"route": {"mirror": {"service": "next"}}}
    }
    everything = rendered(stack)
    assert filters(find(everything, "HTTPRoute", "next"), "RequestMirror") == [[]]
    assert filters(find(everything, "HTTPRoute", "qwen"), "RequestMirror") != [[]]


def test_copies_that_the_other_would_refuse_are_warned_of():
    warned = plan(mirrored(model={"name": "org/other", "source": "hf://org/other"})).warnings
    assert [message for message in lines(warned, "warning") if "mirror" in message] == [
        "services.qwen.route.mirror: services.next refuses requests for org/m, because it serves org/other"
    ]
    assert [message for message in lines(plan(mirrored()).warnings, "warning") if "mirror" in message] == []


# --- beside a canary


def test_a_canarys_headers_join_every_match():
    found = find(
        rendered(tried(0, {"x-canary": "1"}, matches=[{"path": "/a"}, {"headers": {"x-a": "1"}}])), "HTTPRoute", "qwen"
    )
    weights = [[(backend["name"], backend["weight"]) for backend in rule["backendRefs"]] for rule in rules(found)]
    assert weights == [[("qwen-canary", 1)], [("qwen-canary", 0), ("qwen", 100)]] * 2
    header_sets = [headers(match) for rule in rules(found) for match in rule["matches"]]
    assert header_sets == [{"x-canary": "1"}, {}, {"x-a": "1", "x-canary": "1"}, {"x-a": "1"}]


def test_a_header_of_a_match_and_of_the_canary_is_refused_whatever_its_capitals():
    (line,) = told(tried(0, {"X-A": "1"}, matches=[{"headers": {"x-a": "2"}}]))
    assert line == (
        "services.qwen.route.matches[0].headers.x-a: is matched by canary.headers, too (x-a); name the header once"
    )


def test_a_header_of_the_model_is_no_other_matchs():
    (line,) = told(routed(BODY, matches=[{"model": "org/m", "headers": {BASE_MODEL.lower(): "x"}}]))
    assert line.startswith("services.qwen.route.matches[0].model: is matched by headers, too")


def test_more_headers_than_a_match_takes_are_refused_with_the_canarys():
    sixteen_headers = {f"x-{number}": "1" for number in range(16)}
    assert len(headers(rules(route(matches=[{"headers": sixteen_headers}]))[0]["matches"][0])) == 16
    (line,) = told(tried(0, {"x-canary": "1"}, matches=[{"headers": sixteen_headers}]))
    assert line.startswith("services.qwen.route.matches[0].headers: gives a match 17 headers")


# --- what fits


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
    found = find(rendered(tried(0, {"x-canary": "1"}, matches=many)), "HTTPRoute", "qwen")
    assert [len(rule["matches"]) for rule in rules(found)] == [64, 64]
    validation.check([as_rendered(found)])
    assert told(routed(matches=[*many, {}]))[0].startswith("services.qwen.route.matches: has 65 entries")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hostnames", [f"h{number}.example.com" for number in range(17)]),
        ("setHeaders", {f"x-{number}": "1" for number in range(17)}),
        ("removeHeaders", [f"x-{number}" for number in range(17)]),
    ],
)
def test_more_than_a_route_takes_is_refused(field, value):
    (line,) = told(routed(**{field: value}))
    assert line == f"services.qwen.route.{field}: has 17 entries; write at most 16"


@pytest.mark.parametrize(
    "wrong",
    [
        {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}] * 2},
        {"filters": [{"type": "URLRewrite"}]},
        {"filters": [{"type": "RequestMirror", "urlRewrite": {}}]},
        {"timeouts": {"request": "1.5s"}},
        {"timeouts": {"requests": "1s"}},
    ],
)
def test_a_route_that_the_server_would_refuse_is_refused_before(wrong):
    found = copy.deepcopy(dict(route()))
    validation.check([as_rendered(found)])
    found["spec"]["rules"][0] |= wrong
    with pytest.raises(validation.SchemaError):
        validation.check([as_rendered(found)])


TEXTS = st.text(alphabet="aAbB-._ /é", min_size=1, max_size=6)
PLACES = ("{.metadata.annotations.team}", "{.metadata.annotations['team']}")
UNFIT = ("is taken on", "would catch all traffic", "cannot be rendered")


def meant(template, text):
    """Return the path that a template means for an annotation; nothing where it means none."""
    try:
        return templates.path(template, {"metadata": {"annotations": {"team": text}}})
    except templates.TemplateError:
        return None


@given(
    team=TEXTS, other=TEXTS, template=st.sampled_from([f"{start}{place}" for start in ("/", "/x/") for place in PLACES])
)
@example(team="A.b", other="a-b", template=f"/{PLACES[0]}")
@example(team="a", other="b", template=f"/{PLACES[0]}")
def test_two_services_never_have_one_path_unnoticed(team, other, template):
    """See aim-engine B25, B31."""
    service = {"route": {"matches": [{"path": template}]}}
    stack = tree(**{key: {**service, "annotations": {"team": text}} for key, text in (("one", team), ("two", other))})
    found = {meant(template, team), meant(template, other)}
    if len(found) == 1 or found & {None, "/"}:
        assert any(why in line for line in told(stack) for why in UNFIT)
    else:
        assert {path for service in plan(stack).services for path in service.route.paths} == found


# --- what others are told


def test_b26_paths_hosts_and_addresses_are_told():
    """See aim-engine B26."""
    gateway = {**BODY, "port": 443}
    fields = {
        "hostnames": ["b.example.com", "*.example.com", "a.example.com"],
        "matches": [{"path": "/y"}, {"path": "/x"}],
    }
    found = outputs.of_stack(plan(routed(gateway, **fields)), None)["services"]["qwen"]
    assert found["paths"] == ["/x", "/y"]
    assert found["hostnames"] == ["*.example.com", "a.example.com", "b.example.com"]
    assert found["urls"] == [f"https://{host}.example.com/{path}" for host in "ab" for path in "xy"]


@pytest.mark.parametrize("fields", [{"hostnames": []}, {"hostnames": ["*.example.com"]}])
def test_no_address_is_told_that_nobody_knows(fields):
    assert outputs.of_stack(plan(routed({**BODY, "port": 443}, **fields)), None)["services"]["qwen"]["urls"] == []
    hosted = routed(BODY, hostnames=["llm.example.com"])
    assert outputs.of_stack(plan(hosted), None)["services"]["qwen"]["urls"] == []
