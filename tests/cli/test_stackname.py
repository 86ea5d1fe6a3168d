"""The name of a stack that no engine runs: from the project file, the stack file or the command."""

from pathlib import Path

import pytest

from cli import stackname
from models.problems import ConfigError
from planning.ground.marks import StackName
from tests.support.commands import rendering

REMEDY = "give project and stack with --as, such as --as inference-stacks/prod"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: chat\nruntime: python\n")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "explicit", "expected"),
    [
        ("Pulumi.prod.yaml", None, "organization/chat/prod"),
        ("stacks/deep/prod.yaml", None, "organization/chat/prod"),
        ("Pulumi.prod-eu.1.yaml", None, "organization/chat/prod-eu.1"),
        ("Pulumi.prod.yaml", "search/blue", "organization/search/blue"),
        ("Pulumi.prod.yaml", "acme/search/blue", "acme/search/blue"),
    ],
)
def test_a_stack_is_called_as_its_files_or_the_command_say(folder, file, explicit, expected):
    assert str(stackname.of(folder / file, explicit)) == expected


def test_a_file_outside_of_every_project_is_of_the_project_in_the_working_directory(tmp_path):
    assert stackname.of(tmp_path / "trial.yaml", None) == StackName("organization", "inference-stacks", "trial")


@pytest.mark.parametrize("explicit", ["prod", "a/b/c/d", "a b/c", "/b", ""])
def test_a_name_that_pulumi_would_not_take_is_refused(explicit):
    with pytest.raises(ConfigError) as error:
        stackname.of(Path("Pulumi.dev.yaml"), explicit)
    assert str(error.value) == f"--as: is not the name of a stack ({explicit}); {REMEDY}"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("name: [", ":1: is not valid YAML (expected the node content, but found '<stream end>'); correct that line"),
        (f"name: {'[' * 5000}", ": is nested too deeply; write at most 100 levels"),
        ("runtime: python", f": does not name the project; {REMEDY}"),
    ],
    ids=["no-yaml", "deep", "nameless"],
)
def test_a_project_file_without_a_name_is_told(folder, content, what):
    """See defects H16."""
    (folder / "Pulumi.yaml").write_text(content)
    with pytest.raises(ConfigError) as error:
        stackname.of(folder / "Pulumi.prod.yaml", None)
    assert str(error.value) == f"{folder / 'Pulumi.yaml'}{what}"


def test_the_absence_of_a_project_file_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as error:
        stackname.of(Path("prod.yaml"), None)
    assert str(error.value) == f"Pulumi.yaml: is neither above prod.yaml nor in the working directory; {REMEDY}"


def test_the_command_marks_objects_as_it_is_told():
    printed = rendering("dev", "--as", "acme/search/blue")
    assert printed.count("inference-stacks.io/stack: acme/search/blue") == printed.count("\n---\n")
