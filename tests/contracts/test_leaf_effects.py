"""Every leaf field of the schema has an effect: one edit of it changes objects, outputs, waits, provider or verdict."""

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import planning
from composition import Given, selecting, sources
from composition.sources import Configuration
from facts import cluster
from judging import postponement, windows
from judging.gates import terms
from judging.losses import clusters
from judging.losses.continuity import Continuity
from judging.losses.matching import Matches
from judging.preflight import kinds
from judging.report import bill, checks, outages
from judging.report.memory_rows import cells, rows
from judging.windows import DeploymentRun
from manifests.assembly import objects, render
from models.load import load
from models.lock import Lock
from models.platform import PlatformOutputs
from models.problems import ConfigError
from planning import outputs
from planning.ground import turns
from planning.ground.cluster_facts import NOTHING_READ, LiveObjects, Unknown
from planning.ground.marks import Mark
from planning.ground.recorded import ClusterRecord
from planning.hardware import accelerators
from planning.selection import decisions, explanation
from planning.weights import locks
from tests.support.stacks import NAME, states
from tests.support.stacks.leaves import (
    Place,
    all_leaves,
    inherited,
    moved,
    opened,
    places,
    reach,
    section_of,
    tried,
)
from tests.support.stacks.selected import SELECTED
from tests.support.stacks.varied import VARIED

CONSTANTS = {
    "canary.endpointPicker.enabled": "a rule of a route has backends of one kind, so it is the service's",
    "catalogue.profiles.*.service.parallelism.tensor": "follows from deviceCount, which is one number with it",
    "decode.sets.*.engine.port": "the Service and the pool reach every pod on one port, so it is the service's",
    "decode.sets.*.engine.type": "cache, sidecar and picker have the settings of one engine",
    "defaults.engine.withoutArgs.[]": "defaults inherit no flag that they could drop",
    "encode.encoderCache.connector": "the router has one connector between pods",
    "encode.engine.workerArgs.[]": "only vLLM has encoders of its own, and its workers have the leader's arguments",
    "encode.engine.workerCommand.[]": "only vLLM has encoders of its own, and its workers have the leader's program",
    "encode.parallelism.pods": "only vLLM has encoders of its own, and it counts pods by other keys",
    "encode.engine.port": "the pool reaches every pod on one port, so it is the service's",
    "encode.engine.type": "only vllm hands outputs of encoders from one role to the other",
    "gateway.bodyRouter": "says what stands in front, which allows matches[].model; without it that word is refused",
    "prefill.engine.port": "the pool reaches every pod on one port, so it is the service's",
    "prefill.engine.type": "only vllm hands its cache from one role to the other",
    "prefill.sets.*.engine.port": "the pool reaches every pod on one port, so it is the service's",
    "prefill.sets.*.engine.type": "only vllm hands its cache from one role to the other",
}
"""Fields of which every other value is refused, by the end of their path, each with the reason why that is right."""

