"""A played model server answers for its model alone."""

import json

import pytest

from local.gateway import model_server, requests
from tests.support.stacks import find, rendered, tree


@pytest.fixture
def server():
    running = model_server.ModelServer("pod", ("org/model",), "127.0.0.1", 0)
    yield running
    running.end()


@pytest.mark.parametrize(
    ("path", "model", "status"),
    [
        ("/v1/completions", "org/model", 200),
        ("/v1/chat/completions", "org/model", 200),
        ("/v1/completions", "org/other", 404),
        ("/other", "org/model", 404),
    ],
)
def test_a_played_model_server_answers_for_its_model_alone(path, model, status, server):
    request = requests.TrialRequest(server.server_port, path, {}, json.dumps({"model": model}))
    code, body = request.send()
    assert code == status
    assert json.loads(body).get("model") == ("org/model" if status == 200 else None)


def test_a_played_model_server_knows_its_names_from_the_flags_of_its_pod():
    workload = find(rendered(tree()), "Deployment", "qwen-decode")
    assert model_server.models(workload["spec"]["template"]) == ("org/model",)
    assert model_server.models({"spec": {"containers": [{}]}}) == ()
