"""Tiers of the KV cache that an engine would not start with, or that would do nothing, are reported."""

import pytest

from models.problems import ConfigError
from tests.support.stacks import lines, plan, tree
from tests.support.stacks.varied_caches import VOLUMES

CPU = {"type": "cpu", "size": "8Gi"}
FILES = {"type": "file-system", "volume": "files"}
LMCACHE = {"type": "lmcache", "size": "1Gi"}
STORE = {"type": "mooncake-store", "volume": "store"}
AT = "services.qwen.kvCache.tiers"


def service(*tiers, version="0.30.0", **fields):
    image = {"image": f"registry.example/vllm-openai:v{version}"}
    return {"pod": {"volumes": VOLUMES}, "kvCache": {"tiers": list(tiers)}, "engine": image, **fields}


def errors(*tiers, **fields):
    try:
        plan(tree(qwen=service(*tiers, **fields)))
    except ConfigError as error:
        return str(error).splitlines()
    return []


@pytest.mark.parametrize(
    ("tiers", "line"),
    [
        ([FILES, CPU], f"{AT}[0]: needs host memory, through which the engine moves its blocks (file-system); write a"),
        ([{"type": "p2p"}], f"{AT}[0]: needs host memory, through which the engine moves its blocks (p2p)"),
        ([CPU, CPU], f"{AT}[1]: repeats an earlier tier (cpu); remove it"),
        ([CPU, FILES, FILES], f"{AT}[2]: repeats an earlier tier (file-system); remove it"),
        ([STORE, STORE], f"{AT}[1]: repeats an earlier tier (mooncake-store); remove it"),
        (
            [CPU, {**FILES, "volume": "no"}],
            f"{AT}[1].volume: is no volume of the pods (no); name one of pod.vol",
        ),
        ([CPU, {**FILES, "volume": "store"}], f"{AT}[1].volume: is a volume that the engine cannot write to (store)"),
    ],
)
@pytest.mark.parametrize("further", [{}, {"prefill": {}}])
def test_tiers_that_cannot_work_are_refused_once(tiers, line, further):
    (error,) = errors(*tiers, **further)
    assert error.startswith(line)


@pytest.mark.parametrize(
    "tiers",
    [[CPU], [CPU, FILES, {**FILES, "volume": "edited"}], [CPU, {"type": "p2p"}], [LMCACHE, CPU], [STORE], [CPU, STORE]],
)
@pytest.mark.parametrize("further", [{}, {"prefill": {}}])
def test_tiers_that_work_are_taken(tiers, further):
    assert errors(*tiers, **further) == []


def test_a_volume_that_the_engine_does_not_mount_is_refused():
    (error,) = errors(CPU, FILES, pod={"volumes": {"files": {"type": "claim", "claimName": "files"}}})
    assert error == (
        f"{AT}[1].volume: is a volume that the engine does not mount (files); set pod.volumes.files.mountPath"
    )


def test_the_short_form_and_the_same_tier_are_refused_together():
    (error,) = errors(kvCache={"cpuOffload": "8Gi", "tiers": [CPU]})
    assert error == f"{AT}[0]: repeats an earlier tier (cpu); remove it, or remove kvCache.cpuOffload"
    assert errors(kvCache={"cpuOffload": "8Gi", "tiers": [FILES]}) == []


@pytest.mark.parametrize(
    ("tiers", "old", "new"),
    [
        ([CPU, FILES], "0.21.0", "0.22.0"),
        ([CPU, {"type": "p2p"}], "0.25.1", "0.26.0"),
        ([STORE], "0.23.0", "0.24.0"),
    ],
)
def test_a_version_without_the_tier_is_refused(tiers, old, new):
    (error,) = errors(*tiers, version=old)
    kind = tiers[-1]["type"]
    assert f"type: is not known to vLLM {old} ({kind}); use an image of vLLM {new} or newer" in error
    assert errors(*tiers, version=new) == []


