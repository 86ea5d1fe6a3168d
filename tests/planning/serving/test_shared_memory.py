"""The size of /dev/shm holds what the engine keeps there: since vLLM 0.27 the offloaded KV cache, too."""

import pytest

from models.problems import ConfigError
from tests.support.stacks import plan, rendered, tree
from tests.support.stacks.shapes import engine, flag, model_servers

OFFLOAD = {"kvCache": {"cpuOffload": "20Gi"}, "parallelism": {"tensor": 2}}
OLD, NEW = ({"engine": {"image": f"registry.example/vllm-openai:v{version}"}} for version in ("0.26.0", "0.27.0"))


NPU = {"vendor": "huawei", "allocation": {"type": "extended-resource", "resourceName": "huawei.com/Ascend910"}}


def size(**service):
    stack = tree(qwen=service) | {"accelerators": {"npu": NPU}}
    (template,) = model_servers(rendered(stack))
    (volume,) = [each for each in template["spec"]["volumes"] if each["name"] == "shared-memory"]
    return volume["emptyDir"]["sizeLimit"]


@pytest.mark.parametrize("accelerator", ["nvidia", "amd-mi300x"])
def test_the_offloaded_cache_is_added_since_the_engine_keeps_it_there(accelerator):
    assert size(**OFFLOAD, **OLD, accelerator=accelerator) == "16Gi"
    assert size(**OFFLOAD, **NEW, accelerator=accelerator) == "36Gi"
    assert size(**NEW, accelerator=accelerator) == "8Gi"


def test_each_vendor_has_versions_of_its_own():
    def added(vendor, version):
        image = {"engine": {"image": f"registry.example/vllm-openai:v{version}"}}
        return size(**OFFLOAD, **image, accelerator=vendor) != size(
            parallelism=OFFLOAD["parallelism"], **image, accelerator=vendor
        )

    versions = ("0.26.0", "0.30.0", "0.31.0", "0.32.0")
    assert [added("nvidia", version) for version in versions] == [False, True, True, True]
    assert [added("amd-mi300x", version) for version in versions] == [False, True, False, False]
    assert [added("intel-xe", version) for version in versions] == [False, False, False, True]


def test_devices_of_an_unknown_vendor_have_room_for_the_cache():
    assert size(**OFFLOAD, **OLD, accelerator="npu") == "16Gi"
    assert size(**OFFLOAD, **NEW, accelerator="npu") == "36Gi"
    assert size(**OFFLOAD, **NEW, accelerator="npu", pod={"sharedMemory": "2Gi"}) == "2Gi"


def test_an_engine_that_keeps_it_elsewhere_gets_no_more():
    assert size(kvCache={"cpuOffload": "8Gi"}, **NEW, accelerator="cpu") == "1Gi"
    custom = {"type": "custom", "image": "registry.example/engine:v0.27.0"}
    assert size(engine=custom) == "8Gi"


def problems(**service):
    """Return the errors of a stack, those of the size of /dev/shm alone."""
    try:
        plan(tree(qwen=service))
    except ConfigError as error:
        return [str(each) for each in error.problems if "sharedMemory" in str(each)]
    return []


def test_an_explicit_size_that_does_not_hold_it_is_refused():
    small, large = ({"pod": {"sharedMemory": text}} for text in ("20Gi", "24Gi"))
    (problem,) = problems(**OFFLOAD, **NEW, **small)
    assert problem == (
        "services.qwen.pod.sharedMemory: is too small for the offloaded KV cache, which vLLM keeps there since 0.27.0 "
        "(20Gi; kvCache.cpuOffload is 20Gi); raise it, or remove it"
    )
    assert problems(**OFFLOAD, **NEW, **large) == []
    assert size(**OFFLOAD, **NEW, **large) == "24Gi"
    assert problems(**OFFLOAD, **OLD, **small) == []


def test_copies_of_a_replica_in_a_pod_share_its_offloaded_memory():
    pairs = {1: "20", 2: "10", 4: "5"}
    for copies, gib in pairs.items():
        layout = {"kvCache": {"cpuOffload": "20Gi"}, "parallelism": {"data": copies}}
        (template,) = model_servers(rendered(tree(qwen={**layout, **NEW})))
        assert flag(engine(template), "--kv-offloading-size") == gib
        assert size(**layout, **NEW) == f"{8 * copies + 20}Gi"
