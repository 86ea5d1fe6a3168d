"""Every rendered leaf matters: changed, it is noticed by something other than the comparison with the golden."""

import copy
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import pytest

from judging import validation
from tests.contracts.invariants import Scene, checks, violations
from tests.support.stacks import SHIPPED, as_rendered, is_of_others, rendered, shipped, tree
from tests.support.stacks.varied import VARIED
from tests.support.stacks.varied_caches import CACHES
from tests.support.stacks.varied_existing import OF_OTHERS
from tests.support.stacks.varied_observed import OBSERVED
from tests.support.stacks.varied_pods import PODS
from tests.support.stacks.varied_speculation import SPECULATION

SURVIVORS: dict[str, str] = {}
"""Leaves whose change nothing notices, by `kind path`, each with the reason why that is right."""
UNKNOWN = {**CACHES, **OBSERVED, **OF_OTHERS, **PODS, **SPECULATION}
"""Stacks with tiers of the cache, with drafts, with pods or pools of others, or with more in their pods than an engine,
its sidecar and weights; and with rules and boards, which other tests give to promtool and to Grafana's types."""
WITH_INVARIANTS = {name: stack for name, stack in VARIED.items() if name not in UNKNOWN}
"""Stacks whose every object the invariants derive again."""
STACKS = {path.stem: shipped(path) for path in SHIPPED if not is_of_others(path)} | WITH_INVARIANTS
MODEL = {"name": "org/m", "source": "s3://bucket/m", "size": "10Gi"}
BUSY = {"autoscaling": {"type": "hpa", "maxReplicas": 3, "metrics": [{"type": "cpu", "targetPercent": 50}]}}
OPEN = {"failureMode": "FailOpen", "failOpenReason": "any pod will do", "replicas": 2}
CERTIFIED = {**OPEN, "tls": {"type": "certificate", "secret": "picker", "caSecret": "picker-ca"}}
SECRET = {"type": "certificate", "secret": "tried"}
CLOSED = {"failureMode": "FailClose", "replicas": 1, "tls": {"type": "none"}}
EXISTING = {"type": "existing", "claimName": "weights"}
PREFILL = {"prefill": {"replicas": 3, "engine": {"maxNumSeqs": 4}}, "sidecar": {"logLevel": "debug"}, "replicas": 2}
SETS = {"decode": {"sets": {"a": {"replicas": 2, "labels": {"tier": "a"}}, "b": {"engine": {"maxNumSeqs": 4}}}}}
PREFILL_SETS = {"prefill": {"engine": {"maxNumSeqs": 4}, "sets": {"a": {"replicas": 2}, "b": {}}}}
INHERITING: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "prefill-of-the-defaults": (PREFILL, {}, {"prefill": {"replicas": 2}}),
    "prefill-of-the-service": ({}, PREFILL, {}),
    "prefill-of-the-service-alone": (PREFILL, {}, {"prefill": None}),
    "prefill-of-the-canary-alone": ({}, {}, {"prefill": {}, "sidecar": {"enginePort": 8300}}),
    "encode-of-the-defaults": ({"encode": {"replicas": 2}}, {}, {"encode": {"engine": {"maxNumSeqs": 4}}}),
    "sets-of-the-defaults": ({"replicas": 3, **SETS}, {"pod": {"runAsUser": 7}}, {}),
    "sets-of-the-service-alone": ({}, SETS, {"decode": None, "replicas": 2}),
    "sets-of-the-canary-alone": ({"replicas": 3}, {"patch": {"spec": {"minReadySeconds": 3}}}, SETS),
    "sets-beside-prefill-and-encode": (PREFILL_SETS, {"encode": {}}, {"prefill": {"sets": {"a": None, "c": {}}}}),
    "a-number-of-its-own": ({}, BUSY | {"prefill": BUSY}, {}),
    "a-picker-that-is-passed-over": ({"endpointPicker": CERTIFIED}, {}, {"endpointPicker": {"replicas": 3}}),
    "a-picker-in-plain-text": ({}, {"endpointPicker": CERTIFIED}, {"endpointPicker": CLOSED}),
    "a-picker-of-another-secret": ({}, {"endpointPicker": CERTIFIED}, {"endpointPicker": {"tls": SECRET}}),
    "the-same-claim": ({}, {"storage": {"type": "dedicated"}}, {"labels": {"tried": "yes"}}),
    "another-folder": ({}, {"storage": EXISTING}, {"model": {"source": "s3://bucket/n"}}),
    "another-folder-above": ({}, {"storage": EXISTING}, {"model": {"source": "hf://o/n"}, "storage": {"subPath": "n"}}),
    "a-claim-beside-pods-that-fetch": ({}, {}, {"storage": {"type": "dedicated"}}),
    "pods-that-fetch-beside-a-claim": ({}, {"storage": {"type": "dedicated"}}, {"storage": {"type": "ephemeral"}}),
    "weights-that-stay": ({}, {"storage": {"type": "dedicated"}}, {"model": {"source": "pvc://weights/n"}}),
}
"""Defaults, a service and its canary, of which each inherits from those before."""
NOTICED: dict[tuple[str, int], str] = {}
"""The check that noticed the latest mutation of a leaf, by `kind path` and the way of mutating; asked first next."""
SCHEMA = "schema"
"""The check of an object by itself, beside those of `tests.invariants`."""
_CHECKED = ("metadata", "spec", "rules", "data", "selector", "subjects", "roleRef")

