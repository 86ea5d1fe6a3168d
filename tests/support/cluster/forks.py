"""Programs that language hosts call in the place of Python: one starts it, the other forks it."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from local import processes
from tests.support.cluster import fork_server
from tests.support.cluster.fork_client import EXECUTOR

LISTING = ("-m", "pip", "list", "-v", "--format", "json")
CLIENT = Path(fork_server.__file__).with_name("fork_client.py")
SERVERS = ("a", "b")
"""Names of the servers, which differ in the seed of their hashes."""


@pytest.fixture(scope="session")
def plain_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program that is Python, but knows what `pip list` answers: asking it takes a second of every run.

    The language host asks for the packages that come with a provider.
    """
    directory = tmp_path_factory.mktemp("plain-python")
    listed = [sys.executable, *LISTING]
    (directory / "listed").write_bytes(subprocess.run(listed, capture_output=True, check=True).stdout)
    return _script(
        directory / "python",
        f"""[ "$*" = "{" ".join(LISTING)}" ] && exec cat "{directory / "listed"}"
exec "{sys.executable}" "$@"
""",
    )


@pytest.fixture(scope="session")
def packages(plain_python: Path) -> Iterator[Path]:
    """Return a program that is `plain_python`, but has imported the deployment program: that takes a second, too."""
    with forking(plain_python) as program:
        yield program


@contextlib.contextmanager
def forking(python: Path) -> Iterator[Path]:
    """Run fork servers, and return a program that lets them run what they have imported; `python` runs all else."""
    environment = {"PATH": os.defpath, fork_server.MARK: "-" * fork_server.LONGEST_MARK}
    with contextlib.ExitStack() as ends:
        # The path of a socket has at most 107 bytes, which folders of tests nearly have.
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        for name in SERVERS:
            _start(folder / f"{name}.socket", environment, ends)
        yield _script(
            folder / "python",
            f"""case "$1" in
  */{EXECUTOR}) exec "{sys.executable}" -I -S "{CLIENT}" "{folder}" "{python}" "$@" ;;
  *) exec "{python}" "$@" ;;
esac
""",
        )


def _start(path: Path, environment: Mapping[str, str], ends: contextlib.ExitStack) -> None:
    """Start a fork server, and wait until it listens."""
    command = processes.tied_command([sys.executable, fork_server.__file__, str(path)])
    server = ends.enter_context(subprocess.Popen(command, env=environment, start_new_session=True))
    ends.callback(server.kill)
    while not path.exists():
        assert server.poll() is None, "a fork server ended before it listened"
        time.sleep(0.05)


def _script(path: Path, lines: str) -> Path:
    path.write_text(f"#!/bin/sh\n{lines}", encoding="utf-8")
    path.chmod(0o755)
    return path
