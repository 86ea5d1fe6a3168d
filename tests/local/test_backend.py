"""A state in a folder is read in either form, and what a killed run leaves of it is repaired."""

import datetime as dt
import gzip
import io
import json
import os

import pytest

from local.backend import Folder
from local.errors import LocalError
from local.report import Report
from tests.support.locks import dead_pid, lock

STATE = {"version": 3, "checkpoint": {"latest": {"resources": [{"urn": "one"}]}}}
FORMS = {"dev.json": bytes, "dev.json.gz": gzip.compress}
"""Names of the file of a state, each with what makes its content of the text."""


@pytest.fixture
def output():
    return io.StringIO()


@pytest.fixture
def recover(tmp_path, output):
    return lambda: Folder(tmp_path).recover("engine-test", "dev", Report(output))


@pytest.fixture(params=FORMS)
def checkpoint(request, tmp_path):
    """Return the file of a state."""
    path = tmp_path / ".pulumi/stacks/engine-test" / request.param
    path.parent.mkdir(parents=True)
    path.write_bytes(content(path))
    return path


def content(path, state=STATE):
    return FORMS[path.name](json.dumps(state).encode())


def damaged(path):
    """Return contents of a file that a killed run has written in part."""
    whole = content(path)
    return b"", whole[: len(whole) // 2], whole[:-1]


def test_the_newest_deployment_is_read_in_either_form(checkpoint, tmp_path):
    backend = Folder(tmp_path)
    assert backend.latest("engine-test", "dev") == STATE["checkpoint"]["latest"]
    assert backend.latest("engine-test", "another") is None
    for part in damaged(checkpoint):
        checkpoint.write_bytes(part)
        assert backend.latest("engine-test", "dev") == {}


def test_a_state_is_compressed_unless_the_folder_has_one_that_is_not(checkpoint, tmp_path):
    compressed = str(checkpoint.suffix == ".gz").lower()
    assert Folder(tmp_path).environment() == {
        "PULUMI_BACKEND_URL": f"file://{tmp_path}",
        "PULUMI_DIY_BACKEND_GZIP": compressed,
    }


def test_a_damaged_state_is_replaced_by_its_backup(checkpoint, recover, output):
    backup = checkpoint.with_name(f"{checkpoint.name}.bak")
    backup.write_bytes(content(checkpoint, {"version": 3, "checkpoint": {}}))
    for part in damaged(checkpoint):
        checkpoint.write_bytes(part)
        recover()
        assert checkpoint.read_bytes() == backup.read_bytes()
    assert output.getvalue().count("was damaged") == 3


def test_a_state_that_a_killed_run_only_moved_away_comes_back(checkpoint, recover, tmp_path):
    checkpoint.rename(checkpoint.with_name(f"{checkpoint.name}.bak"))
    recover()
    assert Folder(tmp_path).latest("engine-test", "dev") == STATE["checkpoint"]["latest"]


@pytest.mark.parametrize("newer", FORMS)
def test_of_two_forms_the_newer_one_is_the_state(newer, tmp_path):
    folder = tmp_path / ".pulumi/stacks/engine-test"
    folder.mkdir(parents=True)
    for name in FORMS:
        path = folder / name
        path.write_bytes(content(path, {"version": 3, "checkpoint": {"latest": {"form": name}}}))
        os.utime(path, (100, 200 if name == newer else 100))
    assert Folder(tmp_path).latest("engine-test", "dev") == {"form": newer}


def test_a_damaged_state_without_a_sound_backup_is_refused(checkpoint, recover):
    checkpoint.write_bytes(b"")
    with pytest.raises(LocalError, match="and its backup are damaged"):
        recover()


def test_attributes_that_a_killed_run_left_half_written_are_removed(checkpoint, recover):
    attributes = checkpoint.with_name(f"{checkpoint.name}.attrs")
    attributes.write_text("")
    recover()
    assert not attributes.exists()
    assert checkpoint.exists()


def test_a_lock_of_another_host_is_refused(tmp_path, recover):
    path = lock(tmp_path, hostname="elsewhere", pid=dead_pid())
    with pytest.raises(LocalError, match=r"locked by process \d+ on elsewhere"):
        recover()
    assert path.exists()


def test_a_lock_of_a_living_process_is_refused_and_names_it(tmp_path, recover):
    path = lock(tmp_path)
    with pytest.raises(LocalError, match=f"locked by process {os.getpid()}, which is still running"):
        recover()
    assert path.exists()


def test_a_lock_of_a_dead_process_of_this_host_is_broken_and_said_so(tmp_path, recover, output):
    path = lock(tmp_path, pid=dead_pid())
    recover()
    assert not path.exists()
    assert "removed the lock of process" in output.getvalue()


def test_a_lock_whose_pid_now_belongs_to_a_later_process_is_broken(tmp_path, recover):
    path = lock(tmp_path, timestamp=dt.datetime(2020, 1, 1, tzinfo=dt.UTC).isoformat())
    recover()
    assert not path.exists()


def test_a_lock_that_cannot_be_read_is_left_and_named(tmp_path, recover):
    path = lock(tmp_path)
    path.write_text("{")
    with pytest.raises(LocalError, match="cannot be read"):
        recover()
    assert path.exists()
