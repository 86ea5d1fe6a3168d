"""Families of models: a name leads to one family, and all models that are shipped have one."""

import pytest

from local.errors import LocalError
from local.vllm.families import families, family
from tests.support.engine.shipped import containers


@pytest.mark.parametrize("name", sorted({row.model for row in containers()}))
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
    ],
)
def test_a_name_leads_to_the_first_family_that_has_it(name, expected):
    assert family(name).name == expected


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
