"""Routes: which requests are a service's, what happens to them on their way, and what others are told."""

import copy

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judging import validation
from planning import outputs
from planning.releases import channel
from planning.routes import templates
from tests.support.stacks import GATEWAY, as_rendered, find, lines, plan, rendered, tree
from tests.support.stacks.routed import (
    BODY,
    MODEL,
    headers,
    paths,
    route,
    routed,
    rules,
    told,
    tried,
)

# --- what is the service's own


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


# --- what happens on the way


@pytest.mark.parametrize("written", ["1.5s", "100us", "1m30.5s", "123456s", "10"])
def test_b23_a_duration_that_gateway_api_does_not_know_is_refused(written):
    """See aim-engine B23."""
    (line,) = told(routed(timeouts={"request": written}))
    assert line.startswith("services.qwen.route.timeouts.request: is not a duration")


# --- copies


def mirrored(percent=None, **other):
    fields = {"mirror": {"service": "next"} | ({} if percent is None else {"percent": percent})}
    return routed(others={"next": {"model": MODEL, **other}}, **fields)


def test_copies_that_the_other_would_refuse_are_warned_of():
    warned = plan(mirrored(model={"name": "org/other", "source": "hf://org/other"})).warnings
    assert [message for message in lines(warned, "warning") if "mirror" in message] == [
        "services.qwen.route.mirror: services.next refuses requests for org/m, because it serves org/other"
    ]
    assert [message for message in lines(plan(mirrored()).warnings, "warning") if "mirror" in message] == []


# --- beside a canary


def test_a_header_of_a_match_and_of_the_canary_is_refused_whatever_its_capitals():
    (line,) = told(tried(0, {"X-A": "1"}, matches=[{"headers": {"x-a": "2"}}]))
    assert line == (
        "services.qwen.route.matches[0].headers.x-a: is matched by canary.headers, too (x-a); name the header once"
    )


def test_more_headers_than_a_match_takes_are_refused_with_the_canarys():
    sixteen_headers = {f"x-{number}": "1" for number in range(16)}
    assert len(headers(rules(route(matches=[{"headers": sixteen_headers}]))[0]["matches"][0])) == 16
    (line,) = told(tried(0, {"x-canary": "1"}, matches=[{"headers": sixteen_headers}]))
    assert line.startswith("services.qwen.route.matches[0].headers: gives a match 17 headers")


# --- what fits


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
    manifest = copy.deepcopy(dict(route()))
    validation.check([as_rendered(manifest)])
    manifest["spec"]["rules"][0] |= wrong
    with pytest.raises(validation.SchemaError):
        validation.check([as_rendered(manifest)])


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
    urls = {meant(template, team), meant(template, other)}
    if len(urls) == 1 or urls & {None, "/"}:
        assert any(why in line for line in told(stack) for why in UNFIT)
    else:
        assert {path for service in plan(stack).services for path in service.route.paths} == urls


# --- what others are told


AT = "services.qwen.route.timeouts.request"


CUT = "are cut when pods are replaced"


def warnings(request, gateway=GATEWAY, **service):
    stack = tree(qwen={"route": {"timeouts": {"request": request}}, **service}) | {"gateway": gateway}
    return lines(plan(stack).warnings, "warning")


@pytest.mark.parametrize(
    ("request_timeout", "drain_timeout", "message"),
    [
        ("46s", "45s", f"is above drainTimeout (46s, 45s): requests longer than 45s {CUT}; set drainTimeout: 46s"),
        (
            "0s",
            "5m",
            (
                f"sets no limit, unlike drainTimeout (0s, 5m): requests longer than 5m {CUT}; "
                "set drainTimeout to the time of the longest request"
            ),
        ),
    ],
)
def test_a_request_that_outlasts_the_drain_is_told(request_timeout, drain_timeout, message):
    """The longest request is promised by one number and drained by another. See defects A20."""
    assert warnings(request_timeout, drainTimeout=drain_timeout) == [f"{AT}: {message}"]


@pytest.mark.parametrize(("request_timeout", "drain_timeout"), [("45s", "45s"), ("45000ms", "45s"), ("9m", "10m")])
def test_a_request_that_is_drained_is_not_told(request_timeout, drain_timeout):
    assert warnings(request_timeout, drainTimeout=drain_timeout) == []


def test_a_canary_that_drains_shorter_is_told():
    canary = {"weight": 10, "drainTimeout": "30s", "engine": {"maxNumSeqs": 64}}
    messages = warnings("45s", canary=canary)
    message = f"is above canary.drainTimeout (45s, 30s): requests longer than 30s {CUT}; set canary.drainTimeout: 45s"
    assert messages == [f"{AT}: {message}"]


def test_a_route_that_is_not_made_promises_nothing():
    assert warnings("10m", route={"enabled": False, "timeouts": {"request": "10m"}}) == []


@pytest.mark.parametrize(
    ("route", "message"),
    [
        ({"matches": [{"path": "/{.metadata.labels['team']}"}]}, "matches[0].path: cannot be rendered"),
        ({"removeHeaders": ["x-a", "x-a"]}, "removeHeaders[1]: is listed twice (x-a)"),
        ({"mirror": {"service": "qwen-nex"}}, "mirror.service: is no service of this stack (qwen-nex)"),
        (
            {"timeouts": {"request": "5m", "backendRequest": "10m"}},
            "timeouts.backendRequest: is above timeouts.request",
        ),
        ({"matches": [{"model": "org/m"}]}, "matches[0].model: is matched in a header that nobody sets"),
    ],
)
def test_mistakes_of_a_route_that_is_off_are_told(route, message):
    """See defects C9."""
    (line,) = told(tree(qwen={"route": {"enabled": False, **route}}))
    assert line.startswith(f"services.qwen.route.{message}")


def test_a_route_that_is_off_takes_no_requests():
    off = {"route": {"enabled": False, "matches": [{"path": "/x"}]}}
    assert plan(tree(qwen=off, bert={"route": {"matches": [{"path": "/x"}]}})).routes[0].key == "bert"


def test_an_inherited_path_needs_no_label_of_a_service_whose_route_is_off():
    stack = tree(qwen={"route": {"enabled": False}}, bert={"labels": {"team": "search"}})
    template = {"route": {"matches": [{"path": "/{.metadata.labels['team']}"}]}}
    assert [route.key for route in plan(stack | {"defaults": template}).routes] == ["bert"]


# --- releases of services


def test_a_gateway_has_to_be_new_enough_for_the_releases_of_a_service_and_its_canary():
    older, newer = "gie-1.3", "llm-d-0.9"
    stack = tree(qwen={"release": older, "canary": {"weight": 1}})
    stack["gateway"]["version"] = channel(older).requirements.istio.version
    assert plan(stack)
    stack["services"]["qwen"]["canary"]["release"] = newer
    (line,) = told(stack)
    assert line.startswith(f"gateway.version: is too old for release {newer} ({stack['gateway']['version']}); upgrade")


def test_a_route_sets_no_header_that_the_picker_of_a_canarys_release_reads():
    header = channel("llm-d-0.9").picker.headers.fairness_id
    stack = routed(setHeaders={header: "x"}, service={"release": "gie-1.3", "canary": {"weight": 1}})
    assert plan(stack)
    stack["services"]["qwen"]["canary"]["release"] = "llm-d-0.9"
    (line,) = told(stack)
    assert line.startswith(f"services.qwen.route.setHeaders.{header}: is read by the endpoint picker before")
