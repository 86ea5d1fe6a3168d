"""Monitors and rules come and go by themselves, and who reads the picker's metrics may read them and nothing else."""

import base64
import json
import re
import time
import urllib.error
import urllib.request

import pytest

from local.errors import LocalError
from planning.ground.ports import METRICS_PORT
from tests.support.cluster import backend_files
from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.server import accepts
from tests.support.cluster.verdicts import edited, ours
from tests.support.stacks import find, rendered, tree
from tests.support.traffic.pickers import picker

pytestmark = pytest.mark.real

METRICS = {"type": "prometheus-operator", "labels": {"release": "one"}}
READER = "qwen-epp-metrics-reader"
IDENTITY = {f"{READER}{part}" for part in ("", "-token", "-role", "-binding")}


def stack(namespace, metrics=METRICS, **service):
    """Return a stack of one service that is scraped, or is not."""
    return in_namespace(namespace, qwen=service) | ({"observability": {"metrics": metrics}} if metrics else {})


def token(plane, namespace, name=READER):
    """Return the token that the cluster made."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        secret = json.loads(plane.kubectl("get", "secret", name, "-n", namespace, "-o", "json"))
        if "token" in secret.get("data", {}):
            return base64.b64decode(secret["data"]["token"]).decode()
        time.sleep(0.2)
    pytest.fail("the cluster made no token")


def test_scraping_is_switched_on_and_off_and_nothing_else_moves(deploy):
    name = "scraped"
    deployed = deploy(stack(name, None))
    deployed.up()
    deployed.write(stack(name))
    made = {"qwen-decode-monitor", "qwen-epp-monitor", *IDENTITY}
    assert deployed.operate().done == deployed.changed() == dict.fromkeys(made, "create")
    deployed.write(stack(name) | {"defaults": {"metrics": {"interval": "10s"}}})
    assert deployed.changes("--refresh") == dict.fromkeys(("qwen-decode-monitor", "qwen-epp-monitor"), "update")
    deployed.write(stack(name) | {"defaults": {"endpointPicker": {"metricsAuth": False}}})
    changed = deployed.changes()
    assert {key for key, what in changed.items() if what == "delete"} == {*IDENTITY, "qwen-epp-metrics-auth"}
    assert changed["qwen-epp-monitor"] == "update"
    deployed.write(stack(name) | {"defaults": {"metrics": {"picker": False}}})
    assert deployed.operate().done == deployed.changed() == dict.fromkeys(("qwen-epp-monitor", *IDENTITY), "delete")
    deployed.assert_unchanged()
    deployed.write(stack(name, None))
    assert deployed.operate().done == deployed.changed() == {"qwen-decode-monitor": "delete"}
    for kind in ("podmonitors", "servicemonitors", "secrets", "clusterroles"):
        assert name not in deployed.plane.kubectl("get", kind, "-A", "-o", "name")


def test_rules_and_dashboards_are_switched_on_and_off_and_nothing_else_moves(deploy):
    name = "alerted"
    watching = {"rules": {"labels": {"release": "one"}}, "dashboards": {"annotations": {"grafana_folder": "Inference"}}}
    alerted = stack(name) | {"observability": {"metrics": METRICS, **watching}}
    objects = ("qwen-rules", "qwen-dashboard", "routing-overview")
    deployed = deploy(stack(name))
    deployed.up()
    deployed.write(alerted)
    assert deployed.operate().done == deployed.changed() == dict.fromkeys(objects, "create")
    rendered_groups = find(rendered(alerted), "PrometheusRule", "qwen")["spec"]["groups"]
    assert deployed.get("PrometheusRule", "qwen", name)["spec"]["groups"] == rendered_groups
    deployed.assert_unchanged()
    deployed.write(alerted | {"defaults": {"slo": {"availability": 99.9}}})
    assert deployed.operate().done == deployed.changed() == dict.fromkeys(objects, "update")
    deployed.write(alerted | {"defaults": {"slo": {"availability": 99.9}}, "prices": {"perDeviceHour": {"nvidia": 2}}})
    assert deployed.operate().done == deployed.changed() == {"qwen-dashboard": "update"}
    deployed.write(stack(name))
    assert deployed.operate().done == deployed.changed() == dict.fromkeys(objects, "delete")
    for kind in ("prometheusrules", "configmaps"):
        left = deployed.plane.kubectl("get", kind, "-n", name, "-o", "name")
        assert not re.search("/qwen(-dashboard.*)?$|overview", left, re.MULTILINE), left


def foreign(kind, name, namespace):
    """Return a monitor of somebody else's."""
    field = "podMetricsEndpoints" if kind == "PodMonitor" else "endpoints"
    spec = {"selector": {"matchLabels": {"app": "theirs"}}, field: [{"port": "theirs"}]}
    about = {"name": name, "namespace": namespace}
    return {"apiVersion": "monitoring.coreos.com/v1", "kind": kind, "metadata": about, "spec": spec}


