"""Who owns the number of replicas: the user, or an autoscaler, and what that is told."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.contracts.invariants.facts import API_OF_KIND, METRICS, QUEUES, seconds
from tests.contracts.invariants.wishes import Role
from tests.contracts.invariants.world import World, same

DEPLOYED = "-[0-9a-z]{1,10}-[0-9a-z]{5}"
"""Tail of the names of a Deployment's pods."""
CALM = {"scaleDown": {"stabilizationWindowSeconds": 300}}


def the_number_has_one_owner(world: World) -> Iterator[str]:
    for role in world.wish.roles:
        fixed = {} if role.scaling else {"replicas": role.replicas}
        spec = world.workload(role)
        yield from same(f"{role.workload} number", {key: spec[key] for key in spec if key == "replicas"}, fixed)


def the_autoscaler_is_told_whom_and_what_to_follow(world: World) -> Iterator[str]:
    for role in world.wish.roles:
        wish = role.scaling
        if wish is None:
            continue
        target = {"kind": role.kind, "apiVersion": API_OF_KIND[role.kind], "name": role.workload}
        least, most, behaves = wish.get("minReplicas", 1), wish["maxReplicas"], wish.get("behavior", CALM)
        if wish["type"] == "hpa":
            metrics = [_hpa(metric) for metric in wish["metrics"]]
            expected = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most, "metrics": metrics}
            spec = world.get("HorizontalPodAutoscaler", role.workload)["spec"]
            yield from same(f"{role.workload} autoscaler", spec, expected | {"behavior": behaves})
            continue
        expected = {
            "scaleTargetRef": target,
            "pollingInterval": seconds(wish.get("pollingInterval", "30s")),
            "cooldownPeriod": seconds(wish.get("cooldownPeriod", "5m")),
            "minReplicaCount": least,
            "maxReplicaCount": most,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behaves}},
            "triggers": [*(_trigger(world, role, metric) for metric in wish["metrics"]), *_waking(world, wish)],
        }
        yield from same(f"{role.workload} autoscaler", world.get("ScaledObject", role.workload)["spec"], expected)


def _hpa(metric: dict[str, Any]) -> dict[str, Any]:
    if metric["type"] == "custom":
        return metric["spec"]
    if metric["type"] == "cpu":
        target = {"type": "Utilization", "averageUtilization": metric["targetPercent"]}
        return {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    name = METRICS[metric["type"]].replace(":", "_")
    target = {"type": "AverageValue", "averageValue": f"{metric['target']}".replace("0.8", "800m")}
    return {"type": "Pods", "pods": {"metric": {"name": name}, "target": target}}


def _trigger(world: World, role: Role, metric: dict[str, Any]) -> dict[str, Any]:
    if metric["type"] == "custom":
        return metric["spec"]
    if metric["type"] == "cpu":
        return {"type": "cpu", "metricType": "Utilization", "metadata": {"value": f"{metric['targetPercent']}"}}
    tail = "-[0-9]+" if role.pods > 1 else DEPLOYED
    series = f'{METRICS[metric["type"]]}{{namespace="{world.wish.namespace}",pod=~"{role.workload}{tail}"}}'
    of_pods = f"avg by (pod) ({series})" if "usage" in series else series
    return _asked(world, f"sum({of_pods})", metric["target"], {"ignoreNullValues": "false"})


def _asked(world: World, query: str, threshold: float, more: dict[str, str]) -> dict[str, Any]:
    server = world.wish.stack["observability"]["prometheus"]["serverAddress"]
    metadata = {"serverAddress": server, "query": query, "threshold": f"{threshold}", **more}
    return {"type": "prometheus", "metricType": "AverageValue", "metadata": metadata}


def _waking(world: World, wish: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what wakes a role without pods, which tell nothing: the requests that wait in the picker."""
    if wish.get("minReplicas", 1):
        return
    series = f'{QUEUES[world.wish.release]}{{namespace="{world.wish.namespace}",pod=~"{world.wish.picker}{DEPLOYED}"}}'
    targets = [metric["target"] for metric in wish["metrics"] if metric["type"] == "queue-size"]
    more = {"activationThreshold": "0", "ignoreNullValues": "true"}
    yield _asked(world, f"sum({series})", targets[0] if targets else 1, more)
