"""The number of replicas is the user's or an autoscaler's, which has its limits and metrics from the stack."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.contracts.invariants.facts import API_OF_KIND, METRICS, PICKED, QUEUES, seconds
from tests.contracts.invariants.variants import Role
from tests.contracts.invariants.world import World, same

DEPLOYED = "-[0-9a-z]{1,10}-[0-9a-z]{5}"
"""Tail of the names of a Deployment's pods."""
CALM = {"scaleDown": {"stabilizationWindowSeconds": 300}}


def the_number_has_one_owner(world: World) -> Iterator[str]:
    for role in world.variant.roles:
        fixed = {} if role.scaling else {"replicas": role.replicas}
        spec = world.workload(role)
        yield from same(f"{role.workload} number", {key: spec[key] for key in spec if key == "replicas"}, fixed)


def the_autoscaler_is_told_whom_and_what_to_follow(world: World) -> Iterator[str]:
    for role in world.variant.roles:
        scaling = role.scaling
        if scaling is None:
            continue
        target = {"kind": role.kind, "apiVersion": API_OF_KIND[role.kind], "name": role.workload}
        least, max_replicas = scaling.get("minReplicas", 1), scaling["maxReplicas"]
        behaves = scaling.get("behavior", CALM)
        if scaling["type"] == "hpa":
            metrics = [_hpa(world, role, metric) for metric in scaling["metrics"]]
            expected = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": max_replicas, "metrics": metrics}
            spec = world.get("HorizontalPodAutoscaler", role.workload)["spec"]
            yield from same(f"{role.workload} autoscaler", spec, expected | {"behavior": behaves})
            continue
        expected = {
            "scaleTargetRef": target,
            "pollingInterval": seconds(scaling.get("pollingInterval", "30s")),
            "cooldownPeriod": seconds(scaling.get("cooldownPeriod", "5m")),
            "minReplicaCount": least,
            "maxReplicaCount": max_replicas,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behaves}, **_modified(scaling)},
            "triggers": [*_triggers(world, role), *_waking(world, role), *_hours(scaling)],
            **({"fallback": FALLBACK | scaling["fallback"]} if "fallback" in scaling else {}),
        }
        yield from same(f"{role.workload} autoscaler", world.get("ScaledObject", role.workload)["spec"], expected)


def _triggers(world: World, role: Role) -> Iterator[dict[str, Any]]:
    yield from (_trigger(world, role, metric) for metric in (role.scaling or {})["metrics"])


def _hours(scaling: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a trigger for each time window, whose number is a text."""
    for hours in scaling.get("schedules", []):
        named = {key: hours[key] for key in ("timezone", "start", "end")}
        yield {"type": "cron", "metadata": {**named, "desiredReplicas": f"{hours['replicas']}"}}


FALLBACK = {"failureThreshold": 3, "behavior": "static"}


def _modified(scaling: Mapping[str, Any]) -> dict[str, Any]:
    """Return the formula over all metrics, whose numbers are texts."""
    modifiers = scaling.get("scalingModifiers")
    if modifiers is None:
        return {}
    numbers = {key: f"{modifiers[key]}" for key in ("target", "activationTarget") if key in modifiers}
    return {"scalingModifiers": {"metricType": "AverageValue"} | modifiers | numbers}


def _picked(world: World, role: Role, kind: str) -> tuple[str, str, dict[str, str]]:
    """Return series, function and labels of what the picker reports; of a stage, that of the role's pods."""
    series, function, staged = PICKED[world.variant.release][kind]
    is_apart = world.variant.disaggregated and role.stage != "encode"
    return series, function, {"stage": role.stage if is_apart else "effective"} if staged else {}


def _of_the_picker(world: World, role: Role, metric: dict[str, Any]) -> dict[str, Any]:
    series, _, labels = _picked(world, role, metric["type"])
    number = f"{metric['target']}".replace("0.7", "700m")
    whole = metric["type"] == "pool-saturation"
    target = {"type": "Value", "value": number} if whole else {"type": "AverageValue", "averageValue": number}
    named = {"name": series} | ({"selector": {"matchLabels": labels}} if labels else {})
    at = {"apiVersion": "v1", "kind": "Service", "name": world.get("Service", world.variant.picker)["metadata"]["name"]}
    return {"type": "Object", "object": {"metric": named, "describedObject": at, "target": target}}


def _hpa(world: World, role: Role, metric: dict[str, Any]) -> dict[str, Any]:
    if metric["type"] in PICKED[world.variant.release]:
        return _of_the_picker(world, role, metric)
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
    if metric["type"] in PICKED[world.variant.release]:
        return _asked_of_the_picker(world, role, metric)
    tail = "-[0-9]+" if role.pods > 1 else DEPLOYED
    series = f'{METRICS[metric["type"]]}{{namespace="{world.variant.namespace}",pod=~"{role.workload}{tail}"}}'
    of_pods = f"avg by (pod) ({series})" if "usage" in series else series
    more = {"ignoreNullValues": "false"}
    return _asked(world, f"sum({of_pods})", metric["target"], more) | _named(role, metric["type"])


def _asked_of_the_picker(world: World, role: Role, metric: dict[str, Any]) -> dict[str, Any]:
    series, function, labels = _picked(world, role, metric["type"])
    more = "".join(f',{name}="{value}"' for name, value in labels.items())
    pods = f'namespace="{world.variant.namespace}",pod=~"{world.variant.picker}{DEPLOYED}"{more}'
    whole = metric["type"] == "pool-saturation"
    settings = {"ignoreNullValues": "false" if whole else "true"}
    asked = _asked(world, f"{function}({series}{{{pods}}})", metric["target"], settings)
    return asked | _named(role, metric["type"]) | {"metricType": "Value" if whole else "AverageValue"}


def _named(role: Role, name: str) -> dict[str, str]:
    return {"name": name.replace("-", "_")} if role.scaling and "scalingModifiers" in role.scaling else {}


def _asked(world: World, query: str, threshold: float, more: dict[str, str]) -> dict[str, Any]:
    prometheus = world.variant.stack["observability"]["prometheus"]
    credentials = prometheus.get("authentication")
    modes = {"authModes": ",".join(credentials["modes"])} if credentials and credentials.get("modes") else {}
    metadata = {
        "serverAddress": prometheus["serverAddress"],
        "query": query,
        "threshold": f"{threshold}",
        **more,
        **modes,
    }
    asked = {"type": "prometheus", "metricType": "AverageValue", "metadata": metadata}
    if credentials is None:
        return asked
    kind = credentials.get("kind", "TriggerAuthentication")
    return asked | {"authenticationRef": {"name": credentials["name"], "kind": kind}}


def _waking(world: World, role: Role) -> Iterator[dict[str, Any]]:
    """Yield what wakes a role without pods, which tell nothing: the requests that wait in the picker."""
    scaling = role.scaling or {}
    if scaling.get("minReplicas", 1) or any(metric["type"] == "picker-queue-size" for metric in scaling["metrics"]):
        return
    variant = world.variant
    series = f'{QUEUES[variant.release]}{{namespace="{variant.namespace}",pod=~"{variant.picker}{DEPLOYED}"}}'
    targets = [metric["target"] for metric in scaling["metrics"] if metric["type"] == "queue-size"]
    more = {"activationThreshold": "0", "ignoreNullValues": "true"}
    yield _asked(world, f"sum({series})", targets[0] if targets else 1, more) | _named(role, "waiting")
