"""The words about a fetch that failed, from the last lines of the real downloader before servers on loopback."""

import http.server
import json
import subprocess
import sys
import threading

import pytest

from judging.status import pods
from local.vllm import installation
from tests.support import captured_statuses
from tests.support.traffic.weight_servers import s3_error

pytestmark = pytest.mark.real

COMMIT = "d1" * 20
MEGABYTE = 1_000_000
FETCH = "import sys; from kserve_storage import Storage; Storage.download_files([sys.argv[1]], [sys.argv[2]])"
ON_A_SMALL_DISK = ("unshare", "--map-root-user", "--mount", "sh", "-c")
MOUNT = 'mount -t tmpfs -o size=200k none "$0" && exec "$@"'
BYTES_OF_A_LOG = 2048
"""Bytes of the end of a log that the kubelet keeps as the message of a container that ended."""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as the test says: status, headers and content by path."""

    def do_GET(self):
        status, headers, content = self.server.answer(self.path)
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    do_HEAD = do_GET  # noqa: N815, the name that `http.server` calls

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        running.url = f"http://127.0.0.1:{running.server_port}"
        yield running
        running.shutdown()


@pytest.fixture
def fetch(server, tools, tmp_path):
    """Return a function that runs the downloader, and returns the words of the status about its end, and its log.

    `python` has the downloader's packages. `before` is a command that runs the downloader on a small disk.
    """

    def run(source, python, *before):
        folder = tmp_path / "weights"
        folder.mkdir()
        variables = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "TMPDIR": str(tmp_path),
            "PYTHONPATH": str(tools["kserve-storage"].path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_PROXY": "127.0.0.1",
            "HF_ENDPOINT": server.url,
            "AWS_ENDPOINT_URL": server.url,
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "of-somebody",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_MAX_ATTEMPTS": "1",
        }
        mount = (*before, MOUNT, str(folder)) if before else ()
        line = [*mount, python, "-c", FETCH, source, str(folder)]
        done = subprocess.run(
            line, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False
        )
        assert done.returncode == 1, done.stdout.decode()
        return words(done.stdout[-BYTES_OF_A_LOG:].decode(errors="replace"))

    return run


def words(log):
    """Return the words about a pod whose fetch ended with these last lines, and the lines."""
    ended = {"reason": "Error", "exitCode": 1, "message": log}
    ended |= {"startedAt": "2026-11-28T02:00:00Z", "finishedAt": "2026-11-28T02:01:00Z"}
    waiting = {"name": "engine", "ready": False, "restartCount": 0, "state": {"waiting": {"reason": "PodInitializing"}}}
    entry = {
        "spec": {"initContainers": [{"name": "model-fetch"}], "containers": [{"name": "engine"}]},
        "status": {
            "phase": "Pending",
            "startTime": "2026-11-28T02:00:00Z",
            "initContainerStatuses": [
                {"name": "model-fetch", "ready": False, "restartCount": 1, "state": {"terminated": ended}}
            ],
            "containerStatuses": [waiting],
        },
    }
    finding = pods.cause(captured_statuses.pod(entry), "", captured_statuses.reading(entry))
    assert finding.state.id == "fetch-failed"
    return finding.words.split(": ")[1], log


@pytest.fixture(scope="session")
def hub_python():
    """Return the Python of an installed vLLM, which has the client of the hub. The release's image has an older one."""
    return next(str(row.python) for row in installation.versions().values() if row.is_installed())


@pytest.fixture(scope="session")
def _small_disks():
    if subprocess.run([*ON_A_SMALL_DISK[:-2], "true"], check=False).returncode:
        pytest.skip("nobody may mount here")


def refusal(status, code, text):
    """Return an answer of a hub that refuses."""
    headers = {"X-Error-Code": code, "X-Error-Message": text} if code else {}
    return status, headers, json.dumps({"error": text}).encode()


