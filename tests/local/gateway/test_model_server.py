"""A played model server answers for its model alone."""

import json

import pytest

from local.gateway import model_server, requests
from tests.support.stacks import rendered, tree


@pytest.fixture
def server():
    found = model_server.ModelServer("pod", ("org/model",), "127.0.0.1", 0)
    yield found
    found.end()


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
    found, body = request.send()
    assert found == status
    assert json.loads(body).get("model") == ("org/model" if status == 200 else None)


def test_a_played_model_server_knows_its_names_from_the_flags_of_its_pod():
    (workload,) = (
        each for each in rendered(tree()) if each["kind"] == "Deployment" and "decode" in each["metadata"]["name"]
    )
    assert model_server.models(workload["spec"]["template"]) == ("org/model",)
    assert model_server.models({"spec": {"containers": [{}]}}) == ()
