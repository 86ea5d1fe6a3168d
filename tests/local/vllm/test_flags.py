"""Flags of vLLM's command line are read in every spelling, as the project's own parser reads them."""

import pytest

from local.vllm import command, flags
from models import flags as models_flags

ARGUMENTS = [
    "/models",
    "--a_b=1",
    "--c_d",
    "2",
    "--e.f_g=3",
    "--h.i",
    "4",
    "-tp",
    "2",
    "--switch",
    '--j={"k_l": "m=n"}',
]


def test_flags_are_those_of_the_projects_parser():
    expected = [row.tokens for row in models_flags.parse(ARGUMENTS)]
    parsed = flags.parse(ARGUMENTS)
    assert [row.tokens for row in parsed] == expected
    assert [row.name for row in parsed] == ["", "--a-b", "--c-d", "--e", "--h", "-tp", "--switch", "--j"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--kv_cache_dtype=fp8"], "--kv-cache-dtype=fp8"),
        (["--kv-cache-dtype", "fp8"], "--kv-cache-dtype=fp8"),
        (["--lora-modules", "a=/b", "c=/d"], "--lora-modules=a=/b c=/d"),
    ],
)
def test_spellings_of_a_flag_have_one_text(arguments, text):
    (flag,) = flags.parse(arguments)
    assert flag.text == text


def test_a_row_of_the_table_has_its_aliases():
    (row,) = (row for row in command.table()["simulated"] if row.get("flag") == "--speculative-config")
    assert flags.names(row) >= {"--speculative-config", "-sc", "--spec-method"}
