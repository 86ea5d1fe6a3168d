"""A request for one token to a service, and what becomes of it."""

import json
import socket
import time

import pytest

from facts import completions, hosts
from facts.completions import AskedService
from tests.support.cluster import loopback

TOKEN = {"choices": [{"text": "!", "index": 0}]}
LATE = "did not answer within 0.3 seconds, the time for all services"
PATH = "/models/qwen/v1/completions"


@pytest.fixture
def server():
    with loopback.serve({PATH: TOKEN}, authorization=None) as answering:
        yield answering


def answer_of(url, model="qwen"):
    (answer,) = completions.ask({"qwen": AskedService(url, model)}).values()
    return answer


def ask(server):
    return answer_of(f"{server.url}/models/qwen").text.removeprefix(f"{server.url}/models/qwen ")


def test_a_token_is_told_with_the_time_that_it_took(server):
    answer = answer_of(f"{server.url}/models/qwen")
    assert answer.words == f"{server.url}/models/qwen answered 200 with a token"
    assert answer.text == f"{answer.words} after {answer.seconds:.1f} s"


@pytest.mark.parametrize("answer", [{}, [], None, "token", {"choices": []}, {"choices": "token"}])
def test_an_answer_without_a_token_is_told(server, answer):
    server.answers = {PATH: answer}
    assert ask(server) == "answered 200 without a token"


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_for_want_of_credentials_says_that_there_are_none(server, status):
    server.statuses = {PATH: status}
    assert ask(server) == f"answered {status}, because this request has no credentials"


@pytest.mark.parametrize("status", [404, 429, 500, 503])
def test_another_refusal_is_told_with_its_status(server, status):
    server.statuses = {PATH: status}
    assert ask(server) == f"answered {status}"


def test_no_credential_is_sent(server, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    ask(server)
    assert server.seen == [None]


def test_a_server_that_is_not_there_is_told():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert answer_of(url).text == f"{url} did not answer (ConnectionRefusedError)"


def test_a_server_that_does_not_answer_is_not_waited_for(server, monkeypatch):
    monkeypatch.setattr(completions, "_SECONDS", 0.3)
    server.hang = loopback.threading.Event()
    assert ask(server) == LATE


def test_all_services_together_have_one_time_limit(server, monkeypatch):
    """Forty services that do not answer: one after the other they would take twelve seconds."""
    monkeypatch.setattr(completions, "_SECONDS", 0.3)
    server.hang = loopback.threading.Event()
    begin = time.monotonic()
    answers = completions.ask({number: AskedService(server.url, None) for number in range(40)})
    assert time.monotonic() - begin < 5
    assert {answer.words for answer in answers.values()} == {f"{server.url} {LATE}"}


def test_a_service_that_does_not_answer_hides_no_other(server, monkeypatch):
    monkeypatch.setattr(completions, "_SECONDS", 1)
    server.hang = loopback.threading.Event()
    server.silent = {"/silent/v1/completions"}
    silent = AskedService(f"{server.url}/silent", "qwen")
    answers = completions.ask({"silent": silent, "qwen": AskedService(f"{server.url}/models/qwen", "qwen")})
    assert "did not answer within 1 seconds" in answers["silent"].words
    assert answers["qwen"].words.endswith("answered 200 with a token")


def test_offline_nobody_is_asked(server, monkeypatch):
    monkeypatch.setenv(hosts.OFFLINE, "true")
    assert answer_of(server.url).text == "nothing: this run is offline"
    assert server.seen == []


@pytest.mark.parametrize(
    ("listed", "name"),
    [
        ({"data": [{"id": "qwen"}, {"id": "lora"}]}, "qwen"),
        ({"data": []}, "model"),
        ([], "model"),
        ({"data": [{"id": 5}]}, "model"),
    ],
)
def test_the_first_model_of_a_service_is_its_own(server, listed, name):
    server.answers = {"/v1/models": listed}
    answer_of(server.url, None)
    assert json.loads(server.bodies[-1])["model"] == name


def test_an_answer_that_is_nested_too_deeply_has_no_token_and_names_no_model(server):
    server.texts = {PATH: b"[" * 200_000, "/v1/models": b"[" * 200_000}
    assert ask(server) == "answered 200 without a token"
    answer_of(server.url, None)
    assert json.loads(server.bodies[-1])["model"] == "model"


@pytest.mark.parametrize(
    ("location", "error"),
    [("http://[bad/", "ValueError"), (f"http://{'a' * 64}.example/", "UnicodeError")],
)
def test_a_redirect_that_no_client_can_follow_is_told(server, location, error):
    server.statuses = {PATH: 302}
    server.locations = {PATH: location}
    assert ask(server) == f"did not answer ({error})"
