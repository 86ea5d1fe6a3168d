"""The command that prints what models take: of a stack, and of a model without one."""

import json
from pathlib import Path

import pytest
import yaml

from cli import fit
from models.problems import ConfigError
from tests.support import commands
from tests.support.stacks import tree

CONFIGS = json.loads(Path("tests/planning/fit/configs.json").read_text(encoding="utf-8"))


@pytest.fixture
def run(capsys):
    """Return a function that runs the command, and returns its output and its exit code."""

    def printed(*arguments):
        code = commands.run(fit, *map(str, arguments))
        return capsys.readouterr().out, code

    return printed


def file(tmp_path, **services):
    """Write a stack, which refuses what does not fit, and return its path."""
    stack = {**tree(**services), "checks": {"fit": "strict"}}
    path = tmp_path / "Pulumi.fit.yaml"
    path.write_text(yaml.safe_dump({"config": {"inference-stacks:stack": stack}}), encoding="utf-8")
    return str(path)


SMALL = {"model": {"source": "hf://Qwen/Qwen3-8B", "maxModelLen": 8192}, "accelerator": "nvidia-l40s"}
LARGE = {"model": {"source": "hf://Qwen/Qwen3-235B-A22B"}, "accelerator": "nvidia-l40s"}


def test_a_stack_has_a_line_for_each_role(run, tmp_path):
    both = {**SMALL, "prefill": {}}
    text, code = run(file(tmp_path, both=both))
    assert [line.split()[0] for line in text.splitlines()[1:3]] == ["both", "both.prefill"]
    assert all(line.endswith("fits") for line in text.splitlines()[1:3])
    assert code == 0


def test_what_does_not_fit_ends_with_one_even_where_a_run_refuses_it(run, tmp_path):
    text, code = run(file(tmp_path, large=LARGE, small=SMALL))
    assert code == 1
    large, small = text.splitlines()[1:3]
    assert large.endswith("does not fit")
    assert not small.endswith("does not fit")


def test_what_is_unknown_is_listed_with_the_reason(run, tmp_path):
    unknown = {**SMALL, "model": {"source": "hf://org/m"}}
    text, code = run(file(tmp_path, unknown=unknown))
    assert text.startswith("? unknown: the architecture of the model is unknown; ")
    assert code == 0


def test_a_model_needs_no_stack(run):
    text, code = run("--model", "Qwen/Qwen3-8B", "--class", "nvidia-l4")
    assert text.splitlines()[0] == "Qwen/Qwen3-8B"
    assert text.splitlines()[3].startswith("2 × nvidia-l4 ")
    assert code == 0
    every, _ = run("--model", "meta-llama/Meta-Llama-3.1-405B")
    assert "8 × amd-mi300x" in every
    assert "The model fits no node of these classes: " in every


def test_a_config_json_is_read_with_a_size_and_a_context(run, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIGS["Qwen/Qwen3-32B"]["config"]), encoding="utf-8")
    text, _ = run("--model", path, "--size", "62Gi", "--context", 16000, "--class", "nvidia-h100-80gb")
    assert text.splitlines()[3].split()[:4] == ["1", "×", "nvidia-h100-80gb", "62.0Gi"]
    assert " 16000 " in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "fit: needs a stack or --model; write exactly one of the two"),
        (("s", "--model", "m"), "fit: needs a stack or --model; write exactly one of the two"),
        (
            ("--model", "org/m"),
            (
                "--model: is unknown (org/m); name the path of the model's config.json, "
                "or a repository that planning/fit/models.yaml lists"
            ),
        ),
        (("--model", "nowhere.json"), "--model: cannot be read (No such file or directory); name a config.json"),
        (("--model", "Qwen/Qwen3-1.7B"), "--model: has weights of unknown size; add --size, such as --size 16Gi"),
        (
            ("--model", "Qwen/Qwen3-8B", "--class", "nvidia-l41"),
            "--class: unknown class (nvidia-l41); use nvidia-l4",
        ),
        (
            ("--model", "Qwen/Qwen3-8B", "--class", "nvidia"),
            "--class: names a class without known memory; name the class of a product",
        ),
        (
            ("--model", "zai-org/GLM-4.5", "--class", "nvidia-h200"),
            "--model: has a context of unknown length; add --context, such as --context 32768",
        ),
    ],
)
def test_a_mistake_is_told(run, arguments, message):
    with pytest.raises(ConfigError) as raised:
        run(*arguments)
    assert str(raised.value) == message


def test_a_family_that_nobody_knows_is_told(run, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**CONFIGS["Qwen/Qwen3-8B"]["config"], "model_type": "novel"}), encoding="utf-8")
    with pytest.raises(ConfigError, match="the cache of models of the family novel is unknown"):
        run("--model", path, "--size", "16Gi")


def test_the_command_line_takes_a_model_and_a_class(capsys):
    command = ("fit", "--model", "Qwen/Qwen3-8B", "--class", "nvidia-l40s")
    end = commands.ended(capsys, *command)
    assert end.code == 0
    assert "1 × nvidia-l40s" in end.output
    wrong = commands.ended(capsys, *command, "--size", "big")
    assert wrong.code == 2
    assert "invalid" in wrong.errors
