"""Metering on the real parts: a proxy leads to a stand-in, which finds models with the deployed account's token."""

import base64
import contextlib
import hashlib
import http.client
import itertools
import json
from functools import partial
from http import HTTPStatus

import pytest

from planning.interceptor.resolution import Unresolved
from tests.support.cluster.deployments import told
from tests.support.cluster.identities import Right, client
from tests.support.cluster.server import read
from tests.support.stacks import tree
from tests.support.stacks.varied_metering import LABEL_IMAGE
from tests.support.traffic.billing import ROW, shapes
from tests.support.traffic.data_path import DataPath
from tests.support.traffic.interceptors import StandIn
from tests.support.traffic.lookups import Cache, Memory, lookup, pod_of
from tests.support.traffic.translated import Translated
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "metered"
METERING = "metered-by"
ID = "chat-7f3a"
URL = f"http://qwen.{NAMESPACE}.svc.cluster.local:8000"
NAME = "phoebe-interceptor"
ROLE = f"{NAME}-services-inference-stacks.dev"
SECRET = "phoebe-settings"
DSN = "postgres://meter:hunter2@db/billing"
FORGED = {f"X-Saturn-{name}": "forged" for name in ("User-Id", "Group-Id", "Resource-Type", "Base-Model", "Org-Id")}
CLIENT = {"X-Saturn-Auth-Id": "somebody"}
JSON = {**CLIENT, "Host": "llm.example.com", "Content-Type": "application/json"}


def stack(**services):
    """Return a stack that deploys its interceptor into a namespace of its own."""
    deploy = {"image": LABEL_IMAGE, "replicas": 1, "emit": {"valkeyAddr": "valkey.metered-by.svc:6379"}}
    deploy["settingsSecret"] = SECRET
    return tree(**services) | {
        "namespace": NAMESPACE,
        "namespaceOptions": {"create": True},
        "defaults": {"endpointPicker": {"enabled": False}},
        "interceptor": {"mode": "label", "namespace": METERING, "deploy": deploy},
    }


METERED = {"interceptor": {"resourceId": ID}}


class MeteredPath(DataPath):
    """A data path through the interceptor's pods, which are in another namespace."""

    stand_ins: list[StandIn]

    def bill(self):
        """Return the rows of the bill once all requests are through, and forget them."""
        eventually(lambda: all(each.ended == each.begun for each in self.stand_ins))
        found = [event for each in self.stand_ins for event in each.events]
        for each in self.stand_ins:
            each.events.clear()
        return found

    def connected(self):
        """Return a connection to the gateway."""
        return http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)

    @contextlib.contextmanager
    def waiting(self, leaves):
        """Let streams wait after their first event for a client that leaves; the others come at once."""
        servers = [*itertools.chain(*self.servers.values())]
        for server in servers:
            server.released.set() if leaves is None else server.released.clear()
        try:
            yield
        finally:
            for server in servers:
                server.released.set()

    def restart(self, search):
        """End the stand-ins, and start one for each pod of the interceptor."""
        self.stop()
        for pod in read(self.plane, "pods", METERING):
            address = pod["status"]["podIP"], 8080
            self.stand_ins.append(StandIn(address, Cache(search, Memory()), self.reach))

    def stop(self):
        """End the stand-ins."""
        while self.stand_ins:
            self.stand_ins.pop().end()

    def reach(self, url):
        """Return a pod behind the URL of a Service."""
        return pod_of(url, self.listed("services"), self.pods("model-server"))


@pytest.fixture(scope="module")
def deployed(deploy_for_all, loopback_plane):
    deployment = deploy_for_all(stack(qwen=METERED), loopback_plane)
    deployment.up()
    deployment.plane.kubectl("create", "secret", "generic", SECRET, f"--from-literal=dsn={DSN}", "-n", METERING)
    return deployment


@pytest.fixture(scope="module")
def search(deployed):
    """Return the search with a token of the account that is deployed."""
    with client(deployed.plane) as api:
        path = f"/api/v1/namespaces/{METERING}/serviceaccounts/{NAME}/token"
        token = api.create(path, {"spec": {}})["status"]["token"]
    return partial(lookup, deployed.plane, token, namespace=NAMESPACE), token


