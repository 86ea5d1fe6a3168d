"""Runs of a deployment's program that tests fork: each is a process of the language host's caller, and ends with it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local import processes
from local.engine import PulumiEngine
from tests.support.cluster.fork_client import EXECUTOR, LAYERS, ROOT
from tests.support.cluster.forks import forking

# Two servers take three seconds of a processor, and nothing but real tests uses them.
pytestmark = pytest.mark.real
TELLING = """
import json, os, sys
print(json.dumps({
    "arguments": sys.argv, "folder": os.getcwd(), "variables": dict(os.environ), "seed": hash("seed"),
    "parent": os.getppid(), "first": sys.path[0], "imported": "planning" in sys.modules,
}))
sys.exit(7)
"""
WAITING = "import time; print(flush=True); time.sleep(300)"


@pytest.fixture(scope="module")
def python():
    with forking(Path(sys.executable)) as program:
        yield program


@pytest.fixture
def project(tmp_path):
    for name in LAYERS:
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.fixture
def start(python, project):
    """Start an executor of some lines as the language host does."""

    def start(lines):
        (project / EXECUTOR).write_text(lines, encoding="utf-8")
        command = [str(python), str(project / EXECUTOR), "--pwd", str(project), "."]
        variables = {**os.environ, PulumiEngine.MARK: f"{project}:run", "EMPTY": ""}
        return subprocess.Popen(command, cwd=project, env=variables, stdout=subprocess.PIPE)

    return start


def told(process):
    output, _ = process.communicate()
    return process.returncode, json.loads(output)


def test_a_run_has_arguments_folder_variables_and_exit_code_of_its_own(start, project):
    code, found = told(start(TELLING))
    assert code == 7
    assert found["imported"]
    assert found["arguments"] == [str(project / EXECUTOR), "--pwd", str(project), "."]
    assert found["folder"] == found["first"] == str(project)
    assert found["variables"]["EMPTY"] == ""
    assert found["variables"][PulumiEngine.MARK] == f"{project}:run"


def test_consecutive_runs_differ_in_the_seed_of_their_hashes(start):
    seeds = [told(start(TELLING))[1]["seed"] for _ in range(3)]
    assert seeds[0] == seeds[2] != seeds[1]


def test_a_program_with_another_module_is_imported_anew(start, project):
    (project / "planning").unlink()
    (project / "planning").mkdir()
    code, found = told(start(TELLING))
    assert (code, found["imported"]) == (7, False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_run_has_the_mark_of_its_caller_and_ends_with_it(start, project, number):
    caller = start(WAITING)
    assert caller.stdout.readline() == b"\n"
    marked = processes.find_marked(PulumiEngine.MARK, f"{project}:run")
    assert len(marked) == 2
    caller.send_signal(number)
    caller.wait()
    end = time.monotonic() + 30
    while processes.find_marked(PulumiEngine.MARK, f"{project}:run"):
        assert time.monotonic() < end
        time.sleep(0.05)
    caller.stdout.close()


def test_a_caller_learns_that_its_run_was_killed(start, project):
    caller = start(WAITING)
    assert caller.stdout.readline() == b"\n"
    for process in processes.find_marked(PulumiEngine.MARK, f"{project}:run"):
        if process.pid != caller.pid:
            process.signal(signal.SIGKILL)
    assert caller.wait() == 128 + signal.SIGKILL
    caller.stdout.close()
