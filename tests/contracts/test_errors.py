"""Every mistake a user can make is a case, beside the exact message that they see."""

import re

import pytest

import planning
from composition import Given, selecting
from composition.sources import Sources
from models.load import load
from models.problems import ConfigError
from planning.ground.cluster_facts import NOTHING_READ
from tests.contracts import mistakes
from tests.support.commands import ended, rendering
from tests.support.stacks import NAME

SECTIONS = list(mistakes.sections())
CASES = sorted(
    [case for section in SECTIONS for case in section.cases] + [*map(mistakes.Written, mistakes.SYNTAX.glob("*.yaml"))],
    key=lambda case: case.name,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("errors")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mistake_has_its_message(case, folder, golden):
    with pytest.raises(ConfigError) as error, case.beside(folder):
        rendering(case.stack_file(folder), *(["--platform", "platform.json"] if case.has_platform else []))
    golden(case.file, case.file_with(f"{error.value}\n"))


def test_five_mistakes_are_five_lines_without_a_traceback_and_exit_code_2(folder, capsys):
    case = next(case for case in CASES if case.name == "five-mistakes")
    assert ended(capsys, "render", str(case.stack_file(folder))) == (2, "", case.message)
    assert len(case.message.splitlines()) == 5


def test_no_message_repeats_a_credential():
    assert all("hunter2" not in case.message for case in CASES)


def test_every_line_of_a_message_says_where_and_what_is_wrong_and_what_would_be_right():
    messages = {case.name: case.message.splitlines() for case in CASES}
    assert [name for name, lines in messages.items() if not lines or len(set(lines)) < len(lines)] == []
    for name, line in ((name, line) for name, lines in messages.items() for line in lines):
        assert re.fullmatch(r"\S(.*\S)?: \S.*\S; \S.*\S", line), (name, line)
        assert not re.search(r"Traceback|pydantic|None|\(\)", line), (name, line)


def test_no_message_is_left_without_its_mistake():
    pairs = [(path.with_suffix(".txt"), path) for path in mistakes.SYNTAX.glob("*.yaml")]
    assert sorted(mistakes.SYNTAX.iterdir()) == sorted(file for pair in pairs for file in pair)
    assert sorted(mistakes.ERRORS.iterdir()) == sorted([*(section.path for section in SECTIONS), mistakes.SYNTAX])


def test_no_two_cases_have_one_name():
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_base_of_a_section_has_a_case():
    assert [s.path for s in SECTIONS if set(s.bases) != {case.base for case in s.cases}] == []


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.path.stem)
def test_no_base_of_a_section_has_a_mistake(section):
    for base in section.bases.values():
        found = selecting.select(base, Sources(), None, NAME.stack, Given(NOTHING_READ))
        assert planning.plan(load(base, (), (), found.layers), NAME)