@pytest.fixture(scope="module")
def path(deployed, search, tools, tmp_path_factory):
    directory = tmp_path_factory.mktemp("metered")
    gateway = Translated(tools["envoy"].path, directory / "envoy", deployed.plane, METERING)
    found = MeteredPath(deployed.plane, tools, NAMESPACE, directory / "path", gateway)
    found.stand_ins = []
    try:
        found.restart(search[0])
        found.start()
        assert found.stand_ins
        yield found
    finally:
        found.stop()
        found.end()
        gateway.end()


def patch(plane, kind, name, namespace, *operations):
    plane.kubectl("patch", kind, name, "-n", namespace, "--type=json", "-p", json.dumps(operations))


def test_a_request_is_metered_under_an_id_that_its_client_cannot_forge(path):
    """See phoebe 7.4, 1.3."""
    sent = {
        **CLIENT,
        **FORGED,
        "X-Saturn-Resource-Id": "other",
        "X-Saturn-Upstream": "evil:80",
        "Accept-Encoding": "gzip",
    }
    path.bill()
    seen = path.ask("qwen", headers=sent).seen
    received = dict(seen["headers"])
    assert len(received) == len(seen["headers"])
    assert received["x-saturn-resource-id"] == ID
    assert received["x-saturn-auth-id"] == "somebody"
    gone = {*(name.lower() for name in FORGED), "x-saturn-upstream"}
    assert not gone & received.keys()
    assert seen["path"] == "/v1/completions"
    # The route takes the encoding away, so that the interceptor, which asks for gzip itself, can read the answer.
    (came,) = (each.seen[-1] for each in path.stand_ins)
    assert "accept-encoding" not in came
    assert received["accept-encoding"] == "gzip"
    (row,) = path.bill()
    assert (row.auth_id, row.resource_id, row.request_id) == ("somebody", ID, received["x-request-id"])


@pytest.mark.parametrize("case", shapes(forces_usage=True), ids=lambda case: case.name)
def test_requests_of_every_shape_are_billed_as_the_contract_says(path, case):
    """See defects U1."""
    path.bill()
    with path.waiting(case.request.get("leaves")):
        with contextlib.closing(path.connected()) as connection:
            connection.request(
                "POST", f"/{NAMESPACE}/qwen{case.request.get('path', '/v1/completions')}", case.body, JSON
            )
            with connection.getresponse() as response:
                assert response.status == HTTPStatus.OK
                response.readline() if "leaves" in case.request else response.read()
        bill = path.bill()
    rows = [{name: getattr(row, name) for name in ROW} for row in bill]
    assert rows == ([case.verdict["bill"]] if case.verdict["bill"] else [])


def test_there_is_no_path_past_the_interceptor(path):
    assert path.gateway.clusters == (f"service/{METERING}/{NAME}:8080",)
    assert path.ask("qwen").status == HTTPStatus.BAD_REQUEST
    assert path.ask("bert", headers=CLIENT).status == HTTPStatus.NOT_FOUND
    assert {each["cluster"] for each in path.gateway.log() if each["status"] == 200} <= {*path.gateway.clusters}


def test_a_stream_arrives_while_it_is_made_and_a_long_prompt_whole(path):
    asked = path.asked("qwen", "/v1/completions", headers=CLIENT, host="any.example.com", stream=True)
    with path.waiting("after"), asked as response:
        first = json.loads(response.readline().removeprefix(b"data: "))
        (server,) = path.servers[first["seen"]["pod"]]
        assert not server.released.is_set()
        server.released.set()
        assert response.read().endswith(b"data: [DONE]\n\n")
    prompt = "why? " * 300_000
    assert path.ask("qwen", headers=CLIENT, prompt=prompt).seen["prompt"] == hashlib.sha256(prompt.encode()).hexdigest()


def test_without_the_grant_the_route_leads_nowhere(path):
    (grant,) = read(path.plane, "referencegrants.gateway.networking.k8s.io", METERING)
    before = grant["spec"]["from"]
    other = [{**before[0], "namespace": "elsewhere"}]
    at = {"op": "replace", "path": "/spec/from"}
    patch(path.plane, "referencegrant", grant["metadata"]["name"], METERING, {**at, "value": other})
    path.sync()
    assert path.ask("qwen", headers=CLIENT).status == HTTPStatus.INTERNAL_SERVER_ERROR
    patch(path.plane, "referencegrant", grant["metadata"]["name"], METERING, {**at, "value": before})
    path.sync()
    assert path.ask("qwen", headers=CLIENT).status == HTTPStatus.OK


