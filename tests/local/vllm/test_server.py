"""An engine is started, asked and ended as kubelet does it, and no process of it stays behind."""

import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from local import processes
from local.errors import LocalError
from local.ports import free_ports
from local.vllm import server
from local.vllm.command import EngineCommand
from local.vllm.server import EngineServer, end_marked, limit_seconds, succeeds
from tests.support.cluster import certificates

ADDRESS = "127.0.0.1"
ENGINE = """
import http.server, os, pathlib, signal, subprocess, sys
folder = pathlib.Path(sys.argv[1])
stubborn = [sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"]
worker = subprocess.Popen(stubborn)
(folder / "worker").write_text(str(worker.pid))

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        answer = folder / self.path.strip("/")
        self.send_response(int(answer.read_text()) if answer.exists() else 503)
        self.end_headers()
    def log_message(self, *arguments):
        pass

def stop(*arguments):
    (folder / "stopped").touch()
    worker.kill()
    sys.exit(7)

signal.signal(signal.SIGTERM, stop)
print("(APIServer pid=1) INFO 11-27 22:00:00 [core.py:1] Loading the model", flush=True)
pathlib.Path(os.environ["TMPDIR"], "socket").touch()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"""
OWNER = """
import sys
from pathlib import Path
from local.vllm.command import EngineCommand
from local.vllm.server import EngineServer
EngineServer(EngineCommand(tuple(sys.argv[2:]), {}, (), Path()), Path(sys.argv[1])).start()
print("started", flush=True)
sys.stdin.read()
"""


