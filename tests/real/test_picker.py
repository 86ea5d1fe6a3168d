"""A real endpoint picker, started as deployed: alone, and asked by a real proxy."""

import contextlib
import json
import time

import pytest
import yaml

from tests.support.cluster.deployments import in_namespace
from tests.support.stacks import tree
from tests.support.traffic.data_path import named
from tests.support.traffic.pickers import picker
from tests.support.waits import eventually

pytestmark = pytest.mark.real

TIMES = 24
"""How often a pick is made: one of two that is made by chance is the same this often once in eight million times."""


NAMESPACE = "picks"
SERVICES = ("whole", "poolless", "no-pods", "no-inferencepools")
"""A service for every test that takes something away from its picker, or nothing."""


@pytest.fixture(scope="module")
def deployed(deploy_for_all):
    """Deploy services whose pickers are then started here."""
    deployment = deploy_for_all(in_namespace(NAMESPACE, **{key: {} for key in SERVICES}) | {"release": "gie-1.3"})
    deployment.up()


def said_forbidden(log, resource, deadline=120):
    """Say whether the API server comes to refuse the picker something before the deadline."""
    until = time.monotonic() + deadline
    while time.monotonic() < until:
        if any("forbidden" in line and resource in line for line in log.read_text(encoding="utf-8").splitlines()):
            return True
        time.sleep(0.2)
    return False


def without_rule(plane, role, rule):
    patch = json.dumps([{"op": "remove", "path": f"/rules/{rule}"}])
    plane.kubectl("patch", "role", role, "-n", NAMESPACE, "--type=json", "-p", patch)


def test_the_picker_serves_as_deployed_and_is_refused_nothing(deployed, plane, tools, tmp_path):
    with picker(plane, tools, NAMESPACE, "whole-epp", tmp_path) as started:
        assert started.serves("readiness"), started.said()[-3000:]
        assert started.serves("liveness")
        assert "forbidden" not in started.said()
    me = f"system:serviceaccount:{NAMESPACE}:whole-epp"
    group = "inference.networking.x-k8s.io"
    for kind in ("inferenceobjectives", "inferencemodelrewrites"):
        granted = plane.kubectl("auth", "can-i", "watch", f"{kind}.{group}", "-n", NAMESPACE, f"--as={me}")
        assert granted.strip() == "yes"


def test_without_its_pool_the_picker_does_not_serve(deployed, plane, tools, tmp_path):
    plane.kubectl("delete", "inferencepool", "poolless", "-n", NAMESPACE)
    with picker(plane, tools, NAMESPACE, "poolless-epp", tmp_path) as started:
        assert not started.serves("readiness", deadline=8)


@pytest.mark.parametrize(("rule", "resource"), [(0, "pods"), (1, "inferencepools")])
def test_without_pods_or_its_pool_in_its_role_the_picker_does_not_serve(
    rule, resource, deployed, plane, tools, tmp_path
):
    name = f"no-{resource}-epp"
    without_rule(plane, name, rule)
    with picker(plane, tools, NAMESPACE, name, tmp_path) as started:
        assert not started.serves("readiness", deadline=8)
        assert said_forbidden(started.log, resource)


@pytest.fixture(scope="module")
def path(new_path):
    """Return the data path of a service of two pods, whose picker is as the release makes it."""
    settings = {"namespace": "scores", "namespaceOptions": {"create": True}, "release": "gie-1.3"}
    return new_path(tree(bert={"replicas": 2}) | settings)


@contextlib.contextmanager
def restarted(path, kind, name, *operations, field):
    """Run the picker as it comes up with an object altered, and afterwards the one that is deployed."""
    path.stop_pickers("bert-epp")
    try:
        with path.altered(kind, name, *operations, field=field):
            path.start_pickers("bert-epp")
            yield
            path.stop_pickers("bert-epp")
    finally:
        path.start_pickers("bert-epp")


def without_weight(path, scorer):
    """Run the picker as if its release gave a scorer no weight."""
    ((key, text),) = path.listed("configmap/bert-epp")[0]["data"].items()
    config = yaml.safe_load(text)
    (weighed,) = (plugin for plugin in config["schedulingProfiles"][0]["plugins"] if plugin["pluginRef"] == scorer)
    assert weighed["weight"] > 0
    weighed["weight"] = 0
    operation = {"op": "replace", "path": f"/data/{key}", "value": yaml.safe_dump(config)}
    return restarted(path, "configmap", "bert-epp", operation, field="data")


def picked(path, prompts):
    """Ask one after the other, and return the pods that answered."""
    return {path.ask("bert", prompt=prompt).seen["pod"] for prompt in prompts}


def short():
    """Return prompts of which no prefix is long enough to be remembered."""
    return [f"question {number}" for number in range(TIMES)]


def scraped(servers):
    """Wait until the picker knows what the servers tell now."""
    before = [server.scrapes for server in servers]
    eventually(lambda: all(server.scrapes >= count + 3 for server, count in zip(servers, before, strict=True)))


def test_a_long_prompt_goes_where_it_went_before_by_the_weight_of_its_scorer(path):
    pods = named(path.of("bert"))
    prompts = ["once upon a time " * 200] * TIMES
    assert len(picked(path, prompts)) == 1
    assert picked(path, short()) == pods
    with without_weight(path, "prefix-cache-scorer"):
        assert picked(path, prompts) == pods


@pytest.mark.parametrize(
    ("scorer", "gauge", "value"),
    [
        ("kv-cache-utilization-scorer", "vllm:kv_cache_usage_perc", 0.7),
        ("queue-scorer", "vllm:num_requests_waiting", 4.0),
    ],
)
def test_a_busy_pod_is_avoided_by_the_weight_of_its_scorer(scorer, gauge, value, path):
    idle, busy = servers = path.of("bert")
    busy.gauges[gauge] = value
    try:
        scraped(servers)
        assert picked(path, short()) == {idle.pod}
        with without_weight(path, scorer):
            scraped(servers)
            assert picked(path, short()) == {idle.pod, busy.pod}
    finally:
        busy.gauges[gauge] = 0.0
        scraped(servers)


def test_a_picker_whose_pool_selects_no_pod_says_that_nobody_is_there(path):
    label = {"op": "replace", "path": "/spec/selector/matchLabels/inference-stacks.io~1service", "value": "other"}
    with restarted(path, "inferencepool", "bert", label, field="spec"):
        answer = path.ask("bert")
        assert answer.status == 503
        assert b"failed to find candidate pods" in answer.body
    assert path.ask("bert").status == 200
