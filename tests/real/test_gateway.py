"""The gateway that tests play, judged by Gateway API: hand-written routes on a real proxy."""

import http.client
import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.stacks import rendered
from tests.support.stacks.shapes import every_stack
from tests.support.traffic.envoy import Envoy
from tests.support.traffic.gateway import Translation
from tests.support.traffic.model_servers import ModelServer
from tests.support.waits import eventually

pytestmark = pytest.mark.real

OLD = "2026-01-01T00:00:00Z"
NEW = "2026-01-02T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a server or of the gateway itself."""

    status: int
    headers: dict[str, str]
    body: Any

    @property
    def server(self) -> str | None:
        """Return who answered; none where it was the gateway."""
        return self.body["seen"]["pod"] if self.body else None

    @property
    def path(self) -> str:
        """Return the path that the server saw."""
        return self.body["seen"]["path"]

    def saw(self, name: str) -> list[str]:
        """Return the values that the server saw of a header."""
        return [value for key, value in self.body["seen"]["headers"] if key == name]


@pytest.fixture(scope="module")
def servers():
    found = {name: ModelServer(name, "127.0.0.1", 0) for name in ("blue", "green", "red")}
    yield found
    for server in found.values():
        server.end()


@pytest.fixture(scope="module")
def envoy(tools, tmp_path_factory):
    proxy = Envoy(tools["envoy"].path, tmp_path_factory.mktemp("gateway") / "envoy")
    yield proxy
    proxy.end()


