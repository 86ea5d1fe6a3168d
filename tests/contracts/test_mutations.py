"""Files with random changes end in a message or in a result: quickly, in little memory, and without a credential."""

import contextlib
import io
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import commands
from facts import facts_file
from models import lock
from models.paths import Path as ConfigPath
from models.pins import Pin
from planning.ground.cluster_facts import (
    Bundles,
    ClusterFacts,
    GatewayRef,
    Gateways,
    LiveGateway,
    LiveRoute,
    LiveRouteMatch,
    OfferedMetrics,
    ParentRef,
    Routes,
    Served,
)
from planning.ground.inventory import (
    FactsOrigin,
    Listener,
    LiveNamespace,
    LiveNode,
    LivePool,
    LivePools,
    Metered,
    MeteredService,
    Namespaces,
    Nodes,
    PriorityClasses,
    Quota,
    Quotas,
    Requested,
    Requirement,
    Secrets,
    Slice,
    Slices,
    StorageClasses,
    Taint,
)
from tests.support import limited, mutations
from tests.support.stacks import SHIPPED, shipped
from tests.support.stacks.hostile import SECRETS
from tests.support.stacks.profiles import profile
from tests.support.stacks.varied import VARIED

MUTANTS = int(os.environ.get("MUTANTS", "1000"))
"""Number of mutants of all kinds together; `make prove` has more."""
SEED = os.environ.get("MUTANTS_SEED", "1")
BATCHES = 4
CODES = {0, 1, 2}
"""Exit codes of commands; 3 says that this program has a mistake."""
TIME = "2026-11-22T05:00:00Z"
SOURCE = "kit://registry.example/org/m:v1"
GATEWAY = {"name": "gateway", "namespace": "gateways", "provider": "istio", "version": "1.31.2"}
LOCKED: dict[str, Any] = {
    "release": "llm-d-0.10",
    "namespace": "models",
    "gateway": GATEWAY,
    "services": {
        "qwen": {
            "accelerator": "nvidia",
            "model": {"name": "org/m", "source": SOURCE},
            "canary": {"weight": 10, "model": {"source": SOURCE}},
        }
    },
}
SELECTING = {
    "namespace": "models",
    "gateway": GATEWAY,
    "catalogue": {"shipped": False, "profiles": {"small": profile(), "large": profile("nvidia-h100", 2)}},
    "services": {"qwen": {"model": {"name": "org/model"}}},
}
PLATFORM = {
    "namespace": "models",
    "platform": {"stack": "organization/platform/prod", "output": "models"},
    "services": {"qwen": {"accelerator": "nvidia", "model": {"source": "hf://org/m", "size": "1Gi"}}},
}
OUTPUTS = {
    "models": {"contractVersion": 1, "gateway": GATEWAY, "cluster": {"name": "prod"}, "storageClassName": "fast"}
}
STACK, FACTS, OTHER = "Pulumi.dev.yaml", "facts.json", "other.json"
RENDER = ("render", STACK, "--as", "inference-stacks/dev")


@dataclass(frozen=True)
class Kind:
    """Files of one kind: what they are without a change, and what is run on a changed one."""

    share: float
    """Share of the mutants that are of this kind."""
    originals: Callable[[], list[str]]
    file: str
    commands: tuple[tuple[str, ...], ...] = (RENDER,)
    """Commands on the file, one of which a mutant runs."""
    beside: Callable[[], dict[str, str]] = field(default=dict)
    """Files beside the mutant by name."""
    repair: Callable[[Any], Any] = lambda tree: tree

    @property
    def as_json(self) -> bool:
        """Whether files of this kind are JSON."""
        return self.file.endswith(".json")


def as_file(stack):
    return yaml.dump({"config": {"inference-stacks:stack": stack}}, Dumper=mutations.DUMPER, sort_keys=False)


@cache
def stacks():
    return [as_file(stack) for stack in (*map(shipped, SHIPPED), *VARIED.values(), LOCKED, SELECTING)]


def locks():
    pinned = f"kit://registry.example/org/m@sha256:{'a' * 64}"
    pin = Pin.model_validate(
        {"was": SOURCE, "source": pinned, "bytes": 2**30, "asked": TIME, "from": "registry.example"}
    )
    cluster = lock.LockedCluster(name="prod", asked=TIME, gateways=("gateways/gateway",), platform={"a": ["b"]})
    paths = (ConfigPath("services", "qwen", "model"), ConfigPath("services", "qwen", "canary", "model"))
    return [lock.text(lock.Lock("organization/inference-stacks/dev", dict.fromkeys(paths, pin), cluster))]


def with_checks(tree):
    """Return the tree of a lock whose blocks have the checksums of their content."""
    if isinstance(tree, dict):
        blocks = [tree, *(tree.get(group) for group in ("services", "caches"))]
        for holder in filter(lambda holder: isinstance(holder, dict), blocks):
            for key, block in holder.items():
                if isinstance(block, dict) and (holder is not tree or key == "cluster"):
                    holder[key] = {**block, "check": lock._check(block)}
    return tree


