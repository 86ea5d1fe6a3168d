"""The reader of outputs, as a program has it that copied it."""

import importlib.util
import json
from pathlib import Path

import pytest

from cli import schema
from planning.ground import contract
from tests.support.stacks.varied_outputs import varied

READER = Path("reader/inference_stacks_outputs.py")


def reader():
    """Load the reader as a program would that has copied it: without this project."""
    spec = importlib.util.spec_from_file_location("copied", READER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reader_needs_the_standard_library_alone():
    lines = [line for line in READER.read_text(encoding="utf-8").splitlines() if line.startswith(("import", "from"))]
    assert lines == ["from collections.abc import Mapping", "from typing import Any"]
    assert reader().VERSION == contract.VERSION
    assert {*reader().NAMES} == {*schema.KINDS["outputs"]()["properties"]}


def test_the_reader_reads_what_the_engine_hands_over():
    found = varied()
    assert (found["services"]["qwen"]["model"]["digest"], found["services"]["qwen"]["canary"]["weight"]) == (None, 10)
    fractions = json.loads(json.dumps(found), parse_int=float)
    read = reader().read(fractions | {"later": 1}, "organization/inference-stacks/prod")
    assert read == found
    assert type(read["services"]["qwen"]["canary"]["weight"]) is int
    assert reader().service(read, "qwen")["name"] == "qwen"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"contractVersion": None}, "prod has no output contractVersion; name a stack of Inference Stacks on which"),
        ({"contractVersion": "2"}, "prod has a contractVersion that is no number; name a stack of Inference Stacks"),
        ({"contractVersion": 1.0}, "prod follows version 1 of the contract, but this file reads version 2; deploy"),
        (
            {"contractVersion": 3},
            "prod follows version 3 of the contract, but this file reads version 2; use the newer",
        ),
        ({"services": None}, "prod lacks outputs (services); run `pulumi up` on it again"),
    ],
)
def test_the_reader_tells_what_to_do_about_another_contract(changed, message):
    copied = reader()
    with pytest.raises(copied.ContractError) as error:
        copied.read(varied() | changed, "prod")
    assert str(error.value).startswith(message)


def test_the_reader_tells_which_services_there_are():
    copied = reader()
    with pytest.raises(copied.ContractError, match="prod has no service llama; it has bert, cpu, qwen"):
        copied.service(varied(), "llama", "prod")
