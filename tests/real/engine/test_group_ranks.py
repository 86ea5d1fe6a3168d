"""Ranks that vLLM gives to the engines in the pods of a replica, from the arguments of one pod template."""

import json
from pathlib import Path

import pytest

from local.vllm.command import command_and_environment
from tests.support.engine import scripts
from tests.support.engine.engines import make_model
from tests.support.engine.listing import VERSION
from tests.support.stacks import find, rendered, tree

pytestmark = pytest.mark.engine

LEADER = "qwen-decode-0.qwen-decode.models"
SCRIPT = Path(__file__).parents[2] / "support/engine/ranks_script.py"
LAYOUTS = {
    "external": {"data": 4, "dataLocal": 2},
    "hybrid": {"data": 4, "dataLocal": 2},
    "one copy": {"data": 2, "dataLocal": 1},
}
EXPECTED = {
    "external": [[(8000, 0, 1), (8001, 1, 1)], [(8000, 2, 1), (8001, 3, 1)]],
    "hybrid": [[(8000, 0, 2)], [(8000, 2, 2)]],
    "one copy": [[(8000, 0, 1)], [(8000, 1, 1)]],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return the directory of a small model that claims to have experts; vLLM takes no other one so."""
    return make_model(tmp_path_factory.mktemp("experts") / "model", num_experts=2)


def command_line(layout, index, model, *further):
    """Return the command line of the engine in a pod of the replica, as kubelet passes it, with another model."""
    load_balancing = "hybrid" if layout == "hybrid" else "external"
    parallelism = {**LAYOUTS[layout], "expert": True, "loadBalancing": load_balancing}
    service = {"accelerator": "nvidia-h100-80gb", "parallelism": parallelism}
    group = find(rendered(tree(qwen=service)), "LeaderWorkerSet", "qwen-decode")["spec"]["leaderWorkerTemplate"]
    (container,) = group["workerTemplate"]["spec"]["containers"]
    added = {"LWS_LEADER_ADDRESS": LEADER, "LWS_WORKER_INDEX": str(index)}
    container["env"] = [*({"name": name, "value": value} for name, value in added.items()), *container["env"]]
    command, _ = command_and_environment(container, lambda _: "127.0.0.1")
    assert command[:2] == ["vllm", "serve"]
    return [str(model), *command[3:], *further]


@pytest.fixture(scope="module")
def answers(model):
    """Return what vLLM makes of the pods of each layout. "with nodes" is a pod of `external` with `--nnodes`."""
    questions = {(layout, index): command_line(layout, index, model) for layout in LAYOUTS for index in (0, 1)}
    questions["with nodes", 1] = command_line("external", 1, model, "--nnodes=2")
    found = scripts.run(VERSION, SCRIPT, [], json.dumps([*questions.values()]))
    return dict(zip(questions, found, strict=True))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_copy_of_a_replica_has_a_rank_of_its_own(layout, answers):
    of_pods = [answers[layout, index] for index in (0, 1)]
    assert [[tuple(engine[:3]) for engine in engines] for engines in of_pods] == EXPECTED[layout]
    assert {engine[3] for engines in of_pods for engine in engines} == {LEADER}


def test_engines_that_know_the_number_of_pods_share_a_rank(answers):
    """So pods with a port for each copy have no `--nnodes`. vLLM 0.32 no longer takes these ranks from it."""
    assert [engine[1] for engine in answers["with nodes", 1]] == [2, 2]
