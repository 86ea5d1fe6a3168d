"""The total of a model is within five percent of llm-d-planner's, by its measurements on an H100."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from planner import capacity_planner as judge

from planning.fit import configs, memory
from planning.fit.memory import Devices, Request

GI = 2**30
TOLERANCE = 0.05
CONFIGS = json.loads(Path("tests/planning/fit/configs.json").read_text())
H100 = Devices("nvidia", "NVIDIA H100 80GB", 81559 * 2**20)
PARAMETERS = {
    "LlamaForCausalLM": ("meta-llama/Meta-Llama-3.1-8B", 8030261248),
    "Qwen2ForCausalLM": ("Qwen/Qwen2.5-7B-Instruct", 7615616512),
    "Qwen3ForCausalLM": ("Qwen/Qwen3-14B", 14770000000),
    "Mistral3ForConditionalGeneration": ("mistralai/Mistral-Small-24B-Instruct-2501", 24000000000),
    "DeepseekV2ForCausalLM": ("deepseek-ai/DeepSeek-V2-Lite", 15706484224),
    "GraniteForCausalLM": ("ibm-granite/granite-3.0-8b", 8000000000),
    "MixtralForCausalLM": ("mistralai/Mixtral-8x7B-v0.1", 46702792704),
    "Phi3ForCausalLM": ("microsoft/phi-4", 14000000000),
    "Qwen3MoeForCausalLM": ("Qwen/Qwen3-30B-A3B", 30500000000),
    "Gemma2ForCausalLM": ("google/gemma-2-9b-it", 9241705984),
    "Gemma3ForCausalLM": ("google/gemma-3-12b-it", 12000000000),
}
"""A model of each architecture that the judge has measured, and its parameters, some rounded: both get the same.

Of four more, Gemma, Qwen2Moe, LlavaNext and Pixtral, no configuration is at hand.
"""
CONTEXT = 1024
"""Tokens of the one sequence: all are within every window, which the judge does not know."""


def configuration(architecture, name):
    """Return a configuration as the judge reads it."""
    config = {key: value for key, value in CONFIGS[name]["config"].items() if value is not None}
    return SimpleNamespace(**{**config, "architectures": [architecture], "torch_dtype": "bfloat16"})


@pytest.fixture(autouse=True)
def counts(monkeypatch):
    """Give the judge the parameters that it would ask a hub for."""
    named = dict(PARAMETERS.values())
    monkeypatch.setattr(judge, "model_params_by_dtype", lambda name, _=None: {"BF16": named[name]})


def judged(architecture, name, tensor):
    """Return the bytes of each device by the judge."""
    config = configuration(architecture, name)
    weights = judge.per_gpu_model_memory_required(name, config, tensor)
    beside = judge.estimate_vllm_activation_memory(config, tensor) + judge.estimate_vllm_non_torch_memory(tensor)
    return (weights + beside + judge.kv_cache_req(name, config, CONTEXT) / tensor) * GI


def computed(name, parameters, tensor):
    """Return the bytes of each device by the program, without the graphs that the judge leaves out."""
    architecture = configs.architecture(CONFIGS[name]["config"])
    found = memory.fits(Request(architecture, 2 * parameters, H100, CONTEXT, tensor=tensor, graphs=False))
    return found.weights + found.overhead + found.cache


@pytest.mark.parametrize("tensor", [1, 2])
@pytest.mark.parametrize("architecture", PARAMETERS)
def test_totals_are_those_of_the_judge(architecture, tensor):
    name, parameters = PARAMETERS[architecture]
    theirs, ours = judged(architecture, name, tensor), computed(name, parameters, tensor)
    assert ours == pytest.approx(theirs, rel=TOLERANCE)


def test_the_judge_has_measured_these_architectures():
    assert PARAMETERS.keys() <= judge.VALIDATED_ACTIVATION_PROFILES.keys()
    others = judge.VALIDATED_ACTIVATION_PROFILES.keys() - PARAMETERS.keys()
    assert others == {
        "GemmaForCausalLM",
        "LlavaNextForConditionalGeneration",
        "PixtralForConditionalGeneration",
        "Qwen2MoeForCausalLM",
    }
