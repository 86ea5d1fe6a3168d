"""Loaders of vLLM: the flag of each, and the combinations that are refused."""

import pytest

import planning
from models.load import load
from models.problems import ConfigError
from tests.support.stacks import NAME, rendered, tree
from tests.support.stacks.shapes import engine, model_servers

HUB = {"source": "hf://org/m@v1", "size": "16Gi"}
BUCKET = {"name": "org/m", "source": "s3://bucket/m", "size": "16Gi"}
ENGINE = {"storage": {"type": "engine"}}


def formats(**service):
    """Return the values of `--load-format` of an engine."""
    (template,) = model_servers(rendered(tree(qwen=service)))
    flag = "--load-format="
    return [text.removeprefix(flag) for text in engine(template)["args"] if text.startswith(flag)]


def refused(**service):
    with pytest.raises(ConfigError) as error:
        planning.plan(load(tree(qwen=service)), NAME)
    return str(error.value).splitlines()


@pytest.mark.parametrize(
    ("kind", "model", "storage", "expected"),
    [
        ("default", HUB, {}, []),
        ("default", HUB, ENGINE, []),
        ("default", BUCKET, {}, []),
        ("default", BUCKET, ENGINE, ["runai_streamer"]),
        ("runai-streamer", BUCKET, {}, ["runai_streamer"]),
        ("runai-streamer", HUB, ENGINE, ["runai_streamer"]),
        ("fastsafetensors", HUB, ENGINE, ["fastsafetensors"]),
        ("fastsafetensors", BUCKET, {}, ["fastsafetensors"]),
    ],
)
def test_a_loader_is_a_load_format(kind, model, storage, expected):
    assert formats(model=model, engine={"load": {"type": kind}}, **storage) == expected


def test_a_flag_of_the_user_wins_over_the_default_of_a_bucket():
    arguments = {"engine": {"args": ["--load-format=modelexpress"]}}
    assert formats(model=BUCKET, **ENGINE, **arguments) == ["modelexpress"]


def test_a_role_may_have_another_loader():
    service = {"model": HUB, "prefill": {"engine": {"load": {"type": "runai-streamer"}}}}
    templates = model_servers(rendered(tree(qwen=service)))
    assert sorted("--load-format=runai_streamer" in engine(each)["args"] for each in templates) == [False, True]


NPU = {"vendor": "huawei", "allocation": {"type": "extended-resource", "resourceName": "huawei.com/Ascend910"}}


def test_devices_of_an_unknown_vendor_may_have_any_loader():
    service = {
        "model": HUB,
        "accelerator": "npu",
        "engine": {"image": "registry.example/vllm-openai:v0.30.0", "load": {"type": "fastsafetensors"}},
    }
    stack = tree(qwen=service) | {"accelerators": {"npu": NPU}}
    assert planning.plan(load(stack), NAME)


@pytest.mark.parametrize(
    ("service", "message"),
    [
        (
            {"model": BUCKET, **ENGINE, "engine": {"load": {"type": "fastsafetensors"}}},
            (
                "engine.load: does not open this source (fastsafetensors, s3://); "
                "use runai-streamer, or another storage.type"
            ),
        ),
        (
            {"accelerator": "cpu", "engine": {"load": {"type": "fastsafetensors"}}},
            "engine.load: needs devices of amd or nvidia (fastsafetensors, cpu); remove it, or use another accelerator",
        ),
        (
            {"engine": {"load": {"type": "runai-streamer"}, "args": ["--load-format=auto"]}},
            "engine.args[0]: repeats a field (--load-format); remove it, or remove engine.load",
        ),
        (
            {"engine": {"type": "custom", "image": "registry.example/e:v1", "load": {"type": "runai-streamer"}}},
            (
                "engine.load: does not reach a custom engine (runai-streamer); "
                "remove it, and write the engine's own flag in engine.args"
            ),
        ),
    ],
)
def test_a_loader_that_cannot_work_is_refused(service, message):
    assert refused(**service) == [f"services.qwen.{message}"]
