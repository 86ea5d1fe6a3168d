"""Tiers of the KV cache become settings of vLLM's connectors, beside the connector between roles."""

import json

import pytest

from tests.support.stacks import find, rendered, tree
from tests.support.stacks.shapes import engine, flag, model_servers, values, volumes
from tests.support.stacks.varied_caches import VOLUMES

CPU = {"type": "cpu", "size": "8Gi"}
FILES = {"type": "file-system", "volume": "files"}
POD = {"pod": {"volumes": VOLUMES}}
NIXL = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}


def containers(*tiers, **service):
    """Return the engines of a service with tiers, decode first."""
    stack = tree(qwen={**POD, "kvCache": {"tiers": list(tiers)}, **service})
    return [engine(template) for template in model_servers(rendered(stack))]


def transfer(container):
    text = flag(container, "--kv-transfer-config")
    return None if text is None else json.loads(text)


def offloading(extra):
    return {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}


def test_a_single_tier_of_host_memory_is_the_flag_that_its_short_form_is():
    (container,) = containers(CPU)
    (short,) = containers(kvCache={"cpuOffload": "8Gi"})
    assert container["args"] == short["args"]
    assert flag(container, "--kv-offloading-size") == "8"
    assert transfer(container) is None


@pytest.mark.parametrize("cache", [{"tiers": [CPU]}, {"cpuOffload": "8Gi"}])
def test_beside_prefill_both_roles_have_two_connectors_the_one_between_them_first(cache):
    decode, prefill = containers(kvCache=cache, prefill={})
    wrapped = {"connectors": [NIXL, offloading({"cpu_bytes_to_use": 8 * 2**30})]}
    expected = {"kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_connector_extra_config": wrapped}
    assert transfer(decode) == transfer(prefill) == expected
    assert flag(decode, "--kv-offloading-size") is None


def test_files_and_other_pods_are_behind_the_host_memory_in_one_connector():
    (container,) = containers(CPU, FILES, {"type": "p2p"})
    extra = transfer(container)["kv_connector_extra_config"]
    folder = extra["secondary_tiers"][0].pop("root_dir")
    assert folder.startswith("/files/")
    assert extra == {
        "cpu_bytes_to_use": 8 * 2**30,
        "spec_name": "TieringOffloadingSpec",
        "secondary_tiers": [{"type": "fs"}, {"type": "p2p"}],
    }
    assert values(container)["VLLM_P2P_SIDE_CHANNEL_HOST"] == "$(POD_IP)"
    assert "POD_IP" in values(container)


def test_copies_of_the_model_share_the_host_memory_of_a_pod():
    (container,) = containers(CPU, FILES, parallelism={"data": 2, "dataLocal": 2})
    assert transfer(container)["kv_connector_extra_config"]["cpu_bytes_to_use"] == 4 * 2**30


def folder(cache=None, **service):
    (container,) = containers(CPU, FILES, **service, **({} if cache is None else {"kvCache": cache}))
    return transfer(container)["kv_connector_extra_config"]["secondary_tiers"][0]["root_dir"]


def test_blocks_of_another_model_adapter_image_or_format_are_in_another_folder():
    """VLLM calls every model by its folder, so that the same folder would give one model the blocks of another."""
    adapters = {"sql": {"source": "hf://org/sql"}}
    others = [
        {"model": {"name": "org/model", "source": "hf://org/other"}},
        {"model": {"name": "org/model", "source": "hf://org/model", "lora": {"adapters": adapters}}},
        {"engine": {"image": "registry.example/vllm-openai:v0.29.0"}},
        {"engine": {"args": ["--kv-cache-dtype=fp8"]}},
    ]
    folders = [folder(), *(folder(**other) for other in others)]
    assert len(set(folders)) == len(folders)
    assert folder(replicas=3, engine={"args": ["--enforce-eager"], "maxNumSeqs": 7}) == folder()


def test_lmcache_divides_its_sizes_among_the_workers_of_a_pod():
    tier = {"type": "lmcache", "size": "8Gi", "volume": "files", "volumeSize": "100Gi"}
    (container,) = containers(tier, parallelism={"tensor": 2})
    assert transfer(container) == {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}
    env = values(container)
    assert (env["LMCACHE_MAX_LOCAL_CPU_SIZE"], env["LMCACHE_MAX_LOCAL_DISK_SIZE"]) == ("4", "50")
    assert env["LMCACHE_LOCAL_DISK"].startswith("file:///files/")
    (without,) = containers({"type": "lmcache", "size": "8Gi"})
    assert "LMCACHE_LOCAL_DISK" not in values(without)


def test_mooncakes_store_has_the_file_of_its_settings_and_a_namespace():
    (container,) = containers({"type": "mooncake-store", "volume": "store", "file": "one.json"})
    assert values(container)["MOONCAKE_CONFIG_PATH"] == "/store/one.json"
    settings = transfer(container)
    assert settings["kv_connector"] == "MooncakeStoreConnector"
    assert settings["kv_connector_extra_config"].keys() == {"cache_prefix"}


@pytest.mark.parametrize("tier", [FILES, {"type": "p2p"}, {"type": "lmcache", "size": "1Gi"}])
def test_engines_that_share_blocks_name_them_by_one_seed(tier):
    (container,) = containers(CPU, tier)
    assert values(container)["PYTHONHASHSEED"] == "0"
    assert "PYTHONHASHSEED" not in values(containers(CPU)[0])


@pytest.mark.parametrize(
    ("tiers", "memory"),
    [
        ([CPU, FILES], "56Gi"),
        ([CPU, {"type": "lmcache", "size": "4Gi"}], "60Gi"),
        ([{"type": "mooncake-store", "volume": "store", "size": "2Gi"}], "50Gi"),
        ([{"type": "mooncake-store", "volume": "store"}], "48Gi"),
    ],
)
def test_host_memory_of_tiers_raises_the_limit_of_the_container(tiers, memory):
    (container,) = containers(*tiers)
    assert container["resources"]["limits"]["memory"] == memory


def test_files_need_shared_memory_for_the_host_memory_in_every_version():
    image = {"engine": {"image": "registry.example/vllm-openai:v0.26.0"}}
    sizes = [
        volumes(model_servers(rendered(tree(qwen={**POD, **image, "kvCache": {"tiers": tiers}})))[0])["shared-memory"]
        for tiers in ([CPU, FILES], [CPU], [{"type": "lmcache", "size": "8Gi"}])
    ]
    assert [size["emptyDir"]["sizeLimit"] for size in sizes] == ["16Gi", "8Gi", "8Gi"]


def test_policies_let_pods_take_blocks_from_each_other():
    def peers(*tiers):
        service = {**POD, "kvCache": {"tiers": [CPU, *tiers]}}
        stack = tree(qwen=service) | {"networkPolicies": {}}
        rules = find(rendered(stack), "NetworkPolicy", "qwen-decode")["spec"]["egress"]
        selectors = [peer.get("podSelector", {}).get("matchLabels", {}) for rule in rules for peer in rule["to"]]
        return [labels for labels in selectors if labels.get("inference-stacks.io/role") == "decode"]

    assert len(peers({"type": "p2p"})) == 1
    assert len(peers({"type": "mooncake-store", "volume": "store"})) == 1
    assert peers() == []


def test_further_keys_of_the_users_settings_are_merged():
    written = '--kv-transfer-config={"kv_connector_extra_config":{"block_size":256}}'
    (container,) = containers(CPU, FILES, engine={"args": [written]})
    extra = transfer(container)["kv_connector_extra_config"]
    assert (extra["block_size"], extra["cpu_bytes_to_use"]) == (256, 8 * 2**30)
