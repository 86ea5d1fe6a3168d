"""Sources are asked for their sizes within a time, and the answers become sizes of a stack."""

import socket
import subprocess
import sys
import threading
import time

import pytest

import planning
from facts import hosts
from facts.source_sizes import _UNTOLD as UNTOLD
from facts.source_sizes import add_sizes, contents, sizes
from manifests.assembly import objects, render
from models.load import load
from models.problems import ConfigError
from planning.ground.cluster_facts import Unknown
from planning.weights.sizes import Unusable, Wanted, questions
from tests.support.stacks import NAME
from tests.support.traffic.sources import trust
from tests.support.traffic.weight_servers import ANSWERS_SOON, ask, s3_error, serve


@pytest.mark.parametrize("source", ["s3://models/llama", "kit://{host}/org/kit:v1"])
def test_a_closed_port_is_unknown(source, monkeypatch):
    closed = serve()
    trust(monkeypatch, closed.url)
    closed.shutdown()
    closed.server_close()
    found = ask(Wanted(source.format(host=closed.host), endpoint=closed.url, insecure=True))
    assert isinstance(found, Unknown)
    assert "could not be reached or read" in found.reason


@pytest.mark.parametrize("source", ["s3://models/llama", "kit://{host}/org/kit:v1"])
def test_a_silent_server_is_unknown_after_the_deadline(server, source):
    server.hang = threading.Event()
    silent = Wanted(source.format(host=server.host), endpoint=server.url, insecure=True)
    assert ask(silent, deadline=0.3) == silent.unknown("there was no answer within 0.3 seconds")


@pytest.fixture
def silent():
    """Return the address of a port that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(2048)
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("source", ["kit://{host}/org/kit:v{number}", "s3://models-{number}/llama"])
def test_many_silent_servers_end_at_the_deadline_and_cost_little(silent, source):
    """See defects H5."""
    endpoint = f"http://{silent}"
    asked = [Wanted(source.format(host=silent, number=number), endpoint=endpoint) for number in range(1500)]
    earlier, begin, cpu = {*threading.enumerate()}, time.monotonic(), time.process_time()
    found = sizes(asked, 1.0)
    assert time.monotonic() - begin < 10
    assert time.process_time() - cpu < 5
    started = {*threading.enumerate()} - earlier
    assert len(started) <= 16
    reasons = (UNTOLD, "there was no answer within 1 seconds")
    assert all(answer in map(each.unknown, reasons) for each, answer in found.items())
    assert all(thread.daemon for thread in started)


@pytest.mark.parametrize("source", ["kit://{host}/org/kit:v{number}", "s3://models-{number}/llama"])
def test_many_closed_ports_cost_little(source):
    """See defects H5."""
    closed = serve()
    closed.shutdown()
    closed.server_close()
    asked = [Wanted(source.format(host=closed.host, number=number), endpoint=closed.url) for number in range(500)]
    cpu = time.process_time()
    assert set(sizes(asked).values()) == {each.unknown(UNTOLD) for each in asked}
    assert time.process_time() - cpu < 3


def test_a_silent_server_does_not_delay_the_end_of_the_program(silent):
    """See defects H5."""
    code = f"""
import time
from facts.source_sizes import sizes
from planning.weights.sizes import Wanted

