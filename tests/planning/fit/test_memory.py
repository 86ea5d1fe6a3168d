"""The total of a model is within five percent of llm-d-planner's, by its measurements on an H100."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from planner import capacity_planner as judge

from planning.fit import configs, memory
from planning.fit.memory import Devices, Request

GI = 2**30
TOLERANCE = 0.05
CONFIGS = json.loads(Path("tests/planning/fit/configs.json").read_text(encoding="utf-8"))
TABLE = yaml.load(Path("tests/planning/fit/judged.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
MODELS = TABLE["models"]
H100 = Devices("nvidia", "NVIDIA H100 80GB", 81559 * 2**20)
TENSORS, TOKENS = (1, 2, 4), (1024, 8192, 32768)
CASES = [(name, tensor, tokens) for name in MODELS for tensor in TENSORS for tokens in TOKENS]


def deviates(architecture, tensor, tokens):
    """Tell whether the table has a reason why two totals differ."""
    case = {"architecture": architecture, "tensor": tensor, "tokens": tokens}
    return any(all(case.get(key, value) == value for key, value in each.items()) for each in TABLE["deviations"])


DEVIATIONS = [case for case in CASES if deviates(*case)]


def namespace(architecture, config):
    """Return a configuration as the judge reads it, with the class that it knows the model by."""
    values = {key: value for key, value in config.items() if value is not None}
    text = {"text_config": SimpleNamespace(**values["text_config"])} if "text_config" in values else {}
    return SimpleNamespace(**{**values, **text, "architectures": [architecture], "torch_dtype": "bfloat16"})


@pytest.fixture(autouse=True)
def counts(monkeypatch):
    """Give the judge the parameters that it would ask a hub for."""
    named = {each["model"]: each["parameters"] for each in MODELS.values()}
    monkeypatch.setattr(judge, "model_params_by_dtype", lambda name, _=None: {"BF16": named[name]})


def judged(architecture, tensor, tokens):
    """Return the bytes of each device by the judge."""
    name = MODELS[architecture]["model"]
    config = namespace(architecture, CONFIGS[name]["config"])
    weights = judge.per_gpu_model_memory_required(name, config, tensor)
    beside = judge.estimate_vllm_activation_memory(config, tensor) + judge.estimate_vllm_non_torch_memory(tensor)
    return (weights + beside + judge.kv_cache_req(name, config, tokens) / tensor) * GI


def computed(architecture, tensor, tokens):
    """Return the bytes of each device by the program, without the graphs that the judge leaves out."""
    model = MODELS[architecture]
    known = configs.architecture(CONFIGS[model["model"]]["config"])
    found = memory.fits(Request(known, 2 * model["parameters"], H100, tokens, tensor=tensor, graphs=False))
    return found.weights + found.overhead + found.cache


@pytest.mark.parametrize("case", [case for case in CASES if case not in DEVIATIONS], ids=str)
def test_totals_are_those_of_the_judge(case):
    assert computed(*case) == pytest.approx(judged(*case), rel=TOLERANCE)


@pytest.mark.parametrize("case", DEVIATIONS, ids=str)
def test_a_deviation_is_one(case):
    assert computed(*case) != pytest.approx(judged(*case), rel=TOLERANCE)


def test_every_architecture_that_the_judge_has_measured_is_compared():
    assert MODELS.keys() == judge.VALIDATED_ACTIVATION_PROFILES.keys()
    assert all(each["source"] for each in MODELS.values())


def test_deviations_are_few_and_have_reasons():
    assert len(DEVIATIONS) < len(CASES) / 10
    assert all(each["reason"] for each in TABLE["deviations"])