def test_host_memory_beside_prefill_needs_a_version_that_passes_handshakes_on():
    for cache, key in (({"tiers": [CPU]}, "tiers"), ({"cpuOffload": "8Gi"}, "cpuOffload")):
        found = [error for error in errors(kvCache=cache, version="0.15.1", prefill={}) if "prefill in" in error]
        (line,) = found
        assert line == (
            f"services.qwen.kvCache.{key}: does not work with prefill in vLLM 0.15.1; "
            "use an image of vLLM 0.16.0 or newer, or remove prefill"
        )
        assert errors(kvCache=cache, version="0.16.0", prefill={}) == []


def test_arguments_that_replace_the_connector_are_refused():
    written = '--kv-transfer-config={"kv_connector":"ExampleConnector","kv_role":"kv_both"}'
    image = {"image": "registry.example/vllm-openai:v0.30.0", "args": [written]}
    (error,) = errors(CPU, FILES, engine=image)
    assert error == (
        "services.qwen.engine.args[0]: repeats a field (--kv-transfer-config); remove it, or remove kvCache.tiers"
    )
    assert errors(CPU, engine=image) == []


@pytest.mark.parametrize("tiers", [[CPU, FILES], [{**LMCACHE, "volume": "files", "volumeSize": "9Gi"}]])
def test_a_tier_in_a_folder_that_kubernetes_makes_for_root_is_refused(tiers):
    node = {"type": "host-path", "path": "/mnt/cache", "mountPath": "/files"}
    (error,) = errors(*tiers, pod={"volumes": {"files": {**node, "kind": "DirectoryOrCreate"}}})
    assert "belongs to root if Kubernetes makes it (files, kind DirectoryOrCreate)" in error
    assert errors(*tiers, pod={"volumes": {"files": node}}) == []


def test_sizes_of_lmcache_on_a_volume_stand_together():
    (error,) = errors({**LMCACHE, "volume": "files"})
    assert error == f"{AT}[0]: needs volume and volumeSize together; write both of them, or none"


def test_other_engines_are_refused_by_their_name():
    other = {"type": "sglang", "image": "docker.io/lmsysorg/sglang:v0.5.13.post1"}
    hub = {"source": "hf://org/model"}
    (error,) = errors(CPU, engine=other, model=hub)
    assert error == f"{AT}: has no effect on SGLang; remove it, and write the engine's own flag in engine.args"


def test_tiers_larger_than_the_limit_of_the_container_are_refused():
    limit = {"resources": {"limits": {"memory": "9Gi"}}}
    (error,) = errors(CPU, LMCACHE, **limit)
    assert error == (
        f"{AT}: leaves the engine no memory (9Gi; resources.limits.memory is 9Gi); "
        "lower it, or raise resources.limits.memory"
    )


def test_blocks_of_other_pods_that_no_sidecar_names_are_warned_of():
    def warned(**fields):
        warnings = plan(tree(qwen=service(CPU, {"type": "p2p"}, **fields))).warnings
        return [line for line in lines(warnings, "warning") if AT in line]

    (line,) = warned()
    assert "gets blocks only for requests that name a pod" in line
    named = {"kvCache": {"tiers": [CPU, {"type": "p2p"}], "connector": "offloading"}, "sidecar": {}}
    assert warned(**named) == []


def test_a_port_of_the_tier_that_another_listener_has_is_refused():
    (error,) = errors(CPU, {"type": "p2p"}, engine={"image": "registry.example/vllm-openai:v0.30.0", "port": 5710})
    assert "is taken by" in error


def test_a_store_behind_policies_is_warned_of():
    def warned(**further):
        warnings = plan(tree(qwen=service(STORE, prefill={})) | further).warnings
        return [line for line in lines(warnings, "warning") if AT in line]

    (line,) = warned(networkPolicies={})
    assert line == (
        f"{AT}[0]: has a master that is not in the configuration, and networkPolicies keep the pods from it; "
        "add a NetworkPolicy that lets the pods reach the master"
    )
    assert warned() == []
