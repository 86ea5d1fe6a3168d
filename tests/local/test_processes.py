"""Processes are told apart from later ones, found by their mark, and ended."""

import os
import shutil
import subprocess
import sys
import uuid

import pytest

from local import processes
from local.processes import Process


@pytest.fixture
def child():
    running = subprocess.Popen(["sleep", "60"], env={"MARK": f"value {uuid.uuid4()}"})
    yield running
    running.kill()
    running.wait()


def test_a_process_is_alive_until_it_ends(child):
    process = Process.of(child.pid)
    assert process.alive()
    assert not Process(process.pid, process.started + 1, process.boot).alive()
    assert not Process(process.pid, process.started, "another boot").alive()
    child.kill()
    assert child.wait() < 0
    assert not process.alive()
    assert Process.of(child.pid) is None


def test_a_process_is_found_by_its_mark(child):
    sleeping = Process.of(child.pid)
    while sleeping not in (marked := processes.find_marked("MARK")):
        assert child.poll() is None
    assert marked[sleeping].startswith("value ")
    assert [*processes.find_marked("MARK", marked[sleeping])] == [sleeping]
    assert processes.find_marked("MARK", "another") == {}


def test_a_process_is_found_by_its_program_and_by_its_libraries(tmp_path):
    directory = tmp_path / "environment"
    directory.mkdir()
    link = tmp_path / "link"
    link.symlink_to(directory)
    (directory / "sleep").symlink_to(shutil.which("sleep"))
    library = directory / "library.so"
    library.write_bytes(bytes(4096))
    mapping = (
        "import mmap, sys; file = open(sys.argv[1]); memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ); "
        "print('mapped', flush=True); input()"
    )
    with (
        subprocess.Popen([link / "sleep", "600"]) as program,
        subprocess.Popen(
            [sys.executable, "-c", mapping, os.path.relpath(library, tmp_path)],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as user,
    ):
        try:
            assert user.stdout.readline() == b"mapped\n"
            pids = {process.pid for process in processes.find_users(link)}
        finally:
            program.kill()
            user.kill()
    assert pids == {program.pid, user.pid}
    assert processes.find_users(link) == []


def test_the_memory_of_a_process_is_that_which_its_end_frees():
    program = "text = bytearray(50_000_000); print('ready', flush=True); input()"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"ready\n"
        process = Process.of(running.pid)
        assert 45 < process.megabytes() < 100
        running.communicate(b"\n")
    assert process.megabytes() == 0


def test_a_process_that_ignores_the_signal_is_killed():
    stubborn = subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"], stdout=subprocess.PIPE
    )
    assert stubborn.stdout.readline() == b"ready\n"
    processes.end([Process.of(stubborn.pid)], grace=0.2)
    assert stubborn.wait() == -9


def test_a_command_is_tied_unless_it_shall_outlive_its_parent():
    command = processes.tied_command(["true"])
    assert command[-2:] == [str(os.getpid()), "true"]
    assert processes.tied_command(["true"], tied=False) == ["true"]
