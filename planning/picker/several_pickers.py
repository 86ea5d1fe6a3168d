"""Several pickers of a variant: a leader and others that wait for its lease, or all of them active."""

from collections.abc import Iterator, Mapping
from typing import Any

from models.paths import Path
from models.picker import EndpointPicker
from models.problems import Problem, warning
from models.role import RollingUpdate
from models.trees import mapping, sequence
from planning.releases.picker_facts import PickerFacts
from planning.variant.context import VariantContext

_ACTIVE_ACTIVE = "active-active"
_FATES = {"FailClose": "refused", "FailOpen": "sent to any pod"}
"""Fates of requests while no picker answers, by failure mode."""
_CACHE_SCORER = "prefix-cache-scorer"
_CACHE_PRODUCER = "approx-prefix-cache-producer"
_PRODUCER_NAME = "prefixMatchInfoProducerName"
"""Parameter of `_CACHE_SCORER` that names a producer. The scorer reads the data of this producer. If the parameter is
absent, the scorer reads the data of `_CACHE_PRODUCER`."""


def elects_leader(picker: EndpointPicker) -> bool:
    """Tell whether the pickers elect a leader. Only the leader is ready."""
    return picker.replicas > 1 and picker.replication != _ACTIVE_ACTIVE


def rollout(picker: EndpointPicker) -> RollingUpdate | None:
    """Return the rollout of several pickers; None for a single picker, which has the default of Kubernetes.

    Pickers that elect a leader are replaced all at once. Old and new pods share the lease, whose name follows from the
    pool. A pod that waits for the lease is never ready, so a rollout that keeps the old leader would never end.
    """
    if picker.replicas == 1:
        return None
    steps = {"maxSurge": 1, "maxUnavailable": 0}
    if elects_leader(picker):
        steps = {"maxSurge": 0, "maxUnavailable": picker.replicas}
    return RollingUpdate.model_validate({"type": "RollingUpdate", **steps})


def judge(at: Path, variant: VariantContext) -> Iterator[Problem]:
    """Reject `replication: active-active` with one picker, or with a release or preset that does not support it."""
    picker = variant.spec.endpoint_picker
    facts = variant.release.picker
    if picker.replication != _ACTIVE_ACTIVE:
        return
    path = at / "replication"
    if picker.replicas == 1:
        what = "has no effect with one picker"
        remedy = "set endpointPicker.replicas, or remove it"
        yield Problem(path, what, remedy, (at / "replicas",), explicit_only=True)
    if facts.active_active is None:
        what = f"is not supported by the pickers of {variant.release.name} ({picker.replication})"
        yield Problem(path, what, "remove it, or choose a newer release")
    if picker.preset == "approximate-prefix-cache":
        what = f"divides the memory of preset {picker.preset}: each picker remembers only its own requests"
        yield Problem(path, what, "use preset: precise-prefix-cache, or remove it", (at / "preset",))


def judge_updates(at: Path, variant: VariantContext) -> Iterator[Problem]:
    """Yield warnings about several pickers: their updates, refreshes, and separate memories of requests."""
    picker = variant.spec.endpoint_picker
    if elects_leader(picker):
        yield from _leader_warnings(at, variant)
    elif picker.replicas > 1 and picker.preset == "custom" and _remembers_requests(picker.config or {}):
        what = f"divides the memory of {_CACHE_PRODUCER}: each picker remembers only its own requests"
        yield warning(at / "replication", what, f"use precise-prefix-cache-producer, and name it in {_PRODUCER_NAME}")


def _leader_warnings(at: Path, variant: VariantContext) -> Iterator[Problem]:
    picker = variant.spec.endpoint_picker
    # A refresh in pulumi-kubernetes requires all pods to be ready, whatever conditions an update waits for.
    what = "a refresh reports an update of the pickers, because pickers that wait for the lease are never ready"
    yield warning(at / "replicas", f"{what} ({picker.replicas}); this update restarts nothing")
    fate = _FATES[picker.failure_mode]
    what = f"a change of the picker ends all its pods together ({picker.replicas}); until a new pod leads, requests are"
    yield warning(at / "replicas", f"{what} {fate}", _gapless_way(picker, variant.release.picker))


def _gapless_way(picker: EndpointPicker, facts: PickerFacts) -> str:
    """Return the advice for updates during which a picker always answers."""
    if facts.active_active is None:
        return "remove it: a single picker is replaced without a gap"
    keys = f"replication: {_ACTIVE_ACTIVE}"
    if picker.preset == "approximate-prefix-cache":
        keys = f"preset: precise-prefix-cache and {keys}"
    return f"use one picker, or {keys}: then pickers are replaced without a gap"


def _remembers_requests(config: Mapping[str, Any]) -> bool:
    """Tell whether a configuration scores pods by the prompts that the picker itself sent to them."""
    for plugin in map(mapping, sequence(config.get("plugins"))):
        names_producer = _PRODUCER_NAME in mapping(plugin.get("parameters"))
        if plugin.get("type") == _CACHE_PRODUCER or (plugin.get("type") == _CACHE_SCORER and not names_producer):
            return True
    return False