TEXTS = [
    "edited", "7s", "80s", "7m", "9h", "1Gi", "1m", "77Gi", "170Gi", "100Mi", "7", "0.5", "/edited", "--enforce-eager",
    "edited.example.com", "metadata.namespace", "limits.memory", "nvidia-l40s", "gie-1.3",
    "tests/contracts/facts/complete.json", "tests/contracts/facts/base.yaml", "tests/contracts/facts/profiles.yaml",
    "example.com/edited:v7", "https://edited.example.com", "nvidia.com/edited", "kit://example.com/edited:v7", "oci://example.com/edited:v7",
    "10.7.0.0/16", "hf://edited/edited", "s3://edited/edited", "pvc://edited/edited", "edited/edited",
    "edited/edited/edited", "kubeconfig", "EUR", "edited:7", "/edited/edited", f"example.com/edited@sha256:{'7' * 64}",
    "float32", "qwen", "0 7 * * *", "07:07", "Asia/Tokyo", "mooncake", 'exec vllm serve "$@"',
    'sum(edited_total{variant="$variant"}[$window])',
    "1.31.1", "concurrency-detector", "edf-ordering-policy", "round-robin-fairness-policy", "static-usage-limit-policy",
]  # fmt: skip
NUMBERS = [1, 2, 3, 7, 64, 0, 0.5]
OBJECTS = {
    "affinity": {"podAffinity": {}},
    "behavior": {"scaleUp": {"stabilizationWindowSeconds": 7}},
    "config": {"plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker"}]},
    "source": {"driver": "edited.example.com"},
    "spec": {"type": "edited"},
    "patch": {"spec": {"minReadySeconds": 7}},
    "topologySpreadConstraints": {"maxSkew": 7},
}
"""Values for the places at which Kubernetes' own shapes are passed through."""
GROUPS: dict[str, list[dict[str, Any]]] = {
    "allocation": [
        {"type": "extended-resource", "resourceName": "nvidia.com/edited"},
        {"type": "resource-claim", "deviceClassName": "edited"},
    ],
    "autoscaling": [
        {"type": kind, "maxReplicas": 7, "metrics": [{"type": "cpu", "targetPercent": 7}]} for kind in ("hpa", "keda")
    ],
    "facts": [{"type": "none"}],
    "rollout": [{"type": "Recreate"}, {"type": "RollingUpdate", "maxSurge": 7}],
    "storage": [{"type": "ephemeral"}, {"type": "dedicated"}, {"type": "existing", "claimName": "edited"}],
    "tiers": [
        {"type": "file-system", "volume": "edited"},
        {"type": "mooncake-store", "volume": "edited"},
        {"type": "lmcache", "size": "7Gi"},
        {"type": "cpu", "size": "7Gi"},
        {"type": "p2p"},
    ],
    "tls": [{"type": "none"}, {"type": "certificate", "secret": "edited"}],
    "volumes": [
        {"type": "claim", "claimName": "edited", "mountPath": "/edited"},
        {"type": "empty-dir", "mountPath": "/edited"},
    ],
    "verify": [
        {"type": "key", "secret": "edited"},
        {"type": "keyless", "identity": "edited", "issuer": "https://edited.example.com"},
    ],
}
"""Whole groups that stand instead of another, because `type` cannot change alone."""

EDITED = {"contractVersion": 1, "storageClassName": "edited", "gateway": {"name": "edited", "provider": "gke"}}
PLATFORM = PlatformOutputs({"inferencePlatform": {"contractVersion": 1}, "edited": EDITED, "kubeconfig": "{}"})
PLATFORMS = {"edited/edited/edited": PlatformOutputs({"inferencePlatform": EDITED})}
"""Outputs of platforms by stack; `PLATFORM` are those of any other."""
FACTS = {
    "platform": {"stack": "organization/platform/prod"},
    "cluster": {"facts": {"type": "file", "path": "tests/contracts/facts/no-pool.json"}},
    "windows": [{"days": ["Mon"], "start": "09:00", "end": "17:00", "timezone": "Europe/Berlin"}],
}
RUNS = [DeploymentRun(datetime(2026, 11, day, 17, tzinfo=UTC), deploys=True) for day in (28, 30)]
"""Runs on a Saturday, and on a Monday after the end of the window."""
BASES = [stack | FACTS for stack in (*VARIED.values(), *SELECTED.values())]


class Group(dict[str, Any]):
    """A group that may only take the place of one of another type."""


ELSEWHERE = ClusterRecord("a", "a")
"""The cluster of earlier runs, where this run leads to another one."""
DEFAULTED = [inherited(base) for base in BASES]
TRIED = [tried(base) for base in BASES if "catalogue" not in base or "canary" in base["services"]["qwen"]]
NUMBERS_OF_BASES = {id(stack): number for moved in (BASES, DEFAULTED, TRIED) for number, stack in enumerate(moved)}
LIKELY: dict[Place, tuple[int, Any]] = {}
"""Number of the base and the value with which the latest leaf of that name had an effect; they are tried first next."""


