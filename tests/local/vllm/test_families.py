"""Families of models: a name leads to one family, and all models that are shipped have one."""

import pytest

from local.errors import LocalError
from local.vllm.families import families, family
from tests.support.engine.shipped import ROWS, containers

GUIDES = {str(path) for path in ROWS}
"""Stacks that say llm-d's guides. Some of their models have no small one, and their commands are parsed alone."""


@pytest.mark.parametrize("name", sorted({row.model for row in containers() if row.origin not in GUIDES}))
def test_a_shipped_model_has_a_family(name):
    assert family(name) in families()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Qwen/Qwen3-0.6B", "qwen3"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", "qwen3-moe"),
        ("Qwen/Qwen3-VL-235B-A22B-Instruct", "qwen3-moe"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral"),
        ("mistralai/Mistral-Small-24B-Instruct-2501", "mistral"),
        ("META-LLAMA/LLAMA-3.1-8B", "llama"),
        ("hf://meta-llama/Meta-Llama-3-8B-Instruct:c1", "llama"),
        ("Qwen/Qwen3-30B-A3B", "qwen3-moe"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "qwen3-moe"),
        ("Qwen/Qwen3-VL-8B-Instruct", "qwen3"),
        ("deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-v3"),
        ("kit://registry.example/mistral:24b", "mistral"),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral"),
    ],
)
def test_a_name_leads_to_the_first_family_that_has_it(name, expected):
    assert family(name).name == expected


@pytest.mark.parametrize(
    "name",
    [
        "Qwen/Qwen3-Next-80B-A3B-Instruct",
        "Qwen/Qwen3-Omni-30B-A3B-Instruct",
        "Qwen/Qwen3-Coder-Next",
        "Qwen/Qwen3-Embedding-8B",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
        "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B",
        "deepseek-ai/DeepSeek-V3.2",
        "meta-llama/Llama-4-Scout-17B-16E-Instruct",
        "meta-llama/Llama-3.2-11B-Vision-Instruct",
        "google/gemma-3n-E4B-it",
        "microsoft/Phi-4-multimodal-instruct",
        "microsoft/Phi-4-mini-flash-reasoning",
        "mistralai/Pixtral-12B-2409",
        "mistralai/Mistral-Large-3-675B-Instruct-2512",
        "mistralai/Mistral-Small-4-119B-2603",
        "jinaai/jina-embeddings-v5-text-nano",
    ],
)
def test_a_model_of_another_architecture_with_a_similar_name_has_no_family(name):
    with pytest.raises(LocalError, match="no small model stands for"):
        family(name)


def test_a_name_of_no_family_is_refused_with_the_families():
    with pytest.raises(
        LocalError, match=r"no small model stands for acme/new; families.toml has the families .*qwen3,"
    ):
        family("acme/new")


def test_each_family_stands_once():
    names = [row.name for row in families()]
    assert len(set(names)) == len(names)


def test_a_family_has_an_obstacle_with_a_flag_or_in_a_version_that_cpus_cannot_run():
    deepseek = family("deepseek-ai/DeepSeek-R1")
    assert deepseek.obstacle(["--max-num-seqs=8"]) is None
    assert deepseek.obstacle([], "0.30.0") is None
    assert deepseek.obstacle([], "0.26.0") == "vLLM runs deepseek-v3 on CPUs since 0.30.0"
    assert "no type fp8" in (deepseek.obstacle(["--kv-cache-dtype=fp8"], "0.32.0") or "")
    assert family("Qwen/Qwen3-8B").obstacle(["--kv-cache-dtype=fp8"], "0.26.0") is None
