"""A canary from its first pod to its promotion: each step as the engine did it, and as the cluster has it."""

import time

import pytest

from facts import status as reader
from facts.kubeconfig import KubeAccess
from facts.status import ReadScope
from judging.status import last_change, topology
from planning.ground.snapshot import KINDS_OF_VARIANTS
from tests.support.cluster.deployments import in_namespace, model, provide, weights
from tests.support.cluster.snapshots import at_rest, snapshot

pytestmark = pytest.mark.real

ROUTE = "routing-qwen-route"
CANARY = {
    "qwen-canary-decode", "qwen-canary-service", "qwen-canary-epp-service-account", "qwen-canary-epp-role",
    "qwen-canary-epp-role-binding", "qwen-canary-epp-metrics-auth", "qwen-canary-epp-config",
    "qwen-canary-epp-service", "qwen-canary-epp-pool", "qwen-canary-epp-deployment",
    "qwen-canary-epp-destination-rule",
}  # fmt: skip
V1 = model(1)
V2 = model(2)
STUCK = {f"pod-ready.stage.kwok.x-k8s.io/{delay}": "24h" for delay in ("delay", "jitter-delay")}
"""Delays that keep a fake node from ever making a pod ready, as an image that never comes would."""


def stack(namespace, model, canary=None, **service):
    """Return a stack of one service."""
    group = {} if canary is None else {"canary": canary}
    return in_namespace(namespace, qwen={"model": model, **service, **group})


def deployed(deployment, stack, *more):
    """Deploy and return what was done."""
    deployment.write(stack)
    return deployment.operate(*more)


def shares(deployment, namespace):
    """Return the weights that the route has in the cluster, each as it stands there."""
    (rule,) = deployment.get("httproute", "qwen", namespace)["spec"]["rules"]
    return {backend["name"]: backend["weight"] for backend in rule["backendRefs"]}


def change(plane, namespace):
    """Return the last change of the service, from which on gates compare its variants."""
    access = KubeAccess(plane.kubeconfig.read_text(encoding="utf-8"), None)
    snapshot = reader.read(access, ReadScope((namespace,), kinds=KINDS_OF_VARIANTS))
    (view,) = topology.of(snapshot).services
    return last_change.of(view)


def image_of(deployment, namespace, name="qwen-decode"):
    (container,) = deployment.get("deployment", name, namespace)["spec"]["template"]["spec"]["containers"]
    return container["image"]


def test_a_canary_is_added_shifted_rolled_back_and_folded_in(deploy, plane):
    """See zerfoo 9.4, 9.6."""
    name = "canaried"
    deployment = deploy(stack(name, V1))
    deployment.up()
    added = deployed(deployment, stack(name, V1, {"weight": 0, "model": V2}))
    assert added.done == {**dict.fromkeys(CANARY, "create"), ROUTE: "update"}
    added.assert_order(CANARY, {ROUTE})
    assert shares(deployment, name) == {"qwen": 100, "qwen-canary": 0}
    changes = []
    for weight in (10, 50, 100, 0):
        shifted = deployed(deployment, stack(name, V1, {"weight": weight, "model": V2}), "--refresh")
        assert shifted.done == {ROUTE: "update"}
        assert shares(deployment, name) == {"qwen": 100 - weight, "qwen-canary": weight}
        changes.append(change(plane, name))
        plane.kubectl("annotate", "httproute/qwen", "-n", name, f"note={weight}", "--overwrite")
        assert change(plane, name) == changes[-1]
    assert {entry.words for entry in changes} == {"route qwen was written"}
    assert [entry.at for entry in changes] == sorted({entry.at for entry in changes})
    folded = deployed(deployment, stack(name, V2), "--refresh")
    assert folded.done == {"qwen-decode": "update", ROUTE: "update", **dict.fromkeys(CANARY, "delete")}
    folded.assert_order({"qwen-decode"}, {ROUTE}, CANARY)
    assert shares(deployment, name) == {"qwen": 1}
    deployment.assert_unchanged()


def test_destroy_takes_the_canary_along(deploy, plane):
    """See zerfoo 3.5, 5.4, 9.8."""
    before = at_rest(plane).keys()
    deployment = deploy(stack("both-gone", V1, {"weight": 50, "model": V2}))
    assert deployment.operate().that("create") >= CANARY
    deployment.destroy()
    deadline = time.monotonic() + 240
    while (left := snapshot(plane).keys() - before) and time.monotonic() < deadline:
        time.sleep(1)
    assert left == set()


