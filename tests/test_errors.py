"""Every mistake a user can make is a file here, beside the exact message that they see."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.render import render
from models.problems import ConfigError

CASES = sorted(Path("tests/errors").glob("*.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_mistake_has_its_message(case, golden):
    with pytest.raises(ConfigError) as error:
        render(str(case), None)
    golden(case.with_suffix(".txt"), f"{error.value}\n")


def test_five_mistakes_are_five_lines_without_a_traceback_and_exit_code_2():
    command = [sys.executable, "-m", "cli", "render", "tests/errors/five-mistakes.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == Path("tests/errors/five-mistakes.txt").read_text(encoding="utf-8")
    assert len(done.stderr.splitlines()) == 5


def test_no_message_repeats_a_credential():
    assert all("hunter2" not in case.with_suffix(".txt").read_text(encoding="utf-8") for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_every_line_of_a_message_says_where_and_what_is_wrong_and_what_would_be_right(case):
    lines = case.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    assert lines
    assert len(set(lines)) == len(lines)
    for line in lines:
        assert re.fullmatch(r"\S(.*\S)?: \S.*\S; \S.*\S", line), line
        assert not re.search(r"Traceback|pydantic|None|\(\)", line), line


def test_no_message_is_left_without_its_mistake():
    assert sorted(Path("tests/errors").glob("*.txt")) == [case.with_suffix(".txt") for case in CASES]
