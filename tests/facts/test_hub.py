"""A hub's answer is a content with its commit; no other answer is taken for one."""

import json

import pytest

from facts import hub
from planning.ground.cluster_facts import Unknown
from planning.weights.sizes import Unusable, Wanted
from tests.support.traffic.weight_servers import serve

COMMIT = "a" * 40
FILES = [{"rfilename": "model.safetensors", "size": 70}, {"rfilename": "original/model.pth", "size": 900}]
CONFIG = json.dumps({"model_type": "qwen3", "num_hidden_layers": 28})


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    found = serve()
    yield found
    found.shutdown()


def answering(server, answer, status=200, config=CONFIG, source="hf://org/model"):
    def answered(path, _token):
        body = config if path.endswith("config.json") else json.dumps(answer)
        return status, {}, body.encode()

    server.answer = answered
    return hub.ask(Wanted(source, server.url, ignored=("original/",)), 5)


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


def test_an_endless_answer_of_a_hub_is_not_read(server, monkeypatch):
    monkeypatch.setattr(hub, "_LARGEST", 10)
    with pytest.raises(ValueError, match="the answer is too long"):
        answering(server, {"sha": COMMIT})


def test_the_slashes_of_a_revision_are_no_slashes_of_the_path(server):
    """See defects HF2."""
    answering(server, {"sha": COMMIT}, source="hf://org/model@refs/pr/5")
    assert [path for path, _ in server.seen] == ["/api/models/org/model/revision/refs%2Fpr%2F5?blobs=true"]
