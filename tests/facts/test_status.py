"""The reader of what a status is made from: one list for each kind, and unknown what does not answer as it should."""

import base64
import json
import time

import pytest

from facts import reading, status
from facts.kubeconfig import KubeAccess
from facts.status import ReadScope
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import (
    CERTIFICATE,
    DEPLOYMENT,
    EVENT,
    GATEWAY,
    KINDS,
    KINDS_OF_VARIANTS,
    NODE,
    POD,
    ROUTE,
    SERVICE,
    TLS_CERTIFICATE,
)
from tests.support.cluster import loopback
from tests.support.cluster.kubeconfigs import config

PODS = "/api/v1/namespaces/models/pods?limit=5000&labelSelector=app.kubernetes.io%2Fpart-of%3Dinference-stacks"
WARNINGS = "/api/v1/namespaces/models/events?limit=5000&fieldSelector=type%3DWarning"
NODES = "/api/v1/nodes?limit=5000"
ROUTES = PODS.replace("/api/v1/", "/apis/gateway.networking.k8s.io/v1/").replace("/pods", "/httproutes")
GATEWAYS = "/apis/gateway.networking.k8s.io/v1/namespaces/{}/gateways/{}"
SCOPE = ReadScope(("models",))


def named(name, **more):
    return {"metadata": {"name": name, "namespace": "models"}, **more}


@pytest.fixture
def api(patience, monkeypatch):
    monkeypatch.setattr(status, "_DEADLINE_SECONDS", 300)
    with loopback.serve({}) as server:
        yield server


def access(server):
    return KubeAccess(json.dumps(config(server.url, {"token": "right"})), None)


def read(server, scope=SCOPE):
    return status.read(access(server), scope)


def test_each_kind_is_one_list_and_what_is_not_served_has_no_objects(api):
    api.answers = {
        PODS: {"items": [named("qwen")]},
        WARNINGS: {"items": [named("late")]},
        NODES: {"items": [named("a"), named("b")]},
    }
    snapshot = read(api)
    assert snapshot.unread() == {}
    names = {kind: [item["metadata"]["name"] for item in snapshot.of(kind)] for kind in KINDS}
    assert {kind: names[kind] for kind in KINDS if names[kind]} == {POD: ["qwen"], EVENT: ["late"], NODE: ["a", "b"]}
    assert len(api.seen) == len(KINDS) - len({GATEWAY, SERVICE})
    assert api.connections == 1


def test_kinds_that_nobody_asks_for_are_not_read(api):
    api.answers = {PODS: {"items": [named("qwen")]}, NODES: {"items": [named("a")]}}
    snapshot = read(api, ReadScope(("models",), kinds=KINDS_OF_VARIANTS))
    assert snapshot.objects.keys() == {*KINDS_OF_VARIANTS}
    assert [item["metadata"]["name"] for item in snapshot.of(POD)] == ["qwen"]
    assert len(api.seen) == len(KINDS_OF_VARIANTS)


def test_without_namespaces_the_whole_cluster_is_read(api):
    api.answers = {PODS.replace("/namespaces/models", ""): {"items": [named("qwen")]}}
    assert len(read(api, ReadScope()).of(POD)) == 1


OF_INTERCEPTORS = "app.kubernetes.io%2Fcomponent%3Dinterceptor%2C"
METER_PODS = PODS.replace("/models/", "/meters/").replace("Selector=", f"Selector={OF_INTERCEPTORS}")
METER_DEPLOYMENTS = METER_PODS.replace("/api/v1/", "/apis/apps/v1/").replace("/pods", "/deployments")
WITH_METERS = ReadScope(("models",), interceptors=("meters", "models"))


def test_of_the_namespace_of_an_interceptor_only_its_deployment_and_pods_are_read(api):
    api.answers = {
        PODS: {"items": [named("qwen")]},
        METER_PODS: {"items": [named("meter-0")]},
        METER_DEPLOYMENTS: {"items": [named("meter")]},
    }
    snapshot = read(api, WITH_METERS)
    assert [pod["metadata"]["name"] for pod in snapshot.of(POD)] == ["qwen", "meter-0"]
    assert [deployment["metadata"]["name"] for deployment in snapshot.of(DEPLOYMENT)] == ["meter"]
    assert len(api.seen) == len(KINDS) - len({GATEWAY, SERVICE}) + len({POD, DEPLOYMENT})
    assert snapshot.namespaces == {"models", "meters"}
    assert read(api).namespaces == {"models"}
    assert read(api, ReadScope()).namespaces is None


def test_a_namespace_of_an_interceptor_that_may_not_be_read_is_left_out(api):
    api.answers = {PODS: {"items": [named("qwen")]}, METER_DEPLOYMENTS: {"items": [named("meter")]}}
    api.refused = {METER_PODS}
    snapshot = read(api, WITH_METERS)
    assert [pod["metadata"]["name"] for pod in snapshot.of(POD)] == ["qwen"]
    assert (snapshot.unread(), snapshot.namespaces) == ({}, {"models"})