def test_what_is_called_alike_and_not_ours_stays_as_it_is(deploy, plane):
    """A monitor that is off is not looked for by name, and one in another namespace is another monitor."""
    name = "beside-theirs"
    theirs = "theirs"
    deployed = deploy(stack(name) | {"defaults": {"metrics": {"picker": False}}})
    deployed.up()
    plane.kubectl("create", "namespace", theirs)
    monitors = [foreign("ServiceMonitor", "qwen-epp", name), foreign("PodMonitor", "qwen-prefill", name)]
    others = [foreign(kind, f"qwen-{part}", theirs) for kind, part in (("PodMonitor", "decode"), ("PodMonitor", "epp"))]
    plane.kubectl(
        "create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": [*monitors, *others]})
    )
    places = [(each["kind"], each["metadata"]["name"], each["metadata"]["namespace"]) for each in (*monitors, *others)]
    before = [deployed.get(*place) for place in places]
    deployed.write(stack(name, None))
    deployed.up()
    assert deployed.operate("--refresh").done == {}
    assert [deployed.get(*place) for place in places] == before
    plane.kubectl("delete", "namespace", theirs)


def settles(question, expected, deadline=120):
    """Ask until the answer is the expected one: the API server takes a moment to see a binding come or go."""
    until = time.monotonic() + deadline
    while (found := question()) is not expected and time.monotonic() < until:
        time.sleep(0.1)
    return found is expected


def may(plane, account, verb, what, *more):
    try:
        return plane.kubectl("auth", "can-i", verb, what, f"--as={account}", *more).strip() == "yes"
    except LocalError:
        return False


def test_the_reader_may_get_metrics_and_nothing_else(deploy, plane):
    name = "reads"
    deployed = deploy(stack(name))
    deployed.up()
    me = f"system:serviceaccount:{name}:{READER}"
    assert settles(lambda: may(plane, me, "get", "/metrics"), expected=True)
    for path in ("/metrics/slis", "/metrics/cadvisor", "/logs", "/debug/pprof"):
        assert not may(plane, me, "get", path), path
    assert not may(plane, me, "post", "/metrics")
    for verb, resource in (
        ("get", "pods"),
        ("list", "pods"),
        ("get", "secrets"),
        ("list", "services"),
        ("get", "inferencepools.inference.networking.k8s.io/qwen"),
        ("create", "tokenreviews.authentication.k8s.io"),
        ("create", "subjectaccessreviews.authorization.k8s.io"),
        ("create", "serviceaccounts/token"),
    ):
        for place in (("-n", name), ("-n", "default"), ("-A",)):
            assert not may(plane, me, verb, resource, *place), (verb, resource, place)
    # The negative control: without its binding, not even that.
    plane.kubectl("delete", "clusterrolebinding", f"inference-stacks:{name}:{READER}")
    assert settles(lambda: may(plane, me, "get", "/metrics"), expected=False)


