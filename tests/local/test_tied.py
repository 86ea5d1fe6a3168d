"""A tied command ends with its parent, and does not begin after its end."""

import subprocess
import sys
import time

from local import processes

PARENT = """
import subprocess, sys
from local import processes
child = subprocess.Popen(processes.tied_command(["/bin/sleep", "60"]))
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_a_tied_command_ends_when_its_parent_is_killed():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child = processes.Process.of(int(parent.stdout.readline()))
    assert child.alive()
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 30
    while child.alive():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_command_whose_parent_has_ended_does_not_begin():
    command = [sys.executable, "-I", "-S", str(processes.TIED), "1", "/bin/echo", "begun"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stdout == ""
    assert "the parent ended before its child began" in result.stderr
