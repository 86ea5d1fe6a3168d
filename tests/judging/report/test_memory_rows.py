"""The report says what a change takes of the room for the cache."""

import pytest

from judging.report import memory_rows
from manifests.assembly import objects, render
from tests.support.stacks import find, plan, tree

QWEN = {"model": {"source": "hf://Qwen/Qwen3-8B", "maxModelLen": 8192}, "accelerator": "nvidia-l40s"}


def deployed(**values):
    """Return the workload of a service, and its object."""
    found = plan({**tree(qwen={**QWEN, **values}), "checks": {"fit": "skip"}})
    workload = found.services[0].primary.roles["decode"]
    manifests = [each.manifest for each in objects(render(found))]
    return workload, find(manifests, workload.kind, workload.name)


def headroom(before, after):
    """Return what the report says of a change from some keys of a service to others."""
    (_, old), (workload, new) = deployed(**before), deployed(**after)
    assert memory_rows.is_comparable(workload.kind, old, new)
    return memory_rows.headroom(workload, old)


LONGER = {"model": {**QWEN["model"], "maxModelLen": 32768}}


@pytest.mark.parametrize(
    "after",
    [
        LONGER,
        {"engine": {"gpuMemoryUtilization": 0.6}},
        {"engine": {"maxNumSeqs": 2048}},
        {"engine": {"args": ["--max-num-batched-tokens=65536"]}},
    ],
)
def test_what_a_change_takes_is_told(after):
    (text,) = headroom({}, after)
    assert text.startswith("headroom of a device ")
    assert headroom(after, {}) == ()


def test_the_text_has_bytes_and_sequences():
    (text,) = headroom({}, LONGER)
    assert text == "headroom of a device 22.0Gi → 18.6Gi (20 → 5 × 32768 tokens)"


def test_a_change_that_takes_nothing_is_silent():
    assert headroom({}, {"drainTimeout": "30s"}) == ()
    assert headroom({}, {"engine": {"args": ["--kv-cache-dtype=fp8"]}}) == ()


def test_what_is_unknown_is_not_compared():
    unknown = {"model": {"source": "hf://org/m", "maxModelLen": 8192}}
    assert headroom(unknown, unknown) == ()


def test_other_weights_and_other_devices_are_not_compared():
    (_, old), (workload, new) = deployed(), deployed(accelerator="nvidia-l4")
    assert not memory_rows.is_comparable(workload.kind, old, new)
    (_, old), (workload, new) = deployed(), deployed(model={"source": "hf://Qwen/Qwen3-4B", "maxModelLen": 8192})
    assert not memory_rows.is_comparable(workload.kind, old, new)
