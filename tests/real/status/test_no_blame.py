"""Nobody is blamed while everything is as it should be: at each moment of a first run, a rollout, a drain.

Gateways, routes and pools have their statuses from a real istiod, groups from the real controller of LeaderWorkerSets,
autoscalers from the real one. Fake nodes take seconds for each pod, so that the states on the way are seen.
"""

import contextlib

import pytest

from judging.status.verdict import ExitCode
from local.gateway import objects
from tests.support.cluster import lws, metrics
from tests.support.cluster.deployments import in_namespace, provide
from tests.support.cluster.leader import WAITING, leading
from tests.support.cluster.server import read, read_one
from tests.support.cluster.status import delayed, held
from tests.support.cluster.watch import Watch
from tests.support.stacks import GATEWAY, rendered
from tests.support.traffic.istio import Istio
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "blameless"
SLOW = {"annotations": delayed("pod-ready", "2s")}
HPA = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
PHASES = ("first run", "rollout", "scale down", "drain", "autoscaler")
CONTROL = "control"


def stack(image, replicas):
    """Return a stack with a service of each kind."""
    engine = {"image": f"registry.example/engine:{image}"}
    weights = {"name": "org/model", "source": "hf://org/model@v1", "size": "64Mi"}
    common = {"engine": engine, "pod": SLOW, "drainTimeout": "1s"}
    services = {
        "plain": {**common, "replicas": replicas},
        "single": common,
        "canaried": {**common, "canary": {"weight": 10, "replicas": 1}},
        "stored": {**common, "model": weights, "storage": {"type": "dedicated", "storageClassName": NAMESPACE}},
        "spanning": {**common, "parallelism": {"pipeline": 2}},
        "scaled": {**common, "autoscaling": HPA},
        "elected": {**common, "endpointPicker": {"replicas": 2, "pod": {"annotations": WAITING}}},
    }
    return in_namespace(NAMESPACE, **services) | {"gateway": GATEWAY}


@pytest.fixture(scope="module")
def world(loopback_plane, tools, tmp_path_factory):
    """Return a control plane with all controllers, and the adapter of its metrics."""
    folder = tmp_path_factory.mktemp("blameless")
    front = Istio(tools, folder / "istio", loopback_plane)
    manifests = rendered(stack("v1", 3))
    with contextlib.ExitStack() as ends:
        ends.callback(front.end)
        front.start(objects.listeners(manifests), objects.service_ports(manifests))
        loopback_plane.kubectl("apply", "--server-side", f"--filename={tools['crds'].path / 'disaggregated-set'}")
        ends.enter_context(lws.controller(loopback_plane, tools, tmp_path_factory.mktemp("lws")))
        adapter = ends.enter_context(metrics.served(loopback_plane, tools, tmp_path_factory.mktemp("adapter")))
        provide(loopback_plane, NAMESPACE)
        ends.enter_context(leading(loopback_plane, NAMESPACE, "elected"))
        yield loopback_plane, adapter


@pytest.fixture(scope="module")
def watch(world, deploy_for_all):
    """Return the samples of all phases."""
    plane, adapter = world
    watch = Watch(plane, NAMESPACE)
    deployment = deploy_for_all(stack("v1", 3), plane)
    adapter.values[NAMESPACE] = 5
    with watch.phase("first run"):
        deployment.up()
        watch.settle()
    deployment.write(stack("v2", 3))
    with watch.phase("rollout"):
        deployment.up()
        watch.settle()
    deployment.write(stack("v2", 1))
    with watch.phase("scale down"):
        with held(plane, NAMESPACE, "inference-stacks.io/service=plain"):
            deployment.up()
            eventually(lambda: any("scaling-down" in sample.ids for sample in watch.phases["scale down"]))
        watch.settle()
    node = node_of(plane, "plain")
    with watch.phase("drain"):
        plane.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=240s")
        watch.settle()
        plane.kubectl("uncordon", node)
    adapter.values[NAMESPACE] = 10
    with watch.phase("autoscaler"):
        eventually(lambda: autoscaler_status(plane).get("currentReplicas") == 2)
        watch.settle()
    with watch.phase(CONTROL):
        take_devices(plane)
    return watch


def node_of(plane, service):
    pods = read(plane, "pods", NAMESPACE, f"inference-stacks.io/service={service}")
    (node,) = [pod["spec"]["nodeName"] for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return node


def take_devices(plane):
    """Ask for more devices than any node has."""
    devices = '{"nvidia.com/gpu":"99"}'
    resources = f'{{"limits":{devices},"requests":{devices}}}'
    patch = f'[{{"op":"replace","path":"/spec/template/spec/containers/0/resources","value":{resources}}}]'
    plane.kubectl("patch", "deployment/single-decode", "-n", NAMESPACE, "--type=json", f"--patch={patch}")
    plane.kubectl("delete", "pod", "-n", NAMESPACE, "-l", "inference-stacks.io/service=single", "--wait")
    eventually(lambda: any(map(is_unscheduled, read(plane, "pods", NAMESPACE, "inference-stacks.io/service=single"))))


def is_unscheduled(pod):
    verdicts = pod.get("status", {}).get("conditions", ())
    return any((verdict["type"], verdict["status"]) == ("PodScheduled", "False") for verdict in verdicts)


def autoscaler_status(plane):
    return read_one(plane, "horizontalpodautoscalers", "scaled-decode", NAMESPACE).get("status", {})


@pytest.mark.states("picker-awaited", "workload-awaited", "route-resolving")
@pytest.mark.parametrize("phase", PHASES)
def test_nobody_is_blamed(watch, phase):
    samples = watch.phases[phase]
    assert sorted({line for sample in samples for line in sample.blames()}) == []
    assert {sample.exit_code for sample in samples} <= {ExitCode.SERVES, ExitCode.DEGRADED}
    assert samples[-1].exit_code is ExitCode.SERVES


@pytest.mark.parametrize(
    ("phase", "state"),
    [
        ("first run", "workload-awaited"), ("first run", "starting"),
        ("rollout", "rolling"), ("scale down", "scaling-down"), ("autoscaler", "scaling-up"),
    ],
)  # fmt: skip
def test_the_samples_see_what_goes_on(watch, phase, state):
    assert state in set().union(*(sample.ids for sample in watch.phases[phase]))


def test_a_fault_is_blamed_in_the_same_samples(watch):
    """The negative control."""
    last = watch.phases[CONTROL][-1]
    assert last.exit_code is ExitCode.FAILS
    assert any("single-decode" in line for line in last.blames())