def test_the_gateways_of_routes_are_read_by_name(api):
    parents = [{"name": "a"}, {"name": "b", "namespace": "gateways"}, {"kind": "Service", "name": "c"}, {"name": "d"}]
    api.answers = {
        ROUTES: {"items": [named("qwen", spec={"parentRefs": parents})]},
        GATEWAYS.format("models", "a"): named("a"),
        GATEWAYS.format("gateways", "b"): named("b"),
    }
    assert [gateway["metadata"]["name"] for gateway in read(api).of(GATEWAY)] == ["b", "a"]


LABELS = "saturncloud.io%2Fresource-id%2Csaturncloud.io%2Fservice-type%3Dinternal"
LABELLED = f"/api/v1{{}}/services?limit=5000&labelSelector={LABELS}"
METERED = {"name": "X-Saturn-Resource-Id", "value": "chat"}
NAMED = {"name": "x-saturn-upstream", "value": "qwen.models.svc:8000"}


def route_that_sets(*headers):
    rule = {"filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [*headers]}}]}
    return named("qwen", spec={"rules": [rule]})


def test_services_are_read_if_a_route_lets_an_interceptor_search_for_them(api):
    in_namespace = LABELLED.format("/namespaces/models")
    api.answers = {
        ROUTES: {"items": [route_that_sets(METERED)]},
        ROUTES.replace("/namespaces/models", ""): {"items": [route_that_sets(METERED)]},
        in_namespace: {"items": [named("qwen"), named("twin")]},
        LABELLED.format(""): {"items": [named("qwen")]},
    }
    assert [service["metadata"]["name"] for service in read(api).of(SERVICE)] == ["qwen", "twin"]
    assert [service["metadata"]["name"] for service in read(api, ReadScope()).of(SERVICE)] == ["qwen"]


def test_services_are_not_read_if_routes_name_the_addresses(api):
    api.answers = {ROUTES: {"items": [route_that_sets(METERED, NAMED)]}}
    assert read(api).of(SERVICE) == []
    assert len(api.seen) == len(KINDS) - len({GATEWAY, SERVICE})


PEM = "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----"
KEY = "-----BEGIN PRIVATE KEY-----\nQg==\n-----END PRIVATE KEY-----\n"
SECRETS = "/api/v1/namespaces/{}/secrets/{}"
CERTIFICATES = "/apis/cert-manager.io/v1/namespaces/{}/certificates?limit=500"


def encoded(text):
    return base64.b64encode(text.encode()).decode()


DEPLOYMENTS = PODS.replace("/api/v1/", "/apis/apps/v1/").replace("/pods", "/deployments")
POOLS = PODS.replace("/api/v1/", "/apis/inference.networking.k8s.io/v1/").replace("/pods", "/inferencepools")
PROXY = "/api/v1/namespaces/models/services/qwen-proxy"


def of_variant(name, component, **more):
    item = named(name, **more)
    item["metadata"]["labels"] = {"app.kubernetes.io/name": "qwen", "app.kubernetes.io/component": component}
    return item


def with_containers(name, component, *containers):
    template = {"spec": {"containers": [{"name": container} for container in containers]}}
    return of_variant(name, component, spec={"template": template})


def test_the_service_of_proxies_is_read_by_its_name(api):
    engines = with_containers("qwen-decode", "model-server", "vllm", "proxy")
    api.answers = {
        DEPLOYMENTS: {"items": [with_containers("qwen-epp", "endpoint-picker", "epp", "proxy"), engines]},
        PROXY: named("qwen-proxy"),
    }
    assert read(api).of(SERVICE) == [named("qwen-proxy")]
    api.refused = {PROXY}
    assert read(api).unread().keys() == {SERVICE}
    api.answers[DEPLOYMENTS] = {"items": [with_containers("qwen-epp", "endpoint-picker", "epp"), engines]}
    assert read(api).unread() == {}


def test_the_service_of_proxies_is_read_if_their_pickers_are_gone_and_it_may_be_read(api):
    pool = of_variant("qwen", "endpoint-picker", spec={"endpointPickerRef": {"name": "qwen-epp"}})
    api.answers = {POOLS: {"items": [pool]}, DEPLOYMENTS: {"items": []}, PROXY: named("qwen-proxy")}
    assert read(api).of(SERVICE) == [named("qwen-proxy")]
    api.refused = {PROXY}
    snapshot = read(api)
    assert (snapshot.of(SERVICE), snapshot.unread()) == ([], {})


def gateway_with(*references):
    listeners = [{"name": "https", "tls": {"certificateRefs": [*references]}}, {"name": "http"}]
    return named("a", spec={"listeners": listeners})


def test_of_secrets_nothing_but_the_certificates_of_listeners_is_kept(api):
    elsewhere = {"name": "y", "namespace": "security"}
    references = [{"name": "x"}, elsewhere, {"name": "gone"}, {"kind": "ConfigMap", "name": "z"}]
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "KEY"}
    api.answers = {
        ROUTES: {"items": [named("qwen", spec={"parentRefs": [{"name": "a"}]})]},
        GATEWAYS.format("models", "a"): gateway_with(*references),
        SECRETS.format("models", "x"): {
            "metadata": {"name": "x", "annotations": applied},
            "data": {"tls.crt": encoded(f"text\n{PEM}\n{KEY}{PEM}"), "tls.key": "KEY", "ca.crt": "AUTHORITY"},
        },
        SECRETS.format("security", "y"): {"metadata": {"name": "y"}, "data": {"tls.key": "KEY"}},
        CERTIFICATES.format("models"): {"items": [named("renewed")]},
    }
    snapshot = read(api, ReadScope(("models",), certificates=True))
    assert snapshot.of(TLS_CERTIFICATE) == [
        {"metadata": {"namespace": "models", "name": "x"}, "data": {"tls.crt": encoded(f"{PEM}\n{PEM}")}},
        {"metadata": {"namespace": "security", "name": "y"}, "data": {"tls.crt": ""}},
    ]
    assert [item["metadata"]["name"] for item in snapshot.of(CERTIFICATE)] == ["renewed"]
    assert "KEY" not in repr(snapshot)
    assert snapshot.unread() == {}


