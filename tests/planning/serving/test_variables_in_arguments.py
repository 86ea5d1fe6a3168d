"""Engine arguments refer to variables of their own container, generated or the user's."""

import pytest

from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import SPANNING, engine, model_servers, told

ARGUMENT = "--chat-template=$(TEMPLATES)/chat.jinja"
OWN = {"env": {"TEMPLATES": "/templates"}, "args": [ARGUMENT]}


@pytest.mark.parametrize(
    "service",
    [
        {"engine": OWN},
        {"engine": {**OWN, "type": "custom", "image": "registry.example/server:v1"}},
        {"engine": OWN, "prefill": {}},
        {"prefill": {"engine": OWN}},
        {"engine": OWN, **SPANNING},
    ],
    ids=["vllm", "custom", "prefill-that-inherits", "prefill-alone", "several-nodes"],
)
def test_an_argument_that_refers_to_a_variable_of_the_users_own_is_passed_on(service):
    found = [engine(template) for template in model_servers(rendered(tree(qwen=service)))]
    referring = [container for container in found if ARGUMENT in container["args"]]
    assert referring
    for container in referring:
        assert {"name": "TEMPLATES", "value": "/templates"} in container["env"]


def test_an_argument_that_refers_to_a_variable_of_another_role_is_refused():
    prefill = {"engine": {"env": {"TEMPLATES": "/templates"}}}
    (message,) = told(tree(qwen={"engine": {"args": [ARGUMENT]}, "prefill": prefill}))
    assert "services.qwen.engine.args[0]: refers to no variable of this container ($(TEMPLATES))" in message
