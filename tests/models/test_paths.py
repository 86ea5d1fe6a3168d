"""Places in a configuration as values."""

import copy
import pickle

import pytest

from models.paths import Path
from models.problems import Problem, errors, warning, warnings

ARGUMENT = Path("services", "qwen", "engine", "args", 2)


def test_a_path_reads_as_users_write_it():
    assert str(ARGUMENT) == f"{ARGUMENT}" == "services.qwen.engine.args[2]"
    assert str(Path()) == ""


def test_a_path_grows_by_a_part_and_has_what_is_above():
    assert Path("services") / "qwen" / "engine" / "args" / 2 == ARGUMENT
    assert ARGUMENT.parent == Path("services", "qwen", "engine", "args")
    assert ARGUMENT.below(Path("services", "qwen")) == Path("engine", "args", 2)


@pytest.mark.parametrize(
    ("top", "within"),
    [
        (Path(), True),
        (Path("services", "qwen"), True),
        (ARGUMENT, True),
        (ARGUMENT / "more", False),
        (Path("services", "qw"), False),
        (Path("services", "qwen", "engine", "args", 20), False),
    ],
)
def test_a_path_is_within_itself_and_what_is_above(top, within):
    assert ARGUMENT.is_within(top) is within


def test_paths_of_one_text_are_told_apart_by_their_parts():
    qualified, other = Path("labels", "llm-d.ai/role"), Path("labels", "llm-d", "ai/role")
    assert str(qualified) == str(other)
    assert qualified != other
    assert not qualified.is_within(Path("labels", "llm-d"))


def test_paths_are_sorted_as_they_read():
    paths = [Path("a", "b"), Path("a-b"), Path("a", 10), Path("a", 9), Path("a")]
    assert [str(path) for path in sorted(paths)] == sorted(map(str, paths))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda path: pickle.loads(pickle.dumps(path))])
def test_a_copied_path_is_the_same(copied):
    assert copied(ARGUMENT) == ARGUMENT
    assert str(copied(ARGUMENT)) == str(ARGUMENT)


def test_a_problem_says_what_it_has():
    assert str(Problem(ARGUMENT, "is no flag", "remove it")) == "services.qwen.engine.args[2]: is no flag; remove it"
    assert str(warning(Path("canary"), "its pods idle")) == "canary: its pods idle"
    assert str(warning(Path(), "nothing was checked")) == "nothing was checked"


def test_what_stops_a_run_is_told_from_what_does_not():
    mistake, hint = Problem(ARGUMENT, "is no flag", "remove it"), warning(ARGUMENT, "is deprecated")
    assert (errors([mistake, hint]), warnings([mistake, hint])) == ([mistake], [hint])
