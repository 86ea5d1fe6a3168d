"""Locks of stacks in a folder, as the engine writes them."""

import datetime as dt
import json
import os
import socket
import subprocess
import uuid
from pathlib import Path


def lock(folder: Path, **changes: object) -> Path:
    """Write the lock of a run, by default of this process, into the folder of a backend."""
    fields = {
        "pid": os.getpid(),
        "username": "somebody",
        "hostname": socket.gethostname(),
        "timestamp": dt.datetime.now(dt.UTC).isoformat(),
        **changes,
    }
    path = folder / ".pulumi/locks/organization/engine-test/dev" / f"{uuid.uuid4()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(fields))
    return path


def dead_pid() -> int:
    """Return the id of a process that has ended."""
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid
