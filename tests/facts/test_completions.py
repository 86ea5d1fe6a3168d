"""A request for one token to a service, and what becomes of it."""

import socket

import pytest

from facts import completions, hosts
from tests.support.cluster import loopback

TOKEN = {"choices": [{"text": "!", "index": 0}]}
PATH = "/models/qwen/v1/completions"


@pytest.fixture
def server():
    with loopback.serve({PATH: TOKEN}, authorization=None) as answering:
        yield answering


def ask(server):
    return completions.ask(f"{server.url}/models/qwen", "qwen").removeprefix(f"{server.url}/models/qwen ")


def test_a_token_is_told_with_the_time_that_it_took(server):
    answer = ask(server)
    assert answer.startswith("answered 200 with a token after ")
    assert answer.endswith(" s")


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
        assert completions.ask(url, "qwen") == f"{url} did not answer (ConnectionRefusedError)"


def test_a_server_that_does_not_answer_is_not_waited_for(server, monkeypatch):
    monkeypatch.setattr(completions, "_SECONDS", 0.3)
    server.hang = loopback.threading.Event()
    assert ask(server) == "did not answer (TimeoutError)"


def test_offline_nobody_is_asked(server, monkeypatch):
    monkeypatch.setenv(hosts.OFFLINE, "true")
    assert completions.ask(server.url, "qwen") == "nothing: this run is offline"
    assert completions.first_model(server.url) is None
    assert server.seen == []


@pytest.mark.parametrize(
    ("listed", "name"),
    [
        ({"data": [{"id": "qwen"}, {"id": "lora"}]}, "qwen"),
        ({"data": []}, None),
        ([], None),
        ({"data": [{"id": 5}]}, None),
    ],
)
def test_the_first_model_of_a_service_is_its_own(server, listed, name):
    server.answers = {"/v1/models": listed}
    assert completions.first_model(server.url) == name
