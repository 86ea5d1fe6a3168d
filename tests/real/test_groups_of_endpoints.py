"""Replicas of several pods that all get requests: the real controller makes them, and a real picker reaches each."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.cluster import lws
from tests.support.stacks import tree
from tests.support.traffic.picker_proxy import PickerProxy
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "endpoints"
WIDE = {
    "accelerator": "nvidia-h100-80gb",
    "engine": {"image": "registry.example/vllm-openai:v0.23.0"},
    "parallelism": {"data": 16, "dataLocal": 8, "expert": True, "loadBalancing": "external"},
    "endpointPicker": {"proxy": {}},
}
HALVES = {
    "accelerator": "cpu",
    "engine": {"image": "registry.example/vllm-openai-cpu:v0.23.0"},
    "parallelism": {"data": 4, "dataLocal": 2, "loadBalancing": "hybrid"},
}
WHOLE = HALVES | {"parallelism": {"data": 4, "dataLocal": 2}}
DIVIDED = {
    "accelerator": "cpu",
    "engine": HALVES["engine"],
    "decode": {"sets": {"halves": {"parallelism": HALVES["parallelism"]}, "single": {"replicas": 2}}},
}
QUESTIONS = 500
"""Number of requests. One of 16 endpoints is missed by chance once in 10^13 times."""


@pytest.fixture(scope="module")
def loopback_plane(loopback_plane, tools, tmp_path_factory):
    """Return the control plane, with the real LeaderWorkerSet controller."""
    loopback_plane.kubectl("apply", "--server-side", f"--filename={tools['crds'].path / 'disaggregated-set'}")
    with lws.controller(loopback_plane, tools, tmp_path_factory.mktemp("lws")):
        yield loopback_plane


@pytest.fixture(scope="module")
def path(new_path):
    settings = {"namespace": NAMESPACE, "namespaceOptions": {"create": True}, "release": "gie-1.3"}
    return new_path(tree(wide=WIDE, halves=HALVES, whole=WHOLE, divided=DIVIDED) | settings)


def endpoints(path, service, at=None):
    """Return pod and port of each endpoint that answers a request; `at` is another prefix than that of the route."""
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda number: path.ask(service, at=at, prompt=f"question {number}"), range(QUESTIONS))
        return {(answer.seen["pod"], answer.seen["port"]) for answer in answers}


def pods_of(path, service):
    return {
        pod["metadata"]["name"]: pod
        for pod in path.listed("pods")
        if pod["metadata"]["labels"].get("app.kubernetes.io/name") == service and "-decode-" in pod["metadata"]["name"]
    }


def test_the_picker_reaches_every_copy_in_every_pod(path):
    pods = pods_of(path, "wide")
    assert {name: pod["spec"]["nodeName"] for name, pod in pods.items()} == {
        "wide-decode-0": pods["wide-decode-0"]["spec"]["nodeName"],
        "wide-decode-0-1": ({"gpu-h100-0", "gpu-h100-1"} - {pods["wide-decode-0"]["spec"]["nodeName"]}).pop(),
    }
    assert endpoints(path, "wide") == {(pod, 8000 + rank) for pod in pods for rank in range(8)}


def test_the_proxy_beside_the_picker_reaches_every_copy_in_every_pod(path, tools, tmp_path):
    proxy = PickerProxy(tools["envoy"].path, tmp_path / "proxy", path.plane, "wide-epp")
    try:
        with path.through(proxy):
            assert endpoints(path, "wide", at="") == {
                (pod, 8000 + rank) for pod in pods_of(path, "wide") for rank in range(8)
            }
    finally:
        proxy.end()


def test_the_picker_reaches_every_pod_whose_copies_share_a_port(path):
    assert endpoints(path, "halves") == {("halves-decode-0", 8000), ("halves-decode-0-1", 8000)}


def test_the_picker_reaches_the_first_pod_alone_if_its_engine_spreads_the_requests(path):
    assert set(pods_of(path, "whole")) == {"whole-decode-0", "whole-decode-0-1"}
    assert endpoints(path, "whole") == {("whole-decode-0", 8000)}


def test_the_picker_reaches_every_pod_of_every_set(path):
    pods = pods_of(path, "divided")
    single = {name for name in pods if name.startswith("divided-decode-single-")}
    assert len(single) == 2
    assert pods.keys() - single == {"divided-decode-halves-0", "divided-decode-halves-0-1"}
    assert endpoints(path, "divided") == {(pod, 8000) for pod in pods}
    add = {"op": "add", "path": "/spec/selector/matchLabels/inference-stacks.io~1role", "value": "decode-single"}
    with path.altered("inferencepool", "divided", add):
        eventually(lambda: endpoints(path, "divided") == {(pod, 8000) for pod in single})


def test_the_controller_numbers_the_pods_of_the_only_template(path):
    """The engine gets the number of its pod and the name of the first pod from variables of the controller."""
    for number, pod in enumerate(pods_of(path, "wide")[name] for name in ("wide-decode-0", "wide-decode-0-1")):
        (engine,) = pod["spec"]["containers"]
        values = {variable["name"]: variable.get("value") for variable in engine["env"]}
        assert values["LWS_LEADER_ADDRESS"].startswith("wide-decode-0.wide-decode.")
        assert pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/worker-index"] == str(number)
        position = [variable["name"] for variable in engine["env"]]
        assert position.index("LWS_LEADER_ADDRESS") < position.index("POD_IP")
        assert "--node-rank=$(LWS_WORKER_INDEX)" in engine["args"]


def test_another_load_balancing_replaces_the_pods_and_not_the_workload(deploy_for_all, loopback_plane):
    namespace = "switched"
    settings = {"namespace": namespace, "namespaceOptions": {"create": True}, "release": "gie-1.3"}
    deployed = deploy_for_all(tree(qwen=WHOLE) | settings, loopback_plane)
    deployed.up()
    members = {"qwen-decode-0", "qwen-decode-0-1"}
    uids = dict[str, str]()
    for service, endpoints_now in ((HALVES, members), (WHOLE, {"qwen-decode-0"})):
        deployed.write(tree(qwen=service) | settings)
        assert deployed.operate().done == {"qwen-decode": "update"}
        pods = {name: pod for name, pod in deployed.named("pods", namespace).items() if name in members}
        assert pods.keys() == members
        selector = deployed.get("inferencepool", "qwen", namespace)["spec"]["selector"]["matchLabels"]
        selected = {name for name, pod in pods.items() if selector.items() <= pod["metadata"]["labels"].items()}
        assert selected == endpoints_now
        templates = deployed.get("leaderworkerset", "qwen-decode", namespace)["spec"]["leaderWorkerTemplate"]
        assert ("leaderTemplate" in templates) is (service is WHOLE)
        new = {name: pod["metadata"]["uid"] for name, pod in pods.items()}
        assert not new.items() & uids.items()
        uids = new
    deployed.assert_in_step()
    deployed.destroy()
