"""Files that a configuration or a command names are regular files of bounded size, in the repository."""

import json
import os
import threading
from pathlib import Path

import pytest

from facts import base_files, catalogue_files, facts_file, platform_file, regular_files, repository
from facts.lock_file import LockFile
from facts.regular_files import UnreadableError
from models.paths import Path as ConfigPath
from models.problems import ConfigError
from planning.ground.cluster_facts import ClusterFacts, Served, Unknown
from planning.ground.marks import Identity
from tests.support.stacks import NAME

SECRET = "topsecret value"
IDENTITY = Identity(NAME)


@pytest.fixture
def project(tmp_path):
    """Make a repository with a program in a folder, and a file with a secret outside of the repository."""
    program = tmp_path / "repository" / "program"
    program.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    (tmp_path / "repository" / "shared.yaml").write_text("labels: {a: b}\n")
    (tmp_path / "outside.yaml").write_text(f"labels: {{a: {SECRET}}}\n")
    return program


def reason(path, **options):
    with pytest.raises(UnreadableError) as error:
        regular_files.text(path, 100, **options)
    return str(error.value)


def test_what_is_no_regular_file_is_never_opened(tmp_path):
    """See defects H17."""
    os.mkfifo(tmp_path / "fifo")
    assert reason(Path("/dev/zero")) == reason(tmp_path / "fifo") == "is not a regular file"
    assert reason(Path("/dev/zero"), pipe=True) == "is not a regular file"
    assert reason(tmp_path) == "cannot be read (Is a directory)"
    assert reason(tmp_path / "absent") == "cannot be read (No such file or directory)"
    assert reason(tmp_path / "nul\0") == "is no path"
    (tmp_path / "loop").symlink_to("loop")
    assert reason(tmp_path / "loop") == "cannot be read (Too many levels of symbolic links)"