GATED = "Access to model org/m is restricted and you are not in the authorized list."
REFUSALS = {
    "access is denied": refusal(401, "", "Invalid username or password."),
    "access is denied (gated)": refusal(403, "GatedRepo", GATED),
    "there is no such repository, or the credentials do not show it": refusal(404, "RepoNotFound", "Not found"),
    "the source does not exist": refusal(404, "RevisionNotFound", f"Invalid rev id: {COMMIT}"),
    "the server of the source is busy or fails": refusal(503, "", "busy"),
}


@pytest.mark.engine
@pytest.mark.parametrize("reason", REFUSALS)
def test_a_refusal_of_a_hub_is_told(fetch, server, hub_python, reason):
    server.answer = lambda _: REFUSALS[reason]
    text, log = fetch(f"hf://org/m:{COMMIT}", hub_python)
    assert text == reason.partition(" (")[0], log


def hub(path):
    """Answer as a hub that has a repository with one file."""
    if "/tree/" in path:
        entry = {"type": "file", "path": "weights.bin", "size": MEGABYTE, "oid": "a" * 40}
        return 200, {"Content-Type": "application/json"}, json.dumps([entry]).encode()
    if "/api/models/" in path:
        tree = {"id": "org/m", "sha": COMMIT, "siblings": [{"rfilename": "weights.bin"}]}
        return 200, {"Content-Type": "application/json"}, json.dumps(tree).encode()
    return 200, {"ETag": '"abc"', "X-Repo-Commit": COMMIT}, b"x" * MEGABYTE


@pytest.mark.engine
@pytest.mark.usefixtures("_small_disks")
def test_a_full_disk_is_told_during_a_fetch_from_a_hub(fetch, server, hub_python):
    server.answer = hub
    text, log = fetch(f"hf://org/m:{COMMIT}", hub_python, *ON_A_SMALL_DISK)
    assert text == "there is no space left on the disk", log


@pytest.mark.engine
def test_a_hub_that_is_not_there_is_told(fetch, server, hub_python):
    server.shutdown()
    server.server_close()
    text, log = fetch(f"hf://org/m:{COMMIT}", hub_python)
    assert text == "the source cannot be reached", log


S3_REFUSALS = {
    "AccessDenied": (403, "access is denied"),
    "InvalidAccessKeyId": (403, "access is denied"),
    "SignatureDoesNotMatch": (403, "access is denied"),
    "NoSuchBucket": (404, "the source does not exist"),
    "SlowDown": (503, "the server of the source is busy or fails"),
}


@pytest.mark.parametrize("code", S3_REFUSALS)
def test_a_refusal_of_an_object_store_is_told(fetch, server, code):
    status, reason = S3_REFUSALS[code]
    server.answer = lambda _: (status, {"Content-Type": "application/xml"}, s3_error(code))
    text, log = fetch("s3://models/m", sys.executable)
    assert text == reason, log


def bucket(path):
    """Answer as an object store that has a bucket with one object."""
    if path.partition("?")[0].rstrip("/") != "/models":
        return 200, {"ETag": '"a"'}, b"x" * MEGABYTE
    entry = f"<Contents><Key>m/weights.bin</Key><Size>{MEGABYTE}</Size><ETag>a</ETag></Contents>"
    listing = f"<ListBucketResult><IsTruncated>false</IsTruncated>{entry}</ListBucketResult>"
    return 200, {"Content-Type": "application/xml"}, listing.encode()


@pytest.mark.usefixtures("_small_disks")
def test_a_full_disk_is_told_during_a_fetch_from_an_object_store(fetch, server):
    server.answer = bucket
    text, log = fetch("s3://models/m", sys.executable, *ON_A_SMALL_DISK)
    assert text == "there is no space left on the disk", log


def test_an_object_store_that_is_not_there_is_told(fetch, server):
    server.shutdown()
    server.server_close()
    text, log = fetch("s3://models/m", sys.executable)
    assert text == "the source cannot be reached", log


def test_a_server_that_ends_an_answer_early_is_told(fetch, server):
    def answer(path):
        status, headers, content = bucket(path)
        more = {"Content-Length": str(2 * MEGABYTE)} if path.endswith("weights.bin") else {}
        return status, headers | more, content

    server.answer = answer
    text, log = fetch("s3://models/m", sys.executable)
    assert text == "the source cannot be reached", log
