"""Flags of SGLang are read from calls, and from annotated fields."""

import pytest

from upstream import sglang

CALLS = """
parser.add_argument("--model-path", "--model", type=str)
parser.add_argument("--tensor-parallel-size", "--tp-size")
parser.add_argument("--port")
"""
FIELDS = """
class Fields:
    disaggregation_mode: A[str, "help"] = "null"
    pg_size: A[int, Arg(help="help", cli_name="--page-size", aliases=["--pages"])] = 1
    text: A[str, f"{1} help"] = ""
    hidden: A[bool, Arg(help="help", no_cli=True)] = False
    plain: int = 1
    bare: A[int, NS("parallel")] = 1
"""


def test_calls_and_annotated_fields_are_flags():
    flags = sglang.read({sglang.ARGUMENTS: CALLS.encode(), sglang.FIELDS[0]: FIELDS.encode()})
    calls = {"--model-path", "--model", "--tensor-parallel-size", "--tp-size", "--port"}
    assert flags == calls | {"--disaggregation-mode", "--page-size", "--pages", "--text"}


def test_files_without_the_flags_of_every_version_are_refused():
    with pytest.raises(ValueError, match="lack flags"):
        sglang.read({sglang.ARGUMENTS: CALLS.encode()})