def test_a_large_file_is_refused(tmp_path):
    """See defects H17."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100)
    assert regular_files.text(file, 100) == "x" * 100
    file.write_bytes(b"x" * 101)
    assert reason(file).startswith("is larger than ")
    os.truncate(file, 2**40)
    assert reason(file).startswith("is larger than ")


def test_ends_of_lines_are_those_of_unix(tmp_path):
    (tmp_path / "file").write_bytes("a\r\nb\rc\né".encode())
    assert regular_files.text(tmp_path / "file", 100) == "a\nb\nc\né"
    (tmp_path / "file").write_bytes(b"\xff")
    assert reason(tmp_path / "file") == "is not UTF-8"


def test_a_command_reads_a_pipe_and_does_not_wait_for_a_writer(tmp_path):
    """See defects H17."""
    os.mkfifo(tmp_path / "fifo")
    assert regular_files.text(tmp_path / "fifo", 100, pipe=True) == ""
    reader, writer = os.pipe()
    thread = threading.Timer(0.05, lambda: (os.write(writer, b"content"), os.close(writer)))
    thread.start()
    assert regular_files.text(Path(f"/dev/fd/{reader}"), 100, pipe=True) == "content"
    thread.join()
    os.close(reader)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[" * 5000, "is nested too deeply"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "is nested too deeply"),
        ("[" * 101 + "]" * 101, "is nested too deeply"),
        ("{", "is not JSON"),
        ('{"a": NaN}', "is not JSON"),
        ("9" * 5000, "is not JSON"),
        ('["\\ud800"]', "has an escape that is half a character"),
        ('{"\\ude00": 1}', "has an escape that is half a character"),
    ],
    ids=["open", "deep", "levels", "no-json", "constant", "digits", "half", "half-in-a-key"],
)
def test_what_is_wrong_with_json_is_said(tmp_path, text, what):
    """See defects H16."""
    file = tmp_path / "file.json"
    file.write_text(text)
    with pytest.raises(UnreadableError, match=what):
        regular_files.json_value(file)
    facts = facts_file.read(file)
    assert facts.apis == Unknown(f"file.json {what}")
    with pytest.raises(ConfigError, match=rf"^--platform: {what} \(file\.json\); "):
        platform_file.read(file)


def test_json_within_the_limits_is_read(tmp_path):
    file = tmp_path / "file.json"
    file.write_text('["\\ud83d\\ude00", "é"]')
    assert regular_files.json_value(file) == ["😀", "é"]
    file.write_text('{"a": [0, Infinity]}')
    assert regular_files.json_value(file, infinite=True) == {"a": [0, float("inf")]}


@pytest.mark.parametrize(
    "name", ["../../outside.yaml", "link.yaml", "folder/outside.yaml", "../../../../../../../../../../dev/zero"]
)
def test_a_configuration_names_no_file_outside_of_its_repository(project, name):
    """See defects H17."""
    (project / "link.yaml").symlink_to("../../outside.yaml")
    (project / "folder").symlink_to("../..")
    for read in (lambda: base_files.read({"extends": [name]}, project), lambda: catalogue_files.read([name], project)):
        with pytest.raises(ConfigError) as error:
            read()
        (problem,) = error.value.problems
        assert (problem.what, SECRET in str(error.value)) == (f"leads out of the repository ({name})", False)
        assert problem.remedy.startswith("copy the file into the repository, or set INFERENCE_STACKS_ROOT ")
    assert list(base_files.names({"extends": [name]}, project)) == []


def test_a_configuration_names_files_of_its_repository(project, monkeypatch):
    """See defects H17."""
    (project / "link.yaml").symlink_to("../shared.yaml")
    names = ["../shared.yaml", "link.yaml"]
    assert [document.file for document in base_files.read({"extends": names}, project)] == names
    monkeypatch.setenv(repository.VARIABLE, str(project.parent.parent))
    (document,) = base_files.read({"extends": ["../../outside.yaml"]}, project)
    assert document.tree == {"labels": {"a": SECRET}}
    monkeypatch.setenv(repository.VARIABLE, str(project))
    with pytest.raises(ConfigError, match="leads out of the repository"):
        base_files.read({"extends": ["../shared.yaml"]}, project)


def test_without_a_repository_the_folder_of_the_program_is_the_bound(project):
    """See defects H17."""
    (project.parent / ".git").rmdir()
    (project / "own.yaml").write_text("labels: {a: b}\n")
    assert base_files.read({"extends": ["own.yaml"]}, project)
    with pytest.raises(ConfigError, match="leads out of the repository"):
        base_files.read({"extends": ["../shared.yaml"]}, project)


@pytest.mark.parametrize("target", ["../../outside.yaml", "/dev/zero"])
def test_a_lock_lies_in_the_repository(project, target):
    """See defects H17."""
    (project / "inference.dev.lock.yaml").symlink_to(target)
    with pytest.raises(ConfigError) as error:
        LockFile(project).read(IDENTITY)
    assert "leads out of the repository" in str(error.value)
    assert SECRET not in str(error.value)
    with pytest.raises(ConfigError) as error:
        LockFile(project, target).read(IDENTITY)
    assert SECRET not in str(error.value)


def test_an_absent_lock_is_none_and_a_folder_is_no_lock(project):
    assert LockFile(project).read(IDENTITY) is None
    (project / "inference.dev.lock.yaml").mkdir()
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\); restore it from git"):
        LockFile(project).read(IDENTITY)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ({"apis": "abc"}, "apis"),
        ({"apis": {"v1/Service": 1}}, "apis"),
        ({"apis": [1]}, "apis"),
        ({"apis": [], "nodes": [{"name": "a"}]}, "nodes"),
        ({"apis": [], "nodes": "abc"}, "nodes"),
        ({"apis": [], "storage_classes": {"a": "yes"}}, "storage_classes"),
        ({"apis": [], "storage_classes": {"a": 1}}, "storage_classes"),
        ({"apis": [], "secrets": ["ab"]}, "secrets"),
        ({"apis": [], "time": 1, "cluster": None, "version": None}, "time"),
    ],
)
def test_a_facts_file_has_the_types_that_the_command_writes(tmp_path, content, part):
    """See defects H26."""
    file = tmp_path / "facts.json"
    file.write_text(json.dumps(content))
    reason = f"facts.json holds no facts of a cluster (wrong type below {part})"
    assert facts_file.read(file).apis == Unknown(reason)
    with pytest.raises(ConfigError) as error:
        facts_file.from_option(str(file), "--facts")
    (problem,) = error.value.problems
    assert (problem.path, problem.what) == (ConfigPath("--facts"), reason)


def test_a_facts_file_of_a_later_version_is_read(tmp_path):
    file = tmp_path / "facts.json"
    file.write_text(json.dumps({"apis": ["v1/Service"], "later": 1}))
    assert facts_file.read(file).apis == Served(frozenset({"v1/Service"}))
    assert isinstance(facts_file.read(file), ClusterFacts)
