"""Reader of numbers of replicas in LLMInferenceServices: fixed ones, KEDA's, and how a rollout replaces them."""

from typing import Any

from migration.serving_pods import Role
from models.paths import Path

_LIMITS = ("maxSurge", "maxUnavailable")
_FIXED = "without a metric the number of replicas is fixed"
_DEFAULT_UNAVAILABLE = 1


def read(role: Role, spec: Path) -> None:
    """Read replicas, scaling and rollout of a role."""
    role.set(role.original.number(spec / "replicas"), "replicas")
    if role.original.has(spec / "scaling" / "keda"):
        _keda(role, spec / "scaling")
    elif role.original.has(spec / "scaling"):
        _without_metrics(role, spec / "scaling")
    _rollout(role, spec / "rolloutStrategy")


def _without_metrics(role: Role, scaling: Path) -> None:
    """Note an autoscaler of KServe's own, without which the minimum of replicas stays."""
    if role.original.has(scaling / "wva"):
        role.original.note(scaling / "wva", "cannot", key=role.key_of())
    least = role.original.number(scaling / "minReplicas")
    if least is not None:
        role.set(least, "replicas")
        role.original.note(scaling / "minReplicas", "differs", _FIXED, role.key_of("replicas"))
    role.original.note(scaling / "maxReplicas", "cannot", _FIXED, role.key_of("replicas"))


def _keda(role: Role, scaling: Path) -> None:
    original = role.original
    keda = scaling / "keda"
    section: dict[str, Any] = {"type": "keda"}
    section["minReplicas"] = original.number(scaling / "minReplicas")
    section["maxReplicas"] = original.number(scaling / "maxReplicas")
    idle = original.peek(keda / "idleReplicaCount")
    if idle == 0:
        original.take(keda / "idleReplicaCount")
        if section["minReplicas"] in {None, 1}:
            section["minReplicas"] = 0
        else:
            original.note(keda / "idleReplicaCount", "cannot", "a service has either no replica or minReplicas")
    elif idle is not None:
        original.note(keda / "idleReplicaCount", "cannot")
    for name in ("pollingInterval", "cooldownPeriod"):
        seconds = original.number(keda / name)
        if seconds is not None:
            section[name] = f"{seconds}s"
    section["metrics"] = [{"type": "custom", "spec": original.take(item)} for item in original.items(keda / "triggers")]
    section["fallback"] = _fallback(role, keda / "fallback")
    advanced = keda / "advanced"
    behavior = advanced / "horizontalPodAutoscalerConfig" / "behavior"
    if original.has(behavior):
        section["behavior"] = original.take(behavior)
    section["scalingModifiers"] = _modifiers(role, advanced / "scalingModifiers")
    role.set({key: value for key, value in section.items() if value is not None}, "autoscaling")


def _fallback(role: Role, fallback: Path) -> dict[str, Any] | None:
    if not role.original.has(fallback):
        return None
    values: dict[str, Any] = {name: role.original.number(fallback / name) for name in ("failureThreshold", "replicas")}
    values["behavior"] = role.original.text(fallback / "behavior")
    return {key: value for key, value in values.items() if value is not None}


def _modifiers(role: Role, modifiers: Path) -> dict[str, Any] | None:
    """Read a formula over metrics. Its numbers are texts in KEDA's objects."""
    formula = role.original.text(modifiers / "formula")
    if not formula:
        return None
    values: dict[str, Any] = {"formula": formula, "metricType": role.original.text(modifiers / "metricType")}
    for name in ("target", "activationTarget"):
        text = role.original.text(modifiers / name)
        try:
            values[name] = None if text is None else float(text)
        except ValueError:
            role.original.note(modifiers / name, "cannot", "it is no number")
    return {key: value for key, value in values.items() if value not in {None, ""}}


def _rollout(role: Role, strategy: Path) -> None:
    original = role.original
    limits = dict[str, int]()
    for name in _LIMITS:
        value = original.peek(strategy / name)
        if isinstance(value, int):
            limits[name] = value
            original.take(strategy / name)
        elif value is not None:
            original.note(strategy / name, "cannot", key=role.key_of("rollout"))
    if limits:
        role.set({"type": "RollingUpdate", **limits}, "rollout")
