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


def generation_of(one, namespace):
    """Return the generation that the one pool of a namespace has."""
    (pool,) = one.named("inferencepools", namespace)
    return pool.removeprefix("qwen").removeprefix("-")


def deployed(one, wanted, *more):
    """Deploy and return what was done."""
    one.write(wanted)
    return one.operate(*more)


def pods(one, namespace):
    """Return the names of the pods that run, by role."""
    running = {"decode": set(), "prefill": set()}
    for name, pod in one.named("pods", namespace).items():
        role = pod["metadata"]["labels"].get("llm-d.ai/role")
        if role in running and pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]:
            running[role].add(name)
    return running


def routed(one, namespace):
    """Return the pool that requests reach."""
    ((backend,),) = [rule["backendRefs"] for rule in one.get("httproute", "qwen", namespace)["spec"]["rules"]]
    return backend["name"]


def test_another_cache_comes_up_beside_the_one_that_serves(deploy):
    name = "generations"
    one = deploy(stack(name, prefill={"replicas": 2}, replicas=2))
    one.up()
    old, service = generation_of(one, name), one.get("service", "qwen", name)
    assert routed(one, name) == f"qwen-{old}"
    one.write(stack(name, prefill={"replicas": 2}, replicas=2, kvCache={"blockSize": 128}))
    done, moved = one.attempt()
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    assert f"services.qwen: its pods cannot share a KV cache with those of qwen-{old} ({old}): pool qwen-" in said
    assert "comes up beside it, with up to 4 more devices in use meanwhile, then requests move" in said
    new = generation_of(one, name)
    assert new != old
    assert moved.done == {
        **dict.fromkeys(pair(new), "create"), ROUTE: "update", **dict.fromkeys(pair(old), "delete"),
    }  # fmt: skip
    # Until the route has moved, every old pod is there, and every new one is ready.
    moved.assert_order(pair(new), {ROUTE}, pair(old))
    assert routed(one, name) == f"qwen-{new}"
    assert one.get("service", "qwen", name) == service
    assert {role: len(names) for role, names in pods(one, name).items()} == {"decode": 2, "prefill": 2}
    one.assert_unchanged()


def test_what_the_cache_does_not_depend_on_rolls_through_the_pods_that_are_there(deploy):
    name = "neutral"
    one = deploy(stack(name, prefill={}))
    one.up()
    at = generation_of(one, name)
    roles = {f"qwen-{at}-decode": "update", f"qwen-{at}-prefill": "update"}
    assert deployed(one, stack(name, prefill={}, engine={"maxNumSeqs": 8})).done == roles
    more = deployed(one, stack(name, prefill={}, engine={"maxNumSeqs": 8}, replicas=2), "--refresh")
    assert more.done == {f"qwen-{at}-decode": "update", f"qwen-{at}-decode-budget": "create"}
    assert generation_of(one, name) == at
    one.assert_in_step()


def test_prefill_is_switched_on_beside_the_pods_that_serve_alone(deploy):
    name = "switched"
    one = deploy(stack(name))
    one.up()
    switched = deployed(one, stack(name, prefill={}))
    at = generation_of(one, name)
    new = pair(at) - {f"qwen-{at}-decode-budget", f"qwen-{at}-prefill-budget"}
    old = {"qwen-decode", *(f"qwen-epp-{part}" for part in PICKER)}
    assert switched.done == {**dict.fromkeys(new, "create"), ROUTE: "update", **dict.fromkeys(old, "delete")}
    switched.assert_order(new, {ROUTE}, old)
    assert routed(one, name) == f"qwen-{at}"
    one.assert_in_step()