@cache
def effect(text: str) -> str:
    """Return everything that a stack decides. Raises `ConfigError` where it is none."""
    stack = json.loads(text)
    configuration = Configuration(stack)
    named = configuration.platform
    platform = None if named is None else PLATFORMS.get(named.stack, PLATFORM)
    files = sources.read(configuration, (), platform)
    chosen = selecting.select(stack, files, None, NAME.stack, Given(NOTHING_READ))
    loaded = load(stack, (), files.sources, chosen.layers)
    plan = planning.plan(loaded, NAME)
    components = render(plan)
    everything = list(objects(components))
    facts = cluster.read(loaded.stack.cluster, cluster.KubeAccess(None, None), Path())
    needed = [item.api for item in everything]
    verdict = kinds.kinds(needed, facts, loaded.stack.checks.preflight)
    kubeconfig = None if platform is None else platform.kubeconfig(named)
    provider = (loaded.stack.cluster.name, loaded.stack.cluster.context, kubeconfig)
    manifests = [(item.manifest, str(item.wait), item.replace, item.retain, item.protect) for item in everything]
    owner = str(plan.identity.verdict(Mark(stack="organization/edited/edited")))
    prices = loaded.stack.prices
    money = [*map(str, bill.usages(loaded.stack, plan)), str(bill.cost(plan, prices)), prices.currency]
    present = checks.ClusterBefore(facts, LiveObjects({}), accelerators.classes(loaded.stack.accelerators), {})
    capacity = str(checks.judge(plan, present, loaded.stack.checks.capacity))
    last = outages.Outage(Path("edited"), "is an outage", "")
    capacity += str([*outages.judge((last,), loaded.stack.checks.outage, loaded.stack.allow)])
    contract = outputs.of_stack(plan, facts.digest(needed))
    fits = [row.fit.reason if isinstance(row.fit, Unknown) else cells(row.fit) for row in rows(plan)]
    fits += [str(problem) for problem in plan.warnings if "too small" in problem.what]
    fits += [str(problem) for problem in plan.warnings if "published advisor" in problem.what]
    unlocked = bool(locks.apply(loaded, Lock(str(NAME)), NAME.stack).warnings)
    tables = {} if chosen.outcome is None else decisions.tables(chosen.outcome, NOTHING_READ)
    candidates = {str(at): explanation.of_table(table, None)["candidates"] for at, table in tables.items()}
    moved = clusters.problems(ELSEWHERE, Matches({}, {}, {}), LiveObjects({}, cluster="b"), "b", loaded.stack.allow)
    verdicts = [manifests, contract, provider, str(verdict), owner, money, capacity, unlocked, candidates, fits]
    verdicts.append([problem.severity for problem in moved])
    verdicts += [[*map(str, windows.judge(loaded.stack.windows, run))] for run in RUNS]
    verdicts.append([str(terms.of(service)) for service in loaded.stack.services.values()])
    verdicts.append(str(turns.of([service.key for service in plan.services], loaded.stack.upgrades)))
    if loaded.stack.upgrades is not None:
        upgraded = Continuity(states.deployed(components, states.without_policy), owner=plan.identity)
        unequal = postponement.postpone(components, upgraded, LiveObjects({}), loaded.stack.upgrades) != components
        verdicts.append(unequal)
    return json.dumps(verdicts)


def outcome(stack: dict[str, Any]) -> str | None:
    """Return what a stack decides; nothing where it is refused."""
    return _outcome(json.dumps(stack))


@cache
def _outcome(text: str) -> str | None:
    """Return what a stack decides; many edits of different leaves make one stack."""
    try:
        return effect(text)
    except ConfigError:
        return None


LEAVES = all_leaves()
SHARE = int(os.environ.get("LEAVES_SHARE", "6"))
"""`make prove` walks over all leaves, with 1."""


def candidates(at: Place, node: dict[str, Any]) -> Iterator[Any]:
    """Yield values that the schema of a leaf allows."""
    match node.get("type"):
        case _ if "enum" in node:
            yield from node["enum"]
        case "boolean":
            yield from (True, False)
        case "integer" | "number":
            yield from (number for number in NUMBERS if node["type"] == "number" or isinstance(number, int))
        case "string" if "const" in node:
            yield node["const"]
        case "string":
            yield from (text for text in TEXTS if re.search(node.get("pattern", ""), text))
        case _:
            yield OBJECTS[str(at[-1] if at[-1] != "[]" else at[-2])]


def edits(stack: dict[str, Any], at: Place, values: list[Any]) -> Iterator[tuple[Any, dict[str, Any], dict[str, Any]]]:
    """Yield a value, the stack with the empty groups that the leaf stands in, and the stack with the leaf edited."""
    for place in places(stack, at):
        reference, _ = opened(stack, place)
        for value in values:
            changed, parent = opened(stack, place)
            replaced = parent.get(place[-1], value) if isinstance(parent, dict) else parent[place[-1]]
            if isinstance(value, Group) and replaced["type"] == value["type"]:
                continue
            parent[place[-1]] = value
            yield value, reference, changed


def constant(name: str) -> bool:
    return any(f".{name}".endswith(f".{end}") for end in CONSTANTS)


