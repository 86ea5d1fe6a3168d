"""Pods that exchange their cache: another generation comes up beside the one that serves, which goes after requests."""

import pytest

from tests.support.cluster.deployments import in_namespace

pytestmark = pytest.mark.real

ROUTE = "routing-qwen-route"
PICKER = (
    "service-account", "role", "role-binding", "metrics-auth", "config", "service", "pool", "deployment",
    "destination-rule",
)  # fmt: skip
READER = ("decode-service-account", "decode-role", "decode-role-binding")


def stack(namespace, **service):
    return in_namespace(namespace, qwen=service)


def pair(generation):
    """Return the logical names of all that one generation of a service with prefill consists of."""
    served = {f"qwen-{generation}-{part}" for part in (*READER, "decode", "prefill", "decode-budget", "prefill-budget")}
    return served | {f"qwen-epp-{generation}-{part}" for part in PICKER}


def generation_of(deployment, namespace):
    """Return the generation that the one pool of a namespace has."""
    (pool,) = deployment.named("inferencepools", namespace)
    return pool.removeprefix("qwen").removeprefix("-")


def deployed(deployment, stack, *more):
    """Deploy and return what was done."""
    deployment.write(stack)
    return deployment.operate(*more)


def pods(deployment, namespace):
    """Return the names of the pods that run, by role."""
    running = {"decode": set(), "prefill": set()}
    for name, pod in deployment.named("pods", namespace).items():
        role = pod["metadata"]["labels"].get("llm-d.ai/role")
        if role in running and pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]:
            running[role].add(name)
    return running


def routed(deployment, namespace):
    """Return the pool that requests reach."""
    ((backend,),) = [rule["backendRefs"] for rule in deployment.get("httproute", "qwen", namespace)["spec"]["rules"]]
    return backend["name"]


def test_another_cache_comes_up_beside_the_one_that_serves(deploy):
    name = "generations"
    deployment = deploy(stack(name, prefill={"replicas": 2}, replicas=2))
    deployment.up()
    old = generation_of(deployment, name)
    service = deployment.get("service", "qwen", name)
    assert routed(deployment, name) == f"qwen-{old}"
    deployment.write(stack(name, prefill={"replicas": 2}, replicas=2, kvCache={"blockSize": 128}))
    done, moved = deployment.attempt()
    output = done.stdout
    assert done.returncode == 0, output + done.stderr
    assert f"services.qwen: its new pods cannot share a KV cache with the pods of qwen-{old} ({old}): pool" in output
    assert "is added, with up to 4 more devices in use meanwhile, then requests move to it" in output
    new = generation_of(deployment, name)
    assert new != old
    assert moved.done == {
        **dict.fromkeys(pair(new), "create"), ROUTE: "update", **dict.fromkeys(pair(old), "delete"),
    }  # fmt: skip
    # Until the route has moved, every old pod is there, and every new one is ready. Nothing waits for budgets.
    budgets = {f"qwen-{new}-{role}-budget" for role in ("decode", "prefill")}
    moved.assert_order(pair(new) - budgets, {ROUTE}, pair(old))
    assert routed(deployment, name) == f"qwen-{new}"
    assert deployment.get("service", "qwen", name) == service
    assert {role: len(names) for role, names in pods(deployment, name).items()} == {"decode": 2, "prefill": 2}
    deployment.assert_unchanged()


def test_what_the_cache_does_not_depend_on_rolls_through_the_pods_that_are_there(deploy):
    name = "neutral"
    deployment = deploy(stack(name, prefill={}))
    deployment.up()
    at = generation_of(deployment, name)
    roles = {f"qwen-{at}-decode": "update", f"qwen-{at}-prefill": "update"}
    assert deployed(deployment, stack(name, prefill={}, engine={"maxNumSeqs": 8})).done == roles
    more = deployed(deployment, stack(name, prefill={}, engine={"maxNumSeqs": 8}, replicas=2), "--refresh")
    assert more.done == {f"qwen-{at}-decode": "update", f"qwen-{at}-decode-budget": "create"}
    assert generation_of(deployment, name) == at
    deployment.assert_in_step()


def test_prefill_is_switched_on_beside_the_pods_that_serve_alone(deploy):
    name = "switched"
    deployment = deploy(stack(name))
    deployment.up()
    switched = deployed(deployment, stack(name, prefill={}))
    at = generation_of(deployment, name)
    new = pair(at) - {f"qwen-{at}-decode-budget", f"qwen-{at}-prefill-budget"}
    old = {"qwen-decode", *(f"qwen-epp-{part}" for part in PICKER)}
    assert switched.done == {**dict.fromkeys(new, "create"), ROUTE: "update", **dict.fromkeys(old, "delete")}
    switched.assert_order(new, {ROUTE}, old)
    assert routed(deployment, name) == f"qwen-{at}"
    deployment.assert_in_step()
