"""An API server that is slow ends a status in time: the command, with its real deadline."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support.cluster.kubeconfigs import config

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[3]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"


class SlowServer:
    """A server that sends a part of an answer at once, and then a byte now and then, or nothing."""

    def __init__(self, begin, byte):
        self.begin = begin
        self.byte = byte
        self.ended = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(self.begin)
            while not self.ended.wait(0.2):
                connection.sendall(self.byte)

    def end(self):
        self.ended.set()
        self.socket.close()


@pytest.fixture
def servers():
    """Return a server that says nothing, one that trickles, and one that trickles before its status line is whole."""
    begun = [SlowServer(b"", b""), SlowServer(HEAD, b" "), SlowServer(b"HTTP/1.1 200 ", b"x")]
    yield begun
    for server in begun:
        server.end()


def test_a_slow_api_server_is_told_within_twenty_seconds(servers, tmp_path):
    processes = []
    begin = time.monotonic()
    for number, server in enumerate(servers):
        path = tmp_path / f"kubeconfig-{number}"
        path.write_text(json.dumps(config(server.url, {"token": "right"})))
        environment = {**os.environ, "KUBECONFIG": str(path), "COLUMNS": "1000"}
        line = [sys.executable, "-m", "cli", "status"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        processes.append(subprocess.Popen(line, cwd=ROOT, env=environment, **pipes))
    for process in processes:
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (1, "")
        assert "? unknown, because the cluster did not answer within 15 seconds: Deployment, Event, Gateway" in output
    assert time.monotonic() - begin < 20