def test_without_the_option_no_secret_is_asked_for(api):
    api.answers = {
        ROUTES: {"items": [named("qwen", spec={"parentRefs": [{"name": "a"}]})]},
        GATEWAYS.format("models", "a"): gateway_with({"name": "x"}),
    }
    assert TLS_CERTIFICATE not in read(api).objects
    assert not [path for path in api.seen if "secrets" in str(path) or "certificates" in str(path)]


@pytest.mark.parametrize("code", [400, 401, 403, 500, 503])
def test_a_kind_that_is_refused_is_unknown_and_the_others_are_read(api, code, monkeypatch):
    monkeypatch.setattr(reading, "_PAUSE_SECONDS", 0)
    api.answers = {PODS: {"items": [named("qwen")]}}
    api.statuses = {WARNINGS: code}
    snapshot = read(api)
    assert snapshot.unread() == {EVENT: f"the cluster could not be read (it answered {code})"}
    assert len(snapshot.of(POD)) == 1


LISTS = [[], "text", None, 5, {}, {"items": "pods"}, {"items": 5}, {"items": ["pod"]}, {"items": [None]}]
OBJECTS = [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"name": 5}}, {"metadata": ["name"]}]


@pytest.mark.parametrize("answer", [*LISTS, *({"items": [item]} for item in OBJECTS), {"items": [], "metadata": []}])
def test_an_answer_that_is_no_list_of_objects_makes_a_kind_unknown(api, answer):
    api.answers = {NODES: {"items": [named("a")]}, PODS: answer}
    snapshot = read(api)
    assert snapshot.unread().keys() == {POD}
    assert len(snapshot.of(NODE)) == 1


def test_an_answer_that_is_cut_short_is_read_again(api):
    api.answers = {PODS: {"items": [named("qwen")]}}
    api.cut = {PODS}
    api.mended = True
    assert len(read(api).of(POD)) == 1


def test_a_kind_that_does_not_answer_is_unknown_after_the_deadline(api, monkeypatch):
    monkeypatch.setattr(status, "_DEADLINE_SECONDS", 1)
    api.hang = loopback.threading.Event()
    api.silent = {WARNINGS}
    begin = time.monotonic()
    snapshot = read(api)
    assert time.monotonic() - begin < 10
    late = Unknown("the cluster did not answer within 1 seconds")
    assert snapshot.objects[DEPLOYMENT] == ()
    assert {snapshot.objects[kind] for kind in (EVENT, NODE, ROUTE)} == {late}


@pytest.mark.parametrize("services", [1, 100])
def test_the_number_of_lists_does_not_grow_with_services(api, services):
    everywhere = {PODS: 10, ROUTES: 1, WARNINGS: 10}
    api.answers = {
        path.replace("/namespaces/models", ""): {"items": [named(f"x{number}") for number in range(count * services)]}
        for path, count in everywhere.items()
    }
    snapshot = read(api, ReadScope())
    assert len(snapshot.of(POD)) == 10 * services
    assert len(api.seen) == 12


def test_a_stack_in_several_namespaces_is_eleven_lists_in_each_and_one_of_nodes(api):
    api.answers = _Empty()
    assert read(api, ReadScope(("models", "chat", "search"))).unread() == {}
    assert len(api.seen) == 3 * 11 + 1


class _Empty(dict):
    """An answer without objects to every list."""

    def get(self, *_):
        return {"items": []}

    def __contains__(self, path):
        return True
