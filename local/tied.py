"""Run a command that ends when its parent ends: `tied.py PARENT COMMAND…`.

The signal is set before the command replaces this program, so no code of the parent runs between fork and exec.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent ended before its child began")
os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - the command is an argument list