def attempts(name: str, step: int = 1) -> Iterator[tuple[str, str]]:
    """Yield what the stacks decide before and after every valid edit of a leaf.

    Of a leaf with more than `step` values, one edit of `step` is tried.
    """
    at, nodes = LEAVES[name]
    values = [value for node in nodes for value in candidates(at, node)]
    if "const" in nodes[0] and at[-1] == "type":
        key = next(str(part) for part in reversed(at[:-1]) if part not in {"*", "[]"})
        at, values = at[:-1], [Group(group) for group in GROUPS[key]]
    if at[-1] == "[]":
        at, values = at[:-1], [[value] for value in values]
    likely_number, likely = LIKELY.get(at[-2:], (None, None))
    values.sort(key=lambda value: value != likely)
    stacks = sorted(_moved(at), key=lambda stack: NUMBERS_OF_BASES[id(stack)] != likely_number)
    all_edits = ((stack, edit) for stack in stacks for edit in edits(stack, at, values))
    for stack, (value, reference, changed) in islice(all_edits, None, None, step if len(values) > step else 1):
        before = outcome(reference)
        after = None if before is None else outcome(changed)
        if before is not None and after is not None:
            if before != after:
                LIKELY[at[-2:]] = NUMBERS_OF_BASES[id(stack)], value
            yield before, after


def _moved(at: Place) -> list[dict[str, Any]]:
    """Return the stacks with what they say where the leaf is, and first those that say most about it."""
    where = "defaults" if at[0] == "defaults" else "canary" if at[2:3] == ("canary",) else "services"
    stacks = {"defaults": DEFAULTED, "canary": TRIED, "services": BASES}[where]
    return sorted([*stacks, *_in_section(where, section_of(at))], key=lambda stack: reach(stack, at), reverse=True)


@cache
def _in_section(where: str, section: Place | None) -> list[dict[str, Any]]:
    """Return the stacks with what their services say in the role of a section instead."""
    if section is None:
        return []
    place = {"defaults": inherited, "canary": tried, "services": dict[str, Any]}[where]
    stacks = list[dict[str, Any]]()
    for number, base in enumerate(BASES):
        in_section = moved(base, section)
        if in_section is not None and "catalogue" not in base:
            stacks.append(place(in_section))
            NUMBERS_OF_BASES[id(stacks[-1])] = number
    return stacks


def test_the_walk_reaches_every_part_of_the_schema():
    reached = {
        "release",
        "gateway.provider",
        "accelerators.*.allocation.selectors.[]",
        "services.*.model.secrets.[]",
        "services.*.model.lora.adapters.*.source",
        "services.*.labels.*",
        "services.*.engine.env.*",
        "services.*.engine.env.*.secretKeyRef.key",
        "services.*.pod.affinity",
        "services.*.pod.tolerations.[].key",
        "services.*.prefill.patch",
        "services.*.route.matches.[].headers.*",
        "services.*.route.gateway.bodyRouter",
        "services.*.rewrites.[].targets.[].weight",
        "services.*.canary.objectives.*.priority",
        "services.*.canary.weight",
        "services.*.canary.headers.*",
        "services.*.canary.prefill.patch",
        "defaults.prefill.rollout.maxSurge",
    }
    assert reached <= LEAVES.keys()


@pytest.mark.parametrize("stack", [*BASES, *DEFAULTED, *TRIED])
def test_the_edited_stacks_are_valid(stack):
    effect(json.dumps(stack))


def is_walked(name: str) -> bool:
    """Tell whether a leaf is walked: of what `defaults` and canaries say again of roles, one leaf of `SHARE` is."""
    at, _ = LEAVES[name]
    is_again = at[0] == "defaults" or at[2:3] == ("canary",)
    return not is_again or section_of(at) in {None, ("prefill",)} or crc32(name.encode()) % SHARE == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in LEAVES if not constant(name) and is_walked(name)])
def test_a_leaf_field_has_an_effect(name):
    valid = False
    for before, after in attempts(name):
        if before != after:
            return
        valid = True
    assert valid, "no candidate value is valid; add one to TEXTS, NUMBERS or OBJECTS, or a base that has its group"
    pytest.fail("no valid edit of this field changes anything; remove the field")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in LEAVES if constant(name) and is_walked(name)])
def test_a_constant_takes_no_other_value(name):
    """Of many texts and numbers, one of `SHARE` is tried; `make prove` tries all."""
    assert {before == after for before, after in attempts(name, SHARE)} <= {True}


@pytest.mark.parametrize("end", CONSTANTS)
def test_a_constant_is_a_field(end):
    assert any(f".{name}".endswith(f".{end}") for name in LEAVES)