Path = tuple[str | int, ...]


@pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS)
def test_what_is_rendered_is_right(stack):
    objects = rendered(stack)
    validation.check(map(as_rendered, objects))
    assert list(violations(stack, objects)) == []


@pytest.mark.parametrize(("defaults", "service", "canary"), INHERITING.values(), ids=INHERITING)
def test_what_is_rendered_of_what_is_inherited_is_right(defaults, service, canary):
    stack = tree(qwen={"model": MODEL, **service, "canary": {"weight": 7, **canary}}) | {"defaults": defaults}
    assert list(violations(stack, rendered(stack))) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS)
def test_every_rendered_leaf_matters(stack):
    objects = json.loads(json.dumps(rendered(stack)))
    assert [survivor for survivor in _survivors(stack, objects) if survivor not in SURVIVORS] == []


def _survivors(stack: dict[str, Any], objects: list[Any]) -> Iterator[str]:
    """Yield every leaf whose change, or whose removal, nothing notices."""
    scene, order, number = Scene.of(stack, objects), list[str](), ""
    for index, manifest in enumerate(objects):
        for at in [at for field in _CHECKED if field in manifest for at in _leaves(manifest[field], (field,))]:
            leaf = f"{manifest['kind']} {'.'.join(map(str, at))}"
            for way, mutated in enumerate(_mutations(manifest, at)):
                # The check that noticed this leaf in another stack, of the variant that the leaf before belongs to.
                likely = f"{number}: {NOTICED.get((leaf, way))}"
                latest = [likely, *order] if likely in checks(stack) else order
                noticed = _noticed(scene.changed(index, mutated), mutated, latest)
                if noticed is None:
                    yield leaf
                else:
                    NOTICED[leaf, way] = noticed.rpartition(": ")[2]
                    number = noticed.rpartition(": ")[0] or number
                    order = [noticed, *(name for name in order if name != noticed)]


def _noticed(scene: Scene, mutated: Any, order: Sequence[str] = ()) -> str | None:
    """Return the name of a check that notices a mutation, or nothing once all were asked; those in `order` go first.

    Neighbouring leaves are mostly noticed by one check, so that asking the latest ones first asks few.
    """
    every = checks(scene.stack)
    for name in chain(order, (name for name in (SCHEMA, *every) if name not in order)):
        found = _misfits(mutated) if name == SCHEMA else every[name](scene)
        if next(iter(found), None) is not None:
            return name
    return None


def _misfits(manifest: Any) -> Iterator[str]:
    try:
        validation.check([as_rendered(manifest)])
    except validation.SchemaError as error:
        yield str(error)


def _leaves(value: Any, at: Path) -> Iterator[Path]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [leaf for key, part in inside for leaf in _leaves(part, (*at, key))]
    yield from below or [at]


def _mutations(manifest: Any, at: Path) -> Iterator[Any]:
    """Yield the object with the leaf changed, and with the leaf removed."""
    for change in (_changed, _removed):
        mutated = parent = copy.copy(manifest)
        for part in at[:-1]:
            parent[part] = copy.copy(parent[part])
            parent = parent[part]
        change(parent, at[-1])
        yield mutated


def _changed(parent: Any, key: str | int) -> None:
    value = parent[key]
    if isinstance(value, bool):
        parent[key] = not value
    elif isinstance(value, int):
        parent[key] = value + 1
    else:
        parent[key] = f"{value}x" if isinstance(value, str) else {"mutated": "x"}


def _removed(parent: Any, key: str | int) -> None:
    del parent[key]
