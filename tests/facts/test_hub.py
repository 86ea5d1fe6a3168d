"""A hub's answer is a content with its commit; no other answer is taken for one."""

import json

import pytest

from facts import hub
from facts.transport import Run, Transport
from planning.ground.cluster_facts import Unknown
from planning.weights.sizes import Unusable, Wanted
from tests.support.traffic.weight_servers import serve, transport

COMMIT = "a" * 40
FILES = [{"rfilename": "model.safetensors", "size": 70}, {"rfilename": "original/model.pth", "size": 900}]
CONFIG = json.dumps({"model_type": "qwen3", "num_hidden_layers": 28})


@pytest.fixture
def server():
    found = serve()
    yield found
    found.shutdown()
    found.server_close()


def answering(server, answer, status=200, config=CONFIG, source="hf://org/model"):
    def answered(path, _token):
        body = config if path.endswith("config.json") else json.dumps(answer)
        return status, {}, body.encode()

    server.answer = answered
    return hub.ask(Wanted(source, server.url, ignored=("original/",)), transport())


def test_a_repository_has_the_bytes_of_the_files_that_are_fetched(server):
    found = answering(server, {"sha": COMMIT, "siblings": FILES})
    assert (found.source, found.bytes, found.origin) == (f"hf://org/model@{COMMIT}", 70, server.url)


def test_a_size_that_one_file_lacks_is_unknown_and_not_too_small(server):
    assert answering(server, {"sha": COMMIT, "siblings": [*FILES, {"rfilename": "more.safetensors"}]}).bytes is None


@pytest.mark.parametrize(("config", "layers"), [(CONFIG, 28), ("no json", None)])
def test_an_architecture_is_that_of_the_configuration_if_it_can_be_read(server, config, layers):
    found = answering(server, {"sha": COMMIT, "siblings": [{"rfilename": "config.json", "size": 1}]}, config=config)
    assert getattr(found.architecture, "layers", None) == layers


@pytest.mark.parametrize(
    ("answer", "status", "kind", "words"),
    [
        ({"sha": "main"}, 200, Unknown, "the hub names no commit"),
        ({}, 404, Unusable, "is not on its hub (hf://org/model)"),
        ({}, 401, Unknown, "access was denied"),
        ({}, 500, Unknown, "the hub answered 500"),
    ],
)
def test_another_answer_is_no_content(server, answer, status, kind, words):
    found = answering(server, answer, status)
    assert isinstance(found, kind)
    assert words in str(found)


@pytest.mark.parametrize("named", [True, False])
def test_the_token_goes_to_the_hub_that_the_environment_names(server, monkeypatch, named):
    """See defects H2."""
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    monkeypatch.setenv("HF_ENDPOINT", server.url if named else "https://hub.example")
    answering(server, {"sha": COMMIT, "siblings": [{"rfilename": "config.json", "size": 1}]})
    assert [path.partition("?")[0] for path, _ in server.seen] == [
        "/api/models/org/model/revision/main",
        f"/org/model/resolve/{COMMIT}/config.json",
    ]
    assert {token for _, token in server.seen} == {"Bearer hf_mine" if named else None}


def test_a_redirect_has_no_token(server, monkeypatch):
    """See defects H2."""
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    store = serve()
    server.answer = lambda *_: (307, {"Location": f"{store.url}/api"}, b"")
    hub.ask(Wanted("hf://org/model", server.url), transport())
    assert store.seen == [("/api", None)]
    store.shutdown()
    store.server_close()


def test_a_hub_that_gets_no_token_is_told(server, monkeypatch):
    """See defects H2."""
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    found = answering(server, {}, 401)
    words = (
        "access was denied to an anonymous request; HF_TOKEN goes to https://huggingface.co and HF_ENDPOINT, by https"
    )
    assert found.reason.endswith(words)
    assert "hf_mine" not in found.reason


def test_the_404_of_a_private_server_is_an_answer_only_if_it_is_a_hubs(server):
    """See defects H5."""
    question = Wanted("hf://org/model", server.url)
    for headers, kind in (({}, Unknown), ({"X-Error-Code": "RepoNotFound"}, Unusable)):
        server.answer = lambda *_, headers=headers: (404, headers, b"")
        assert isinstance(hub.ask(question, Transport(Run(5), lambda _: False)), kind)


def test_an_endless_answer_of_a_hub_is_not_read(server, monkeypatch):
    monkeypatch.setattr(hub, "_LARGEST", 10)
    with pytest.raises(ValueError, match="the answer is too long"):
        answering(server, {"sha": COMMIT})


def test_the_slashes_of_a_revision_are_no_slashes_of_the_path(server):
    """See defects HF2."""
    answering(server, {"sha": COMMIT}, source="hf://org/model@refs/pr/5")
    assert [path for path, _ in server.seen] == ["/api/models/org/model/revision/refs%2Fpr%2F5?blobs=true"]