def test_a_canary_that_is_taken_back_gets_no_requests_before_its_pods_go(deploy):
    """See zerfoo 3.2, 7.8, 9.6."""
    name = "taken-back"
    deployment = deploy(stack(name, V1, {"weight": 50, "model": V2}))
    deployment.up()
    primary = deployment.get("deployment", "qwen-decode", name)["metadata"]
    removed = deployed(deployment, stack(name, V1))
    assert removed.done == {ROUTE: "update", **dict.fromkeys(CANARY, "delete")}
    removed.assert_order({ROUTE}, CANARY)
    assert shares(deployment, name) == {"qwen": 1}
    after = deployment.get("deployment", "qwen-decode", name)["metadata"]
    assert (after["uid"], after["generation"]) == (primary["uid"], primary["generation"])
    deployment.assert_in_step()


def test_a_canary_whose_pods_never_start_gets_no_requests(deploy):
    name = "stuck"
    quick = {"health": {"startupTimeout": "10s"}, "drainTimeout": "1s"}
    deployment = deploy(stack(name, V1, **quick))
    deployment.alter("planning/ground/lifecycle.py", _MIN_FETCH=5, WAIT_MARGIN=15)
    deployment.up()
    route = deployment.get("httproute", "qwen", name)
    never = {"spec": {"template": {"metadata": {"annotations": STUCK}}}}
    deployment.write(stack(name, V1, {"weight": 50, "model": V2, "patch": never}, **quick))
    done, operations = deployment.attempt()
    assert done.returncode != 0
    assert "ProgressDeadlineExceeded" in done.stdout + done.stderr
    assert operations.of("qwen-canary-decode").ended is None
    assert operations.done == dict.fromkeys(CANARY, "create")
    assert deployment.get("httproute", "qwen", name) == route
    assert deployment.outputs()["services"]["qwen"]["canary"] is None, (
        "outputs are those of the last run that succeeded"
    )
    corrected = deployed(deployment, stack(name, V1, {"weight": 50, "model": V2}, **quick))
    assert corrected.done == {"qwen-canary-decode": "update", ROUTE: "update"}
    corrected.assert_order({"qwen-canary-decode"}, {ROUTE})
    assert shares(deployment, name) == {"qwen": 50, "qwen-canary": 50}
    deployment.assert_in_step()


def test_weights_of_a_canary_are_filled_once_and_kept_when_it_becomes_the_service(deploy, plane):
    name = "canary-weights"
    provide(plane, name)
    storage = {"type": "dedicated", "storageClassName": name}
    deployment = deploy(stack(name, V1, storage=storage))
    first = weights(deployment.operate().that("create"))
    same = deployed(deployment, stack(name, V1, {"weight": 0, "engine": {"maxNumSeqs": 8}}, storage=storage))
    assert same.done == {**dict.fromkeys(CANARY, "create"), ROUTE: "update"}
    added = deployed(deployment, stack(name, V1, {"weight": 0, "model": V2}, storage=storage), "--refresh")
    claim, fill = second = weights(added.that("create"))
    assert added.done == {claim: "create", fill: "create", "qwen-canary-decode": "update"}
    added.assert_order({claim}, {fill}, {"qwen-canary-decode"})
    held = uids(deployment, name)
    promoted = deployed(deployment, stack(name, V2, storage=storage), "--refresh")
    gone = {*CANARY, *first}
    assert promoted.done == {"qwen-decode": "update", ROUTE: "update", **dict.fromkeys(gone, "delete")}
    promoted.assert_order({"qwen-decode"}, {ROUTE}, gone)
    promoted.assert_order({first[1]}, {first[0]})
    assert uids(deployment, name).items() <= held.items()
    assert len(uids(deployment, name)) == len(second)
    deployment.assert_unchanged()


def uids(deployment, namespace):
    """Return what tells the claims and Jobs of a namespace from others of the same names."""
    kinds = ("persistentvolumeclaims", "jobs")
    return {
        (kind, name): item["metadata"]["uid"]
        for kind in kinds
        for name, item in deployment.named(kind, namespace).items()
    }