@cache
def facts():
    reference = GatewayRef("gateway.networking.k8s.io", "Gateway", "gateways", "gateway")
    listener = Listener(
        "http", 80, "HTTP", "*.example.com", "Selector", (Requirement("a", "In", ("b",)),), ("HTTPRoute",)
    )
    route = LiveRoute("a", "b", (ParentRef(reference, None, 80),), ("h.example",), (LiveRouteMatch("Exact", "/a"),))
    nodes = [
        LiveNode("n1", {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}, True, False, (), {"nvidia.com/gpu": 8}),
        LiveNode("n2", {}, True, True, (Taint("a", "b", "NoSchedule"),), {"amd.com/gpu": 8}),
    ]
    whole = ClusterFacts(
        Served(frozenset({"v1/Service", "apps/v1/Deployment", "inference.networking.k8s.io/v1/InferencePool"})),
        Gateways((LiveGateway(reference, accepted=True, programmed=False, reason="r", listeners=(listener,)),)),
        Routes((route,)),
        OfferedMetrics(("pods/vllm_num_requests_waiting",)),
        Bundles({"inferencepools.inference.networking.k8s.io": "v1.5.0"}),
        Namespaces({"models": LiveNamespace({"a": "b"}, {})}),
        Secrets((("models", "hf"),)),
        StorageClasses({"fast": True}),
        PriorityClasses({"high": False}),
        Nodes(tuple(nodes)),
        Requested({"n1": {"nvidia.com/gpu": 1}}),
        Quotas((Quota("models", "q", {"requests.nvidia.com/gpu": "4"}, {"requests.nvidia.com/gpu": "1"}),)),
        Slices((Slice("gpu.nvidia.com", "p", "n1", 8),)),
        Metered((MeteredService("models", "s", "id"),)),
        LivePools((LivePool("models", "p", {"a": "b"}, True),)),
        FactsOrigin("prod", "v1.34.0", TIME),
    )
    return [facts_file.text(whole)]


@cache
def pickers():
    corpus = yaml.load(Path("tests/planning/picker/corpus/verdicts.yaml").read_text(encoding="utf-8"), mutations.LOADER)
    return [text for entry in corpus if isinstance(text := entry.get("config"), str) and _is_mapping(text)]


def _is_mapping(text):
    try:
        return isinstance(yaml.load(text, mutations.LOADER), dict)
    except yaml.YAMLError:
        return False


KINDS = {
    "stack": Kind(0.4, stacks, STACK, (RENDER, RENDER, ("diagram", STACK), ("rights", STACK, "--for", "deploy"))),
    "lock": Kind(0.2, locks, lock.file_name("dev"), beside=lambda: {STACK: as_file(LOCKED)}, repair=with_checks),
    "facts": Kind(
        0.15,
        facts,
        FACTS,
        ((*RENDER, "--facts", FACTS), ("explain", STACK, "--as", "inference-stacks/dev", "--facts", FACTS)),
        lambda: {STACK: as_file(SELECTING)},
    ),
    "platform": Kind(
        0.05,
        lambda: [json.dumps(OUTPUTS)],
        OTHER,
        ((*RENDER, "--platform", OTHER),),
        lambda: {STACK: as_file(PLATFORM)},
    ),
    "picker": Kind(0.2, pickers, "picker.yaml", (("lint", "picker.yaml", "--release", "llm-d-0.10"),)),
}


def run(arguments):
    """Return the exit code of a command and all that it writes."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = commands.main(list(arguments))
    return code, output.getvalue()


def mistakes(folder, kind, number):
    """Return what is wrong with the result of a mutant."""
    sort, seed = KINDS[kind], f"{kind} {SEED} {number}"
    chance = random.Random(seed)
    original = chance.choice(sort.originals())
    mutant = mutations.mutant(original, seed, sort.repair, as_json=sort.as_json)
    if sort.repair is with_checks:
        mutant = mutations.Mutant(f"{mutant.text}...\n", mutant.has_credential)
    for name, text in {**sort.beside(), sort.file: mutant.text}.items():
        (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")
    command = chance.choice(sort.commands)
    code, output = run(command)
    found = [] if code in CODES and "Traceback" not in output else [f"ended with {code}: {output[-1500:]}"]
    found += [f"shows {secret}" for secret in SECRETS if secret in output]
    if len(output) > 5_000_000:
        found.append(f"writes {len(output)} characters")
    return [f"{' '.join(command)}: {text}" for text in found]


def batches(kind):
    """Return the numbers of the mutants of a kind in parts."""
    count = max(BATCHES, round(MUTANTS * KINDS[kind].share))
    return [range(index, count, BATCHES) for index in range(BATCHES)]


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("kind", KINDS)
def test_a_mutant_ends_in_a_message_or_a_result(kind, batch, tmp_path, monkeypatch):
    """See defects H6, H15, H16."""
    original = KINDS[kind].originals()[0]
    monkeypatch.chdir(tmp_path)
    for name, text in {**KINDS[kind].beside(), KINDS[kind].file: original}.items():
        Path(name).write_text(text, encoding="utf-8")
    for command in KINDS[kind].commands:
        assert run(command)[0] in CODES
    numbers = batches(kind)[batch]
    print(f"{kind}, MUTANTS_SEED={SEED}, {len(numbers)} mutants")
    assert limited.results(partial(mistakes, tmp_path, kind), numbers) == []
