"""Header values and paths of routes arrive as they are written, through Envoy with Istio's own configuration."""

import contextlib
import http.client
import json
import random
import string

import pytest

from local.gateway import addresses, objects
from models.routing import MAX_HEADERS
from tests.support.stacks import exactly, rendered, tree
from tests.support.traffic.istio import Istio
from tests.support.traffic.model_servers import ModelServer
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "literal"
HOST = "llm.example.com"
COUNT = 200
SEED = 58
LONGEST = 4096
PRINTABLE = [chr(code) for code in range(0x20, 0x7F) if chr(code) != "%"]
"""Characters of a header's value."""
IN_PATH = f"{string.ascii_letters}{string.digits}._~!$&'()*+,;=:@-"
"""Characters of a segment."""
VALUES = ["a  b", "{x}", "\\", '"', "'", ",", ";", "${HOME}", "$(X)", "{{ x }}", "<b>", "#", "\\n", "=", "0"]
PATHS = [
    "/OpenAI/v1",
    "/v1;x",
    "/~user",
    "/a..b",
    "/...",
    "/.a",
    "/a.",
    "/a=b&c",
    "/@",
    "/$x",
    "/x:y",
    "/'q'",
    "/(a)",
    "/*",
    "/+,-_!",
]


def generated(random_source):
    """Return values of headers, and paths of which none lies inside another."""
    values = [*VALUES, "x" * LONGEST]
    paths = [*PATHS]
    while len(values) < COUNT:
        length = random_source.randint(1, 60)
        value = "".join(random_source.choices(PRINTABLE, k=length)).strip()
        values += [value] if value else []
    while len(paths) < COUNT:
        segments = [
            "".join(random_source.choices(IN_PATH, k=random_source.randint(1, 20)))
            for _ in range(random_source.randint(1, 4))
        ]
        segments[0] = f"{len(paths)}{segments[0]}"
        if not {".", ".."} & {*segments}:
            paths.append(f"/{'/'.join(segments)}")
    return values, paths


SOURCE = random.Random(SEED)
HEADER_VALUES, ROUTE_PATHS = generated(SOURCE)
WRITTEN = {
    f"s{start // MAX_HEADERS}": (
        {f"x-{number}": value for number, value in enumerate(HEADER_VALUES[start : start + MAX_HEADERS])},
        ROUTE_PATHS[start : start + MAX_HEADERS],
    )
    for start in range(0, COUNT, MAX_HEADERS)
}
"""Headers and paths of each service."""
CASES = [(service, path) for service, (_, paths) in WRITTEN.items() for path in paths]


FIRST_HEADER = "/spec/rules/0/filters/1/requestHeaderModifier/set/0/value"
FIRST_PATH = "/spec/rules/0/matches/0/path/value"


def service_of(headers, paths):
    matches = [{"path": path} for path in paths]
    return {"route": {"setHeaders": headers, "matches": matches}, "endpointPicker": {"enabled": False}}


MATCHED = {
    "x-a": "100%",
    "x-b": "%REQ(x-a)%",
    "x-c": "50% off",
    "x-d": "%%",
    "x-e": "".join(PRINTABLE[1:]),
    "x-f": ".*",
}
"""Headers that a request on `/matched` has to have."""
MATCHED_SERVICE = {
    "route": {"matches": [{"path": "/matched", "headers": MATCHED}]},
    "endpointPicker": {"enabled": False},
}
STACK = tree(matched=MATCHED_SERVICE, **{name: service_of(*written) for name, written in WRITTEN.items()})
STACK |= {"namespace": NAMESPACE}


