"""Program that runs a command, and makes the kernel kill the command when the parent of this program ends.

The command line is `tied.py PARENT COMMAND…`. PARENT is the parent's pid. This program requests the kill signal, and
then becomes the command (`execv`). Therefore, the parent needs no code between fork and exec.
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
