"""When a pod counts as started, as ready and as gone."""

from collections.abc import Iterator
from typing import Any

from tests.contracts.invariants.facts import EXPLAINED, PICKER_START, seconds
from tests.contracts.invariants.variants import BEFORE_THE_END
from tests.contracts.invariants.world import Pods, World, same


def probes_ask_the_engine_itself_and_wait_for_its_weights(world: World) -> Iterator[str]:
    for pods in world.pods:
        interval = seconds(pods.role.say("health", "interval", default="10s"))
        failures = pods.role.say("health", "failureThreshold", default=3)
        # With a key the engine answers 401 below /v1.
        is_guarded = "VLLM_API_KEY" in pods.role.say("engine", "env", default={})
        open_path = "/health" if is_guarded or len(pods.role.ranks) > 1 else "/v1/models"
        ready = pods.role.say("health", "path", default=open_path)
        alive = pods.role.say("health", "livenessPath", default="/health")
        for name, path, threshold in (
            ("startupProbe", ready, -(-pods.role.joined // interval)),
            ("readinessProbe", ready, failures),
            ("livenessProbe", alive, failures),
        ):
            # The further pods of a group serve nothing that could be asked.
            expected = _probe(pods, path, threshold, interval) if pods.serves else None
            yield from same(f"{pods.name} {name}", pods.engine.get(name), expected)


def _probe(pods: Pods, path: str, failures: int, interval: int) -> dict[str, Any]:
    """Return a probe of the engine's own port, over TLS where the engine serves it."""
    asked = {"path": path, "port": pods.role.probed} | ({"scheme": "HTTPS"} if pods.role.certificate else {})
    timeout = seconds(pods.role.say("health", "timeout", default="5s"))
    return {"httpGet": asked, "periodSeconds": interval, "timeoutSeconds": timeout, "failureThreshold": failures}


def the_rollout_waits_for_weights_and_engine(world: World) -> Iterator[str]:
    for role in world.variant.roles:
        if role.pods == 1:
            deadline = world.workload(role)["progressDeadlineSeconds"]
            yield from same(f"{role.workload} deadline", deadline, role.arrival + role.startup)


def requests_may_finish_before_a_pod_is_killed(world: World) -> Iterator[str]:
    """Check the arithmetic: until nobody asks any more, the longest request, and a margin to the kill."""
    for pods in world.pods:
        sleep = pods.engine["lifecycle"]["preStop"]["sleep"]["seconds"]
        engine_drain = pods.role.drain if pods.role.drains_itself and pods.serves else 0
        grace = pods.spec["terminationGracePeriodSeconds"]
        yield from same(f"{pods.name} sleep", sleep, BEFORE_THE_END + pods.role.drain - engine_drain)
        yield from same(f"{pods.name} grace", grace, sleep + engine_drain + BEFORE_THE_END)
        timeouts = [
            int(argument.partition("=")[2])
            for argument in pods.engine.get("args", [])
            if "--shutdown-timeout" in argument
        ]
        yield from same(f"{pods.name} shutdown", timeouts, [pods.role.drain] if pods.role.drains_itself else [])


def what_fails_says_why(world: World) -> Iterator[str]:
    for pods in world.pods:
        for container in (pods.engine, *pods.before, *pods.sidecars):
            yield from same(
                f"{pods.name} {container['name']} end", container.get("terminationMessagePolicy"), EXPLAINED
            )


def a_group_ends_together_and_last_of_all_its_workers(world: World) -> Iterator[str]:
    by_role: dict[str, list[Pods]] = {}
    for pods in world.pods:
        by_role.setdefault(pods.role.name, []).append(pods)
    for leader, *workers in by_role.values():
        for worker in workers:
            engine_drain = leader.role.drain if leader.role.drains_itself else 0
            ends = leader.engine["lifecycle"]["preStop"]["sleep"]["seconds"] + engine_drain
            if worker.engine["lifecycle"]["preStop"]["sleep"]["seconds"] < ends:
                yield f"{worker.name} ends before the requests of its leader do"


def a_group_starts_fails_and_rolls_as_one(world: World) -> Iterator[str]:
    for role in world.variant.roles:
        if role.pods == 1:
            continue
        spec = world.workload(role)
        yield from same(f"{role.workload} order", spec["startupPolicy"], "LeaderCreated")
        yield from same(f"{role.workload} network", spec["networkConfig"], {"subdomainPolicy": "Shared"})
        group = spec["leaderWorkerTemplate"]
        yield from same(f"{role.workload} size", group["size"], role.pods)
        yield from same(f"{role.workload} restarts", group["restartPolicy"], "RecreateGroupOnPodRestart")


def the_picker_outlives_its_streams(world: World) -> Iterator[str]:
    spec = world.get("Deployment", world.variant.picker)["spec"]
    drain = seconds(world.variant.say("endpointPicker", "flags", "drain-timeout", default="0s"))
    grace = spec["template"]["spec"]["terminationGracePeriodSeconds"]
    of_pods = world.variant.drain + 2 * BEFORE_THE_END
    yield from same("picker grace", grace, max(130, drain + BEFORE_THE_END, of_pods))
    yield from same("picker deadline", spec["progressDeadlineSeconds"], PICKER_START)


def pickers_that_wait_for_the_lease_are_not_waited_for(world: World) -> Iterator[str]:
    """All pickers but the leader are never ready, so that a rollout has to end them all at once.

    Of pickers that are all at work, a new one answers before an old one ends.
    """
    spec, count = world.get("Deployment", world.variant.picker)["spec"], world.variant.pickers
    yield from same("pickers", spec["replicas"], count)
    numbers = {"maxSurge": 0, "maxUnavailable": count} if world.variant.elects else {"maxSurge": 1, "maxUnavailable": 0}
    steps = {"type": "RollingUpdate", "rollingUpdate": numbers}
    yield from same("picker steps", spec.get("strategy"), steps if count > 1 else None)