@pytest.fixture
def gateway(servers, envoy):
    """Return a function that takes routes to the servers and returns one that asks; red has a namespace of its own."""

    def routed(*routes, others=()):
        held = [manifest for name, server in servers.items() for manifest in backend(name, server.server_port)]
        translation = Translation([*held, *routes, *others], "default/gateway", ())
        envoy.configure(translation.clusters, translation.routes)
        return ask

    def ask(path="/v1/models", host="any.example.com", method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", envoy.port, timeout=120)
        sent = {"Host": host} | {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, '{"prompt": "why"}' if method == "POST" else None, sent)
            response = connection.getresponse()
            body = response.read()
            is_json = response.getheader("content-type") == "application/json"
            return Answer(response.status, dict(response.getheaders()), json.loads(body) if is_json else None)
        finally:
            connection.close()

    return routed


def backend(name, port):
    """Return a Service and its only pod."""
    about = {"name": name, "namespace": "others" if name == "red" else "default"}
    labels = {"app": name}
    spec = {"selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}
    pod = {"containers": [{"ports": [{"name": "http", "containerPort": port}]}]}
    status = {"podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
    yield {"kind": "Service", "metadata": about, "spec": spec}
    yield {"kind": "Pod", "metadata": about | {"labels": labels}, "spec": pod, "status": status}


def route(*rules, name="one", created=OLD, **spec):
    about = {"name": name, "namespace": "default", "creationTimestamp": created}
    return {
        "kind": "HTTPRoute",
        "metadata": about,
        "spec": {"parentRefs": [{"name": "gateway"}], "rules": rules, **spec},
    }


def to(name, *matches, **more):
    matched = {"matches": list(matches)} if matches else {}
    return {"backendRefs": [{"name": name, "port": 80}], **matched, **more}


def under(value, kind="PathPrefix", **more):
    return {"path": {"type": kind, "value": value}, **more}


def having(**headers):
    return {"headers": [{"name": name.replace("_", "-"), "value": value} for name, value in headers.items()]}


def like(name, value):
    return {"headers": [{"type": "RegularExpression", "name": name, "value": value}]}


@pytest.mark.parametrize(
    ("blue", "green"),
    [
        (under("/"), under("/v1")),
        (under("/v1/mod"), under("/v1/")),
        (under("/v1/models"), under("/v1/models", "Exact")),
        (under("/"), under("/v./m[a-z]+", "RegularExpression")),
        (under("/", **having(x_one="1")), under("/v1")),
        (under("/"), having(x_one="1")),
        (having(x_one="2"), under("/")),
        (having(x_one="1"), having(x_one="1", x_two="2")),
        (under("/"), like("x-two", "[0-9]")),
        (like("x-two", "[0-9]0"), under("/")),
        (having(x_one="1"), {"method": "GET"}),
        ({"method": "POST"}, under("/")),
        (under("/"), {"queryParams": [{"name": "a", "value": "b"}]}),
        ({"queryParams": [{"name": "a", "value": "c"}]}, under("/")),
    ],
)
def test_of_two_rules_the_more_exact_of_those_that_match_answers(blue, green, gateway):
    for rules in ((to("blue", blue), to("green", green)), (to("green", green), to("blue", blue))):
        assert gateway(route(*rules))("/v1/models?a=b", x_one="1", x_two="2").server == "green"


def test_a_rule_answers_what_any_of_its_matches_says(gateway):
    ask = gateway(route(to("green", under("/v1/none"), under("/v1/models"))))
    assert ask().server == "green"
    assert ask("/v1").status == 404


def test_of_equal_rules_the_first_of_the_oldest_route_answers(gateway):
    older = route(to("green"), to("blue"), name="z")
    newer = route(to("blue"), name="a", created=NEW)
    assert gateway(newer, older)().server == "green"


def test_the_most_exact_hostname_answers_and_less_exact_ones_what_it_does_not(gateway):
    ask = gateway(
        route(to("blue", under("/v1")), name="any"),
        route(to("green", under("/v1/models")), name="wild", hostnames=["*.example.com"]),
        route(to("blue", under("/v1/models", "Exact")), name="exact", hostnames=["llm.example.org"]),
        route(to("green", under("/")), name="narrow", hostnames=["a.example.org"]),
    )
    assert ask(host="x.y.example.com:80").server == "green"
    assert ask("/v1/other", host="x.example.com").server == "blue"
    assert ask(host="example.com").server == "blue"
    assert ask(host="a.example.org").server == "green"
    assert ask("/v2", host="b.example.org").status == 404


def test_a_route_of_another_gateway_is_none(gateway):
    assert gateway(route(to("blue"), parentRefs=[{"name": "gateway", "namespace": "gateways"}]))().status == 404


@pytest.mark.parametrize(
    ("prefix", "other", "path", "seen"),
    [
        ("/a/b", "/", "/a/b/v1/models?x=y", "/v1/models?x=y"),
        ("/a/b", "/", "/a/b", "/"),
        ("/a/b/", "/", "/a/b/c", "/c"),
        ("/a.b", "/c/", "/a.b/d", "/c/d"),
        ("/", "/c", "/d", "/c/d"),
    ],
)
def test_a_prefix_is_replaced(prefix, other, path, seen, gateway):
    rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": other}, "hostname": "inside"}
    filters = [{"type": "URLRewrite", "urlRewrite": rewrite}]
    ask = gateway(route(to("blue", under(prefix), filters=filters)))
    assert ask(path).path == seen
    assert ask(path).saw("host") == ["inside"]
    if prefix != "/":
        assert ask(f"{path}x".replace(prefix.rstrip("/"), f"{prefix.rstrip('/')}x")).status == 404


def test_headers_are_set_added_and_removed_both_ways(gateway):
    change = {"set": [{"name": "x-set", "value": "1"}], "add": [{"name": "x-add", "value": "1"}], "remove": ["x-gone"]}
    back = {"set": [{"name": "x-back", "value": "1"}], "remove": ["content-length"]}
    kinds = {"RequestHeaderModifier": change, "ResponseHeaderModifier": back}
    filters = [{"type": kind, kind[0].lower() + kind[1:]: value} for kind, value in kinds.items()]
    answer = gateway(route(to("blue", filters=filters)))(x_set="0", x_add="0", x_gone="0")
    assert [answer.saw(name) for name in ("x-set", "x-add", "x-gone")] == [["1"], ["0", "1"], []]
    assert answer.headers["x-back"] == "1"


def test_a_mirror_gets_what_its_backend_gets(gateway, servers):
    filters = [{"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "green", "port": 80}}}]
    ask = gateway(route(to("blue", filters=filters)))
    before = len(servers["green"].seen)
    assert ask("/v1/completions", method="POST").server == "blue"
    eventually(lambda: len(servers["green"].seen) == before + 1)
    assert servers["green"].seen[-1]["prompt"] == servers["blue"].seen[-1]["prompt"]


def test_a_redirect_says_where(gateway):
    redirect = {"hostname": "other.example.com", "scheme": "https", "statusCode": 301}
    answer = gateway(route({"filters": [{"type": "RequestRedirect", "requestRedirect": redirect}]}))()
    assert (answer.status, answer.headers["location"]) == (301, "https://other.example.com/v1/models")


def test_a_request_that_takes_too_long_is_ended(gateway, servers):
    ask = gateway(route(to("blue", timeouts={"request": "200ms"}), to("blue", under("/v1/models"))))
    servers["blue"].free.clear()
    try:
        assert ask("/slow").status == 504
    finally:
        servers["blue"].free.set()
    assert ask().status == 200


def test_a_backend_of_another_namespace_has_to_be_granted(gateway):
    ref = {"backendRefs": [{"name": "red", "namespace": "others", "port": 80}]}
    about = {"name": "grant", "namespace": "others"}
    spec = {
        "from": [{"group": "g", "kind": "HTTPRoute", "namespace": "default"}],
        "to": [{"group": "", "kind": "Service"}],
    }
    assert gateway(route(ref))().status == 500
    assert gateway(route(ref), others=[{"kind": "ReferenceGrant", "metadata": about, "spec": spec}])().server == "red"


@pytest.mark.parametrize("backends", [[], [{"name": "blue", "port": 80, "weight": 0}], [{"name": "none", "port": 80}]])
def test_without_a_backend_that_can_answer_the_answer_is_500(backends, gateway):
    assert gateway(route({"backendRefs": backends}))().status == 500


@pytest.mark.parametrize(
    "rule",
    [
        {"filters": [{"type": "CORS", "cors": {}}]},
        {"backendRefs": [{"name": "blue", "port": 80, "filters": [{"type": "URLRewrite"}]}]},
        {"filters": [{"type": "RequestRedirect", "requestRedirect": {"path": {}}}]},
    ],
)
def test_what_is_not_played_is_said(rule, gateway):
    with pytest.raises(ValueError, match="that this gateway does not play"):
        gateway(route(rule))


@every_stack
def test_a_proxy_takes_what_every_stack_says_and_every_backend_is_there(stack, envoy):
    objects = [
        manifest | {"metadata": manifest["metadata"] | {"creationTimestamp": OLD}} for manifest in rendered(stack)
    ]
    routes = [manifest["spec"] for manifest in objects if manifest["kind"] == "HTTPRoute"]
    for gateway in {f"{parent['namespace']}/{parent['name']}" for spec in routes for parent in spec["parentRefs"]} or {
        "no/gateway"
    }:
        translation = Translation(objects, gateway, ())
        envoy.configure(translation.clusters, translation.routes)
        known = {cluster["name"] for cluster in translation.clusters}
        assert {backend["name"] for backend in weighted(translation)} <= known
        assert bool(weighted(translation)) == bool(routes)


def weighted(translation):
    """Return every backend of every route that has some."""
    taken = [
        route["route"] for host in translation.routes["virtual_hosts"] for route in host["routes"] if "route" in route
    ]
    return [backend for action in taken for backend in action["weighted_clusters"]["clusters"]]