def test_the_token_is_the_readers_and_nobody_but_the_cluster_knows_it(deploy, plane):
    name = "tokens"
    deployed = deploy(stack(name))
    deployed.up()
    secret = token(plane, name)
    assert deployed.operate("--refresh").done == {}
    claims = json.loads(base64.urlsafe_b64decode(secret.split(".")[1] + "=="))
    assert claims["sub"] == f"system:serviceaccount:{name}:{READER}"
    texts = backend_files.texts(deployed.engine.directory / "backend")
    text, foreseen = deployed.foresee("--diff")
    assert foreseen.done == {}
    texts += [json.dumps(deployed.engine.export()), json.dumps(deployed.engine.outputs()), text]
    assert len(texts) > 4
    spellings = (secret, secret.rpartition(".")[2][:40], base64.b64encode(secret.encode()).decode()[:200])
    assert not [text for text in texts if any(each in text for each in spellings)]
    # It outlives a run, and goes with its Secret.
    assert token(plane, name) == secret
    plane.kubectl("delete", "secret", READER, "-n", name)
    deployed.up("--refresh")
    assert token(plane, name) != secret


def answer(port, secret=None):
    """Return the status that the picker answers a scrape with."""
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def test_the_real_picker_answers_the_reader_and_nobody_else(deploy, plane, tools, tmp_path):
    name = "answers"
    deployed = deploy(stack(name) | {"release": "gie-1.3"})
    deployed.up()
    reader_token = token(plane, name)
    with picker(plane, tools, name, "qwen-epp", tmp_path) as started:
        assert started.serves("readiness"), started.said()[-3000:]
        port = started.ports[METRICS_PORT]
        assert answer(port, reader_token) == 200
        assert answer(port) == 401
        assert answer(port, "no token") >= 400
        for account in ("default", "qwen-epp"):
            assert answer(port, plane.kubectl("create", "token", account, "-n", name).strip()) == 403


EDITS = {
    "PodMonitor": [
        (["spec", "selector"], None),
        (["spec", "selector", "matchLabel"], {"a": "b"}),
        (["spec", "podMetricsEndpoints"], {}),
        (["spec", "podMetricsEndpoints", 0, "prt"], "http"),
        (["spec", "podMetricsEndpoints", 0, "port"], 8000),
        (["spec", "podMetricsEndpoints", 0, "interval"], "30"),
        (["spec", "podMetricsEndpoints", 0, "interval"], "30s1m"),
        (["spec", "podMetricsEndpoints", 0, "interval"], "1m30s"),
        (["spec", "podMetricsEndpoints", 0, "interval"], "1500ms"),
        (["spec", "podMetricsEndpoints", 0, "scheme"], "tls"),
        (["spec", "podMetricsEndpoints", 0, "scheme"], "https"),
        (["spec", "podMetricsEndpoints", 0, "tlsConfig"], {"insecureSkipVerify": "yes"}),
        (["spec", "podMetricsEndpoints", 0, "tlsConfig"], {"insecureSkipVerify": True}),
        (["spec", "podMetricsEndpoints", 0, "relabelings", 0, "action"], "rename"),
        (["spec", "podMetricsEndpoints", 0, "relabelings", 0, "action"], "Keep"),
        (["spec", "podMetricsEndpoints", 0, "relabelings", 0, "sourceLabels"], ["not-a-label"]),
        (["spec", "podMetricsEndpoints", 0, "relabelings", 0, "targetLable"], "x"),
    ],
    "ServiceMonitor": [
        (["spec", "endpoints"], None),
        (["spec", "endpoints", 0, "authorization", "credentials"], {"name": "x"}),
        (["spec", "endpoints", 0, "authorization", "credentials"], {"key": "token"}),
        (["spec", "endpoints", 0, "authorization", "credentials", "optional"], "yes"),
        (["spec", "endpoints", 0, "authorization", "type"], "Bearer"),
        (["spec", "endpoints", 0, "authorisation"], {}),
        (["spec", "endpoints", 0, "path"], 1),
        (["spec", "endpoints", 0, "interval"], "0"),
    ],
}
NAMES = {"PodMonitor": "qwen-decode", "ServiceMonitor": "qwen-epp"}


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [(kind, path, value) for kind, edits in EDITS.items() for path, value in edits],
    ids=lambda part: json.dumps(part)[:70],
)
def test_our_schemas_accept_and_refuse_what_the_server_does(kind, path, value, plane):
    everything = rendered(tree() | {"observability": {"metrics": METRICS}})
    monitor = edited(find(everything, kind, NAMES[kind]), path, value)
    assert ours(monitor) == accepts(plane, monitor)
