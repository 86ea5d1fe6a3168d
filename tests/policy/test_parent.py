"""A process that follows its parent ends soon after it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from local.processes import Process

CHILD = "import time; from policy import parent; parent.follow(); print('up', flush=True); time.sleep(600)"
START = f"import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {CHILD!r}])"
PARENT = f"{START}; print(child.pid); child.wait()"


def test_a_process_ends_when_its_parent_is_killed():
    command = [sys.executable, "-u", "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as parent:
        pid, up = (parent.stdout.readline().strip() for _ in range(2))
        if pid == "up":
            pid, up = up, pid
        child = Process.of(int(pid))
        assert up == "up"
        assert child is not None
        os.kill(parent.pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while child.alive():
        assert time.monotonic() < deadline
        time.sleep(0.05)
