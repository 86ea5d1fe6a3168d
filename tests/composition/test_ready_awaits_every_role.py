"""The output `awaited` of a service follows from everything that is awaited for it."""

import pytest

from manifests.assembly import objects, render
from tests.support.program import run_whole
from tests.support.stacks import plan, tree

AWAITED = {"Deployment", "LeaderWorkerSet", "InferencePool"}
SPANNING = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8, "pipeline": 2}}


@pytest.mark.parametrize(
    ("service", "count"),
    [
        ({}, 3),
        ({"prefill": {}}, 4),
        ({"prefill": SPANNING, **SPANNING}, 4),
        ({"prefill": {}, "canary": {"weight": 1}}, 8),
    ],
    ids=["decode", "prefill", "several-nodes", "canary"],
)
def test_it_depends_on_every_workload_picker_and_pool_of_the_service(service, count):
    stack = tree(qwen=service, bert={}) | {"cluster": {"facts": {"type": "none"}, "name": "prod"}}
    run, everything = run_whole(stack), objects(render(plan(stack)))
    expected = {
        run.urn(each.manifest["kind"], each.manifest["metadata"]["name"])
        for each in everything
        if each.manifest["kind"] in AWAITED and each.manifest["metadata"]["name"].startswith("qwen")
    }
    assert len(expected) == count
    assert run.awaited["qwen"] == expected