begin = time.monotonic()
sizes([Wanted("kit://{silent}/org/kit:v1"), Wanted("s3://models/llama", "http://{silent}")], 0.5)
print(time.monotonic() - begin)
"""
    begin = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    took = float(process.stdout.readline())
    printed = time.monotonic()
    assert process.wait() == 0
    process.stdout.close()
    assert took < 20
    assert time.monotonic() - printed < 10
    assert printed - begin < 60


@pytest.mark.parametrize("status", [200, 302, 401, 403, 404, 500])
def test_a_private_server_that_is_no_registry_looks_like_a_closed_port(unknown_server, status):
    """See defects H5."""
    unknown_server.answer = lambda *_: (status, {}, b"<html>")
    question = Wanted(f"kit://{unknown_server.host}/org/kit:v1", insecure=True)
    assert ask(question) == question.unknown(UNTOLD)


def test_a_link_local_address_is_told(monkeypatch):
    """See defects H5."""
    question = Wanted("kit://169.254.169.254/a/b:c", insecure=True)
    reason = "it could not be reached or read (link-local addresses and those of clouds' metadata are never asked)"
    assert ask(question) == question.unknown(reason)


def test_an_offline_run_asks_nobody(server, monkeypatch):
    """See defects H5."""
    monkeypatch.setenv(hosts.OFFLINE, "true")
    asked = [
        Wanted("s3://models/llama", server.url),
        Wanted("s3://models/llama"),
        Wanted(f"kit://{server.host}/org/kit:v1", insecure=True),
        Wanted("hf://org/model", server.url),
    ]
    assert contents(asked) == {each: each.unknown("this run is offline") for each in asked}
    assert contents([Wanted("pvc://claim")])[Wanted("pvc://claim")].source == "pvc://claim"
    assert server.seen == []


def test_sources_are_asked_at_the_same_time(server):
    """One server waits until the other is asked."""
    other, server.hang = serve(), threading.Event()
    other.answer = lambda *_: server.hang.set() or (503, {}, b"")
    requested = [Wanted(f"kit://{source.host}/org/kit:v1", insecure=True) for source in (server, other)]
    absent, failing = sizes(requested, ANSWERS_SOON).values()
    assert isinstance(absent, Unusable)
    assert isinstance(failing, Unknown)
    other.shutdown()
    other.server_close()


def test_a_source_is_asked_once_however_often_it_is_wanted(server):
    server.answer = lambda *_: (403, {}, s3_error("AccessDenied"))
    requested = Wanted("s3://models/llama", endpoint=server.url)
    assert list(sizes([requested, Wanted("s3://models/llama", endpoint=server.url), requested], ANSWERS_SOON)) == [
        requested
    ]
    assert len(server.seen) == 1


@pytest.mark.parametrize("source", ["hf://org/name", "pvc://claim/path", "image://registry.example/image:v1"])
def test_other_sources_are_not_asked(source):
    requested = Wanted(source)
    assert ask(requested) == requested.unknown("only s3:// and kit:// are asked")


def test_clients_are_imported_by_the_first_question_only():
    code = (
        "import sys, facts.source_sizes; print([one for one in ('boto3', 'botocore', 'urllib3') if one in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def claiming(moto, bucket, prefix, **storage):
    """Return a stack whose cache and whose dedicated claim hold weights of sizes that nobody wrote."""
    source = f"s3://{bucket}/{prefix}"
    cache = {"source": source, "fill": {"endpoint": moto, "region": "us-east-1"}}
    model = {"name": "org/model", "source": source, "endpoint": moto, "region": "us-east-1"}
    services = {
        "own": {"model": model, "accelerator": "nvidia", "storage": {"type": "dedicated", **storage}},
        "lent": {
            "model": {"name": "org/m"},
            "accelerator": "nvidia",
            "storage": {"type": "shared", "cache": "weights"},
        },
    }
    return {"namespace": "models", "services": services, "caches": {"weights": cache}}


def known(stack):
    return add_sizes(load(stack), ANSWERS_SOON)


@pytest.mark.usefixtures("credentials")
def test_a_claim_is_as_large_as_its_source_says(moto, bucket):
    loaded, warnings = known(claiming(moto, bucket, "llama-70b"))
    assert warnings == []
    assert loaded.stack.caches["weights"].size == "50000"
    assert {key: service.model.size for key, service in loaded.stack.services.items()} == {
        "own": "50000",
        "lent": "50000",
    }
    claims = [
        item.manifest["spec"]["resources"]["requests"]["storage"]
        for item in objects(render(planning.plan(loaded, NAME)))
        if item.manifest["kind"] == "PersistentVolumeClaim"
    ]
    assert claims == ["1Gi", "1Gi"]


@pytest.mark.usefixtures("credentials")
def test_an_empty_prefix_is_a_mistake_of_each_that_claims_it(moto, bucket):
    loaded, _ = known(claiming(moto, bucket, "hollow"))
    with pytest.raises(ConfigError) as error:
        planning.plan(loaded, NAME)
    paths = [str(problem.path) for problem in error.value.problems]
    assert "caches.weights.source" in paths
    assert "services.own.model.source" in paths
    assert "0" not in str(error.value).replace("127.0.0.1", "")


@pytest.mark.usefixtures("credentials")
def test_a_written_size_asks_nobody(moto, bucket):
    stack = claiming(moto, bucket, "llama", size="5Gi")
    stack["caches"]["weights"]["size"] = "4Gi"
    assert questions(load(stack)).asked == {}


@pytest.mark.usefixtures("credentials")
def test_what_is_packed_or_unknown_warns_and_has_to_be_written(moto, bucket):
    for stack in (claiming(moto, bucket, "packed"), claiming("http://127.0.0.1:9", bucket, "llama")):
        loaded, warnings = known(stack)
        assert len(warnings) == 2
        assert all(str(warning).startswith(("caches.weights: ", "services.own.model: ")) for warning in warnings)
        with pytest.raises(ConfigError, match=r"size: is missing, and s3:// did not state it"):
            planning.plan(loaded, NAME)
