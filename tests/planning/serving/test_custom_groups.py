"""A replica of a custom engine may have several pods, which the user's own arguments connect."""

from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import engine, told

ARGS = ["serve", "--nnodes=$(LWS_GROUP_SIZE)", "--dist-init-addr=$(LWS_LEADER_ADDRESS):20000"]
ENGINE = {"type": "custom", "image": "docker.io/lmsysorg/sglang:kimi-k3", "args": ARGS}
SERVICE = {"model": {"source": "hf://org/model"}, "parallelism": {"tensor": 8, "pods": 2}}


def group(**fields):
    """Return the size of a group and the containers of its first pod and of its other pods."""
    manifests = rendered(tree(qwen={**SERVICE, "engine": {**ENGINE, **fields}}))
    (workload,) = [item for item in manifests if item["kind"] == "LeaderWorkerSet"]
    templates = workload["spec"]["leaderWorkerTemplate"]
    leader, worker = (engine(templates[name]) for name in ("leaderTemplate", "workerTemplate"))
    return templates["size"], leader, worker


def test_further_pods_have_the_arguments_of_the_first_one():
    size, leader, worker = group()
    assert (size, leader["args"], worker["args"]) == (2, ARGS, ARGS)
    assert {leader["resources"]["limits"]["nvidia.com/gpu"], worker["resources"]["limits"]["nvidia.com/gpu"]} == {"8"}
    assert "readinessProbe" in leader
    assert not {"readinessProbe", "livenessProbe", "startupProbe"} & worker.keys()


def test_further_pods_may_have_a_program_and_arguments_of_their_own():
    _, leader, worker = group(workerCommand=["worker"], workerArgs=["--rank=$(LWS_WORKER_INDEX)"])
    assert (worker["command"], worker["args"]) == (["worker"], ["--rank=$(LWS_WORKER_INDEX)"])
    assert ("command" in leader, leader["args"]) == (False, ARGS)


def test_stages_of_a_custom_engine_do_not_make_pods():
    parallelism = {"tensor": 8, "pipeline": 2}
    messages = told(tree(qwen={**SERVICE, "engine": ENGINE, "parallelism": parallelism}))
    assert any(line.startswith("services.qwen.parallelism.pipeline: does not reach a custom") for line in messages)