class HealthyHandler(BaseHTTPRequestHandler):
    """Answer each request with 200."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        """Write no log."""


@pytest.fixture
def port():
    return free_ports(("http",))["http"]


@pytest.fixture
def container(port):
    return {
        "name": "vllm",
        "ports": [{"name": "http", "containerPort": port}],
        "startupProbe": {"httpGet": {"path": "/started", "port": "http"}, "periodSeconds": 10, "failureThreshold": 6},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": port}, "periodSeconds": 60},
    }


@pytest.fixture
def arguments(tmp_path, port):
    return (sys.executable, "-c", ENGINE, str(tmp_path), str(port))


@pytest.fixture
def engine(tmp_path, arguments):
    running = EngineServer(EngineCommand(arguments, {}, (), Path()), tmp_path / "engine")
    yield running
    running.end(grace=0)


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def marked(directory):
    return [mark for mark in processes.find_marked(server.MARK).values() if mark.startswith(str(directory))]


def test_an_engine_is_ready_when_its_startup_probe_and_then_its_readiness_probe_succeed(
    engine, container, tmp_path, quiet
):
    (tmp_path / "ready").write_text("200")
    engine.start()
    wait_until(lambda: "Loading" in engine.log.read_text())
    container["startupProbe"]["periodSeconds"] = 0.1
    with pytest.raises(LocalError, match=r"fails its startupProbe after 1 s; the end of .*\n.*Loading the model"):
        engine.wait_until_ready(container, ADDRESS, quiet)
    (tmp_path / "started").write_text("204")
    engine.wait_until_ready(container, ADDRESS, quiet)
    (tmp_path / "ready").write_text("503")
    container["readinessProbe"]["periodSeconds"] = 0.1
    with pytest.raises(LocalError, match="fails its readinessProbe after 0 s"):
        engine.wait_until_ready(container, ADDRESS, quiet)


def test_an_engine_that_ends_is_an_error_with_the_end_of_its_log(tmp_path, container, quiet):
    program = (sys.executable, "-c", "import sys; sys.exit('no such model')")
    engine = EngineServer(EngineCommand(program, {}, (), Path()), tmp_path / "engine")
    engine.start()
    with pytest.raises(LocalError, match=r"the engine ended with 1; the end of .*engine\.log:\nno such model"):
        engine.wait_until_ready(container, ADDRESS, quiet)
    assert engine.end() == 1


@pytest.mark.parametrize(
    ("status", "success"), [("199", False), ("200", True), ("302", True), ("399", True), ("400", False), ("503", False)]
)
def test_a_probe_succeeds_as_for_kubelet(engine, container, tmp_path, status, success):
    engine.start()
    (tmp_path / "up").write_text("200")
    container["livenessProbe"] = {"httpGet": {"path": "/up", "port": "http"}, "timeoutSeconds": 5}
    wait_until(lambda: succeeds(container, "livenessProbe", ADDRESS))
    (tmp_path / "up").write_text(status)
    assert succeeds(container, "livenessProbe", ADDRESS) == success


def test_a_probe_over_https_verifies_no_certificate_as_kubelet(tmp_path, container, port):
    with ThreadingHTTPServer((ADDRESS, port), HealthyHandler) as listener:
        listener.socket = certificates.make(tmp_path).server_context().wrap_socket(listener.socket, server_side=True)
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        assert not succeeds(container, "readinessProbe", ADDRESS)
        container["readinessProbe"]["httpGet"]["scheme"] = "HTTPS"
        assert succeeds(container, "readinessProbe", ADDRESS)
        listener.shutdown()


def test_a_probe_that_gets_no_answer_in_time_fails(engine, container, tmp_path):
    engine.start()
    (tmp_path / "ready").write_text("200")
    wait_until(lambda: succeeds(container, "readinessProbe", ADDRESS))
    first = processes.Process.of(engine.pid)
    first.signal(signal.SIGSTOP)
    try:
        assert not succeeds(container, "readinessProbe", ADDRESS)
    finally:
        first.signal(signal.SIGCONT)


def test_a_probe_of_a_socket_needs_a_connection_alone(container, port):
    container["startupProbe"] = {"tcpSocket": {"port": "http"}, "timeoutSeconds": 5}
    assert not succeeds(container, "startupProbe", ADDRESS)
    with socket.create_server((ADDRESS, port)):
        assert succeeds(container, "startupProbe", ADDRESS)


def test_only_probes_of_known_ports_are_asked(container):
    container["livenessProbe"] = {"exec": {"command": ["true"]}}
    with pytest.raises(LocalError, match="the livenessProbe of container vllm has neither httpGet nor tcpSocket"):
        succeeds(container, "livenessProbe", ADDRESS)
    container["livenessProbe"] = {"httpGet": {"port": "grpc"}}
    with pytest.raises(LocalError, match="container vllm has no port with the name grpc"):
        succeeds(container, "livenessProbe", ADDRESS)


def test_a_probe_may_take_all_its_periods():
    assert limit_seconds({"periodSeconds": 10, "failureThreshold": 180, "initialDelaySeconds": 5}) == 1805
    assert limit_seconds({}) == 30


def test_the_first_process_ends_by_itself_and_the_others_are_killed(engine, tmp_path, container):
    (tmp_path / "ready").write_text("200")
    engine.start()
    wait_until(lambda: succeeds(container, "readinessProbe", ADDRESS))
    worker = processes.Process.of(int((tmp_path / "worker").read_text()))
    temporary = (engine.directory / "temporary").readlink()
    assert (temporary / "socket").exists()
    assert engine.end(grace=60) == 7
    assert (tmp_path / "stopped").exists()
    assert not worker.alive()
    assert marked(engine.directory) == []
    assert not temporary.exists()


def test_an_engine_without_grace_is_killed(engine, tmp_path, container):
    (tmp_path / "ready").write_text("200")
    engine.start()
    wait_until(lambda: succeeds(container, "readinessProbe", ADDRESS))
    processes.Process.of(engine.pid).signal(signal.SIGSTOP)
    assert engine.end(grace=0.1) == -signal.SIGKILL
    assert marked(engine.directory) == []


@pytest.mark.parametrize("first", [False, True])
def test_all_processes_are_ended_after_their_owner_or_the_first_of_them_was_killed(tmp_path, arguments, first):
    directory = tmp_path / "engines" / "models.qwen"
    directory.mkdir(parents=True)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(directory), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert owner.stdout.readline() == b"started\n"
    wait_until(lambda: len(marked(directory)) == 2)
    owner.kill()
    owner.communicate()
    if first:
        (parent,) = (process for process in processes.find_marked(server.MARK, str(directory)) if leads(process))
        parent.signal(signal.SIGKILL)
    assert marked(directory)
    end_marked(directory.parent)
    assert marked(directory) == []
    assert not (directory / "temporary").is_symlink()


def leads(process):
    return server._leads_session(process)


def test_all_processes_of_a_tied_engine_end_with_its_owner(tmp_path, arguments):
    directory = tmp_path / "engine"
    text = OWNER.replace("Path(sys.argv[1]))", "Path(sys.argv[1]), tie_to_parent=True)")
    owner = subprocess.Popen(
        [sys.executable, "-c", text, str(directory), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert owner.stdout.readline() == b"started\n"
    wait_until(lambda: len(marked(directory)) == 2)
    owner.kill()
    owner.communicate()
    wait_until(lambda: marked(directory) == [])


SHARING = """
import sys, time
from multiprocessing import shared_memory
memory = shared_memory.SharedMemory(create=True, size=1)
print(memory.name, flush=True)
time.sleep(600)
"""


def test_shared_memory_of_a_killed_engine_is_removed(tmp_path):
    engine = EngineServer(EngineCommand((sys.executable, "-c", SHARING), {}, (), Path()), tmp_path / "engine")
    engine.start()
    wait_until(lambda: engine.log.read_text().endswith("\n"))
    memory = Path("/dev/shm") / engine.log.read_text().strip()
    assert memory.exists()
    processes.Process.of(engine.pid).signal(signal.SIGKILL)
    assert engine.end(grace=0) == -signal.SIGKILL
    assert not memory.exists()


def test_a_home_that_cannot_be_made_is_an_error(tmp_path, arguments):
    (tmp_path / "file").touch()
    engine = EngineServer(EngineCommand(arguments, {"HOME": str(tmp_path / "file" / "home")}, (), Path()), tmp_path)
    with pytest.raises(LocalError, match=r"the HOME of the engine, .*: Not a directory"):
        engine.start()
    end_marked(tmp_path)


@pytest.mark.parametrize("tied", [False, True])
def test_a_program_that_does_not_exist_is_an_error_and_nothing_stays_behind(tmp_path, tied, monkeypatch):
    guards = []
    popen = subprocess.Popen

    def recorded(*arguments, **options):
        guards.append(popen(*arguments, **options))
        return guards[-1]

    monkeypatch.setattr(subprocess, "Popen", recorded)
    command = EngineCommand((str(tmp_path / "vllm"), "serve"), {}, (), Path())
    engine = EngineServer(command, tmp_path / "engine", tie_to_parent=tied)
    with pytest.raises(
        LocalError, match=r"/vllm cannot be started: No such file .*; `python3 -m local engine` installs"
    ):
        engine.start()
    assert [guard.returncode for guard in guards] == [0] * tied
    assert not (engine.directory / "temporary").is_symlink()


def test_an_engine_that_was_not_started_has_no_process(engine):
    with pytest.raises(LocalError, match="was not started"):
        engine.has_ended()
    assert engine.end() is None


def test_progress_is_the_message_of_the_last_line_of_the_log(tmp_path):
    log = tmp_path / "engine.log"
    assert server._message(log) == ""
    for line in (
        "(APIServer pid=1) INFO 11-27 22:00:00 [core.py:1] Loading the model",
        "(EngineCore pid=2) W1127 22:18:24.862000 19523 torch/utils/flop_counter.py:29] Loading the model",
        "Loading the model",
    ):
        log.write_text(f"first\n{line}\n")
        assert server._message(log) == "Loading the model"
