"""The command `status`, before API servers on loopback."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from cli import status as command
from composition import status
from facts import reading
from facts.completions import Answer
from judging.status import verdict
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import KINDS, POD, Snapshot
from tests.support import captured_objects, commands
from tests.support.cluster import certificates, loopback
from tests.support.cluster.kubeconfigs import base64_text, config
from tests.support.stacks import tree

ROOT = Path(__file__).parents[2]
ALL_UNKNOWN = "? unknown, because the cluster could not be read"
QWEN = {"model": {"source": "hf://org/qwen@d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "size": "1Gi"}}


@pytest.fixture(autouse=True)
def _surroundings(nobody, monkeypatch):
    monkeypatch.setattr(reading, "_PAUSE_SECONDS", 0)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def kubeconfig(tmp_path, monkeypatch):
    """Write a kubeconfig for a server, and name it in KUBECONFIG."""

    def write(url, **more):
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(config(url, {"token": "right"}, **more)))
        monkeypatch.setenv("KUBECONFIG", str(path))
        return path

    return write


@pytest.fixture
def stack(tmp_path, monkeypatch):
    """Write a stack file with two services, and return its path."""
    path = tmp_path / "Pulumi.prod.yaml"
    path.write_text(yaml.safe_dump({"config": {"inference-stacks:stack": tree(qwen=QWEN, bert=QWEN)}}))
    monkeypatch.chdir(ROOT)
    return str(path)


@pytest.fixture
def cluster(monkeypatch):
    """Return a function that gives the command a snapshot instead of a cluster."""

    def give(snapshot):
        monkeypatch.setattr(status.reader, "read", lambda *_: snapshot)
        return snapshot

    return give


def kinds():
    """Return the names of all kinds, as the command lists them."""
    return ", ".join(sorted(kind.rpartition("/")[2] for kind in KINDS))


def unwrapped(text):
    return " ".join(text.split())


def test_an_api_server_that_is_not_there_is_told(kubeconfig, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        kubeconfig(f"https://127.0.0.1:{free.getsockname()[1]}")
        code, output, errors = commands.ended(capsys, "status")
    assert (code, errors) == (1, "")
    assert f"{ALL_UNKNOWN} (it opens no connection): {kinds()}" in unwrapped(output)


@pytest.mark.parametrize("code", [401, 403, 500, 503])
def test_refusals_are_told_with_what_they_hide(kubeconfig, capsys, code):
    with loopback.serve({}) as server:
        server.statuses = _Every(code)
        kubeconfig(server.url)
        result = commands.ended(capsys, "status")
    assert (result.code, result.errors) == (1, "")
    assert f"{ALL_UNKNOWN} (it answered {code})" in result.output
    assert ("bind the Roles" in result.output) is (code == 403)


class _Every(dict):
    """A mapping that has the same value for every key."""

    def __init__(self, value=None):
        super().__init__()
        self.value = value

    def get(self, *_):
        return self.value

    def __contains__(self, key):
        return True


@pytest.mark.parametrize("answer", [[], "text", None, {"items": "text"}, {"items": [{}]}, {"items": [None]}])
def test_answers_that_no_api_server_gives_are_told(kubeconfig, capsys, answer):
    with loopback.serve(_Every(answer)) as server:
        kubeconfig(server.url)
        result = commands.ended(capsys, "status")
    assert (result.code, result.errors) == (1, "")
    assert ALL_UNKNOWN in result.output


class RawServer:
    """A server that answers every connection with the same bytes, and ends it."""

    def __init__(self, content):
        self.content = content
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self.answer, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()

    def answer(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(self.content)


def http_answer(content):
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)


ANSWERS = {
    "page": http_answer(b"<html>"),
    "nothing": http_answer(b""),
    "other encoding": http_answer(b"\xff\xfe"),
    "nested lists": http_answer(b"[" * 100_000),
    "half": http_answer(b'{"items": ['),
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "no bytes": b"",
    "long status line": b"HTTP/1.1 200 " + b"x" * 100_000,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_are_no_json_are_told(kubeconfig, capsys, name):
    with RawServer(ANSWERS[name]) as server:
        kubeconfig(server.url)
        result = commands.ended(capsys, "status")
    assert (result.code, result.errors) == (1, "")
    assert ALL_UNKNOWN in result.output


def test_a_server_without_tls_and_one_with_an_unknown_authority_are_told(kubeconfig, capsys, tmp_path):
    pems = certificates.make(tmp_path)
    with RawServer(b"no TLS") as server:
        kubeconfig(server.url.replace("http:", "https:"))
        plain = commands.ended(capsys, "status")
    with loopback.serve(_Every({"items": []}), tls=pems.server_context()) as server:
        kubeconfig(server.url)
        unknown = commands.ended(capsys, "status")
        authority = base64_text(pems.data("ca"))
        kubeconfig(server.url, **{"certificate-authority-data": authority})
        known = commands.ended(capsys, "status")
    assert [(result.code, result.errors) for result in (plain, unknown, known)] == [(1, ""), (1, ""), (4, "")]
    assert "SSL" in plain.output
    assert "SSLCertVerificationError" in unknown.output
    assert "unknown" not in known.output


def test_offline_nothing_is_read(capsys, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    result = commands.ended(capsys, "status", "--offline")
    assert (result.code, result.errors) == (1, "")
    assert "this run is offline" in result.output


def test_a_service_that_the_stack_lacks_is_refused_with_the_known_ones(stack, capsys):
    result = commands.ended(capsys, "status", stack, "chat")
    assert (result.code, result.output) == (2, "")
    assert "names no service of the stack (chat)" in result.errors
    assert "bert, qwen" in result.errors


def test_a_stack_that_is_not_deployed_is_told(stack, capsys, cluster):
    cluster(Snapshot(captured_objects.NOW, {}))
    result = commands.ended(capsys, "status", stack)
    assert (result.code, result.errors) == (4, "")
    assert "bert" in result.output
    assert "qwen is not deployed; run `pulumi preview`" in unwrapped(result.output)
    narrowed = commands.ended(capsys, "status", stack, "qwen").output
    assert "qwen" in narrowed
    assert "bert" not in narrowed


def test_a_stack_in_a_cluster_that_could_not_be_read_is_not_said_to_lack(stack, capsys, cluster):
    cluster(Snapshot(captured_objects.NOW, dict.fromkeys(KINDS, Unknown("it answered 401"))))
    result = commands.ended(capsys, "status", stack)
    assert result.code == 1
    assert "not deployed" not in result.output


def test_without_a_stack_all_stacks_are_told(capsys, cluster):
    snapshot = cluster(captured_objects.snapshot())
    result = commands.ended(capsys, "status")
    assert (result.code, result.errors) == (5, "")
    for name in ("busy", "chat", "group", "late", "scaled", "stored"):
        assert name in result.output
    assert verdict.of(snapshot, {}).exit_code == result.code


def test_a_cluster_without_stacks_is_told_and_is_not_in_order(capsys, cluster):
    cluster(Snapshot(captured_objects.NOW, {}))
    result = commands.ended(capsys, "status")
    assert (result.code, result.errors) == (4, "")
    assert "· no stack is deployed in this cluster" in result.output
    assert json.loads(commands.ended(capsys, "status", "--json").output)["exitCode"] == 4


def test_an_unread_kind_gives_one_although_the_rest_is_known(capsys, cluster):
    cluster(captured_objects.snapshot(**{POD: Unknown("it answered 403")}))
    result = commands.ended(capsys, "status")
    assert "? unknown, because it answered 403: Pod" in unwrapped(result.output)
    assert "bind the Roles" in result.output


@pytest.fixture
def readings(monkeypatch):
    """Return a list of snapshots, one for each reading of `--watch`; the user interrupts after the last one."""
    snapshots = []

    def read(access, scope):
        if not snapshots:
            raise KeyboardInterrupt
        return snapshots.pop(0)

    monkeypatch.setattr(status.reader, "read", read)
    monkeypatch.setattr(command, "_PAUSE_SECONDS", 0)
    return snapshots


def test_watching_prints_only_changes_and_ends_with_the_last_code(readings, capsys):
    later = replace(captured_objects.snapshot(), read_at=captured_objects.NOW + timedelta(hours=3))
    nothing = Snapshot(captured_objects.NOW, {})
    readings += [captured_objects.snapshot(), later, nothing, replace(nothing, read_at=later.read_at), later]
    result = commands.ended(capsys, "status", "--watch")
    assert (result.code, result.errors) == (5, "")
    assert result.output.count("all stacks") == 3
    readings += [later, nothing]
    assert commands.ended(capsys, "status", "--watch").code == 4


@pytest.fixture
def _slower_answers(monkeypatch):
    """Let every service answer a second later than at the reading before."""
    seconds = itertools.count(1)

    def ask(targets):
        return dict.fromkeys(targets, Answer("http://gateway/qwen answered 200 with a token", float(next(seconds))))

    monkeypatch.setattr(status.completions, "ask", ask)
    monkeypatch.setattr(status.addresses, "urls", lambda *_: ["http://gateway/qwen"])


@pytest.mark.usefixtures("_slower_answers")
def test_the_time_of_an_answer_is_no_change(readings, capsys):
    readings += [captured_objects.snapshot() for _ in range(3)]
    watched = commands.ended(capsys, "status", "--watch", "--ask").output
    assert watched.count("all stacks") == 1
    assert "answered 200 with a token\n" in watched
    readings += [captured_objects.snapshot()]
    assert "answered 200 with a token after 4.0 s\n" in commands.ended(capsys, "status", "--ask").output
    readings += [captured_objects.snapshot()]
    document = json.loads(commands.ended(capsys, "status", "--ask", "--json").output)
    (answer,) = {service["answer"] for service in document["services"]}
    assert answer == "http://gateway/qwen answered 200 with a token"


def test_watching_that_is_interrupted_before_anything_was_read_knows_nothing(readings, capsys):
    assert commands.ended(capsys, "status", "--watch") == (1, "", "")


def test_a_closed_pipe_ends_the_command_with_its_code(kubeconfig):
    with loopback.serve(_Every({"items": []})) as server:
        kubeconfig(server.url)
        for options in ([], ["--watch"], ["--json"]):
            reading, writing = os.pipe()
            os.close(reading)
            line = [sys.executable, "-m", "cli", "status", *options]
            done = subprocess.run(line, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
            os.close(writing)
            assert (done.returncode, done.stderr) == (4, b""), options


def test_an_interrupt_of_the_terminal_ends_watching_with_the_last_code(kubeconfig):
    with loopback.serve(_Every({"items": []})) as server:
        kubeconfig(server.url)
        line = [sys.executable, "-m", "cli", "status", "--watch"]
        with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert b"all stacks" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (4, b"")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_interrupt_of_a_reading_ends_the_command_quietly(kubeconfig, options):
    with loopback.serve({}) as server:
        server.hang = threading.Event()
        kubeconfig(server.url)
        line = [sys.executable, "-m", "cli", "status", *options]
        with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert server.reached.wait(60)
            process.send_signal(signal.SIGINT)
            output = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, (b"", b""))