class Front:
    """The gateway, and one server behind all services."""

    def __init__(self, istio, plane, manifests, server):
        self.istio = istio
        self.plane = plane
        self.manifests = manifests
        self.server = server

    def ask(self, path, headers=None):
        """Return the status, and what the server saw of the request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.istio.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(
                "POST", path, json.dumps({"model": "m", "prompt": "why"}), {"Host": HOST} | (headers or {})
            )
            response = connection.getresponse()
            body = response.read()
        return response.status, json.loads(body)["seen"] if response.status == http.HTTPStatus.OK else None

    def headers(self, path):
        """Return the headers with which a request on a path arrives."""
        status, seen = self.ask(f"{path}/v1/completions")
        return dict(seen["headers"]) if status == http.HTTPStatus.OK else {}

    def rejections(self):
        """Return how many updates the proxy has rejected."""
        return sum(self.istio.rejections().values())

    @contextlib.contextmanager
    def altered(self, service, place, value):
        """Write another value into the route of a service for the time of a `with` block."""
        route = exactly(self.manifests, "HTTPRoute", service)
        patch = json.dumps([{"op": "replace", "path": place, "value": value}])
        self.plane.kubectl("patch", "httproute", service, "-n", NAMESPACE, "--type=json", "-p", patch)
        try:
            yield
        finally:
            text = json.dumps([{"op": "replace", "path": "/spec", "value": route["spec"]}])
            self.plane.kubectl("patch", "httproute", service, "-n", NAMESPACE, "--type=json", "-p", text)


@pytest.fixture(scope="module")
def front(new_plane, tools, tmp_path_factory):
    plane = new_plane()
    manifests = rendered(STACK)
    routing = [manifest for manifest in manifests if manifest["kind"] in {"HTTPRoute", "Service"}]
    istio = Istio(tools, tmp_path_factory.mktemp("literal") / "istio", plane)
    server = ModelServer("any", "127.0.0.1", 0)
    with contextlib.ExitStack() as ends:
        ends.callback(plane.remove)
        ends.callback(server.end)
        ends.callback(istio.end)
        istio.start(objects.listeners(routing), objects.service_ports(routing))
        items = [objects.namespace_object(NAMESPACE), *routing]
        plane.kubectl(
            "apply", "--server-side", "-f", "-", input=json.dumps({"kind": "List", "apiVersion": "v1", "items": items})
        )
        istio.sync(NAMESPACE, [replacement(manifest, server) for manifest in routing if manifest["kind"] == "Service"])
        found = Front(istio, plane, manifests, server)
        for _, paths in WRITTEN.values():
            eventually(lambda path=paths[-1]: found.ask(f"{path}/v1/completions")[0] == http.HTTPStatus.OK)
        eventually(lambda: found.ask("/matched/v1/completions", MATCHED)[0] == http.HTTPStatus.OK)
        yield found


def replacement(service, server):
    """Return what stands for the pods behind a Service: the server."""
    ports = {port["targetPort"]: server.server_port for port in service["spec"]["ports"]}
    return addresses.Substitute(NAMESPACE, service["spec"]["selector"], ports)


def test_all_values_and_paths_are_taken(front):
    """See defects H3, H4."""
    assert (len(HEADER_VALUES), len({*ROUTE_PATHS})) == (COUNT, COUNT)
    assert {*PRINTABLE} == {*"".join(HEADER_VALUES)}
    assert {*IN_PATH} <= {*"".join(ROUTE_PATHS)}
    assert front.istio.rejections() == {}


def test_every_header_arrives_as_it_is_written(front):
    """See defects H3."""
    arrived = {name: front.headers(paths[0]) for name, (_, paths) in WRITTEN.items()}
    for name, (headers, _) in WRITTEN.items():
        assert {header: arrived[name][header] for header in headers} == headers


def test_every_path_leads_to_its_service_and_is_taken_off(front):
    """See defects H4."""
    for name, path in CASES:
        status, seen = front.ask(f"{path}/v1/completions?{path}")
        assert (status, seen["path"]) == (200, f"/v1/completions?{path}"), path
        (header, value), *_ = WRITTEN[name][0].items()
        assert dict(seen["headers"])[header] == value, path


def test_no_other_path_leads_there(front):
    """See defects H4. The control of the paths: other capitals, or a character less or more, meet none of them."""
    others = (
        {path.swapcase() for _, path in CASES} | {path[:-1] for _, path in CASES} | {f"{path}x" for _, path in CASES}
    )
    others -= {*ROUTE_PATHS}
    assert {path for path in others if front.ask(f"{path}/v1/completions")[0] != 404} == set()


def test_a_header_that_is_matched_is_no_command(front):
    """See defects H3."""
    assert front.ask("/matched/v1/completions", MATCHED)[0] == 200
    for name, value in MATCHED.items():
        assert front.ask("/matched/v1/completions", MATCHED | {name: f"{value}x"})[0] == 404


@pytest.mark.parametrize(("value", "sent"), [("100%%", "100%"), ("%PROTOCOL%", "HTTP/1.1")])
def test_a_command_in_a_header_is_no_value(value, sent, front):
    """See defects H3. The control of the headers: Envoy sends something else than what is written."""
    with front.altered("s0", FIRST_HEADER, value):
        eventually(lambda: front.headers("/OpenAI/v1").get("x-0") == sent)
    eventually(lambda: front.headers("/OpenAI/v1").get("x-0") == HEADER_VALUES[0])


def test_a_per_cent_sign_in_a_header_stops_the_routes_of_all(front):
    """See defects H3."""
    with front.altered("s0", FIRST_HEADER, "100%"):
        eventually(lambda: front.rejections() > 0)
        count = front.rejections()
        with front.altered("s1", FIRST_PATH, "/changed"):
            eventually(lambda: front.rejections() > count)
            assert front.ask(f"{WRITTEN['s1'][1][0]}/v1/completions")[0] == 200
            assert front.ask("/changed/v1/completions")[0] == 404
    eventually(lambda: front.headers("/OpenAI/v1").get("x-0") == HEADER_VALUES[0])
    with front.altered("s1", FIRST_PATH, "/changed"):
        eventually(lambda: front.ask("/changed/v1/completions")[0] == 200)


@pytest.mark.parametrize(("written", "read"), [("/%7euser-b", "/~user-b"), ("/a%2Eb", "/a.b")])
def test_a_proxy_decodes_escapes_before_it_compares_paths(written, read, front):
    """See defects H4. So a route on a path with an escape, which Gateway API takes, is one that no request meets."""
    with front.altered("s0", FIRST_PATH, written):
        eventually(lambda: front.ask("/OpenAI/v1/v1/completions")[0] == 404)
        assert front.ask(f"{written}/v1/completions")[0] == 404
    with front.altered("s0", FIRST_PATH, read):
        eventually(lambda: front.ask(f"{read}/v1/completions")[0] == 200)
        assert front.ask(f"{written}/v1/completions")[0] == 200
    eventually(lambda: front.ask("/OpenAI/v1/v1/completions")[0] == 200)