def test_13_the_account_may_list_services_of_the_models_and_nothing_else(deployed, search):
    """See phoebe 8.13, 4.4."""
    with client(deployed.plane) as api:
        assert api.may(search[1], Right(NAMESPACE, "", "services", (), "list"))
        for namespace, resource, verb in (
            (NAMESPACE, "secrets", "get"),
            (NAMESPACE, "services", "watch"),
            (NAMESPACE, "services", "update"),
            (NAMESPACE, "pods", "list"),
            (METERING, "services", "list"),
            ("", "services", "list"),
        ):
            assert not api.may(search[1], Right(namespace, "", resource, (), verb)), (namespace, resource, verb)


def test_14_each_reason_for_which_a_model_is_not_found_has_its_own_outcome(deployed, search):
    """See phoebe 8.14, 3.6."""
    plane = deployed.plane
    find = search[0]
    change = partial(patch, plane, "service", "qwen", NAMESPACE)
    kind = "/metadata/labels/saturncloud.io~1service-type"
    ports = {"op": "replace", "path": "/spec/ports"}
    (served,) = deployed.get("service", "qwen", NAMESPACE)["spec"]["ports"]
    assert find(ID) == URL
    change({"op": "replace", "path": kind, "value": "other"})
    assert find(ID) is Unresolved.NOT_FOUND
    change({"op": "replace", "path": kind, "value": "internal"})
    labels = f"saturncloud.io/resource-id={ID},saturncloud.io/service-type=internal"
    plane.kubectl("create", "service", "clusterip", "twin", "--tcp=8000", "-n", NAMESPACE)
    plane.kubectl("label", "service", "twin", "-n", NAMESPACE, *labels.split(","))
    assert find(ID) is Unresolved.AMBIGUOUS
    output = told(deployed.preview())
    assert (
        f"services.qwen.interceptor.resourceId: is also the id of Service {NAMESPACE}/twin of somebody else" in output
    )
    plane.kubectl("delete", "service", "twin", "-n", NAMESPACE)
    several = [{**served, "name": "http"}, {"name": "metrics", "port": 9090, "targetPort": 9090}]
    change({**ports, "value": several})
    assert find(ID) is Unresolved.NO_PORT
    change({**ports, "value": [served]})
    rules = deployed.get("role", ROLE, NAMESPACE)["rules"]
    patch(plane, "role", ROLE, NAMESPACE, {"op": "replace", "path": "/rules", "value": []})
    eventually(lambda: find(ID) is HTTPStatus.FORBIDDEN)
    patch(plane, "role", ROLE, NAMESPACE, {"op": "replace", "path": "/rules", "value": rules})
    eventually(lambda: find(ID) == URL)


def test_two_services_never_have_one_id_while_a_name_or_a_key_changes(deployed, search, path):
    """See defects A25, U2."""
    deployed.write(stack(other=METERED))
    done = deployed.preview()
    assert done.returncode != 0
    line = f"services.other.interceptor.resourceId: is also the id of Service {NAMESPACE}/qwen, which is deleted only"
    assert line in told(done)
    deployed.write(stack(qwen={**METERED, "name": "chat"}) | {"allow": ["name"]})
    assert path.ask("qwen", headers=CLIENT).status == HTTPStatus.OK
    operations = deployed.operate()
    assert operations.done["qwen-service"] == "delete-replaced, replace, create-replacement"
    assert search[0](ID) == URL.replace("qwen", "chat")
    # The interceptor goes on to ask the Service that is gone, until it is restarted, or has forgotten its address.
    eventually(lambda: any(pod["metadata"]["name"] not in path.servers for pod in path.pods("model-server")))
    for pod in path.pods("model-server"):
        path.serve(pod["metadata"]["name"])
    path.sync()
    assert path.ask("chat", headers=CLIENT).status == HTTPStatus.BAD_GATEWAY
    path.restart(search[0])
    assert path.ask("chat", headers=CLIENT).status == HTTPStatus.OK


def test_what_the_secret_holds_is_nowhere_else(deployed):
    deployed.up()
    coded = base64.b64encode(DSN.encode()).decode()
    (secret,) = (each for each in read(deployed.plane, "secrets", METERING) if each["metadata"]["name"] == SECRET)
    assert secret["data"] == {"dsn": coded}
    objects = [read(deployed.plane, kinds, METERING) for kinds in ("configmaps", "deployments", "pods")]
    assert any(SECRET in json.dumps(each) for each in objects)
    for text in map(json.dumps, (deployed.state(), deployed.outputs(), *objects)):
        assert coded not in text
        assert "hunter2" not in text
