"""Engine arguments refer to variables of their own container, generated or the user's."""

import json
import re

import pytest

from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import SPANNING, engine, model_servers, told

ARGUMENT = "--chat-template=$(TEMPLATES)/chat.jinja"
SIGNED = {"type": "keyless", "issuer": "https://token.example"}
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


NAMES = ["$(POD_IP)", "$$(POD_IP)", "$(HF_TOKEN)/x", "a$", "$", "$$", "us$5", "$(open", "$()", "plain/name"]


def expanded(text):
    """Return what Kubernetes makes of an argument, if every variable has the value `SECRET`."""
    replacements = {"$$": "$", "$(": "$("}
    return re.sub(r"\$\$|\$\([^)]*\)|\$\(", lambda match: replacements.get(match[0], "SECRET"), text)


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_serves_the_name_that_is_written_whatever_kubernetes_replaces_in_arguments(name):
    """See defects H19."""
    service = {"model": {"name": name, "source": "hf://a/b"}, "kvCache": {"events": True}}
    arguments = engine(*model_servers(rendered(tree(qwen=service))))["args"]
    flags = dict(argument.partition("=")[::2] for argument in map(expanded, arguments))
    assert flags["--served-model-name"] == name
    topic = json.loads(flags["--kv-events-config"])["topic"]
    assert (topic.endswith(f"@{name}"), topic.count("SECRET")) == (True, 1)


@pytest.mark.parametrize("name", NAMES)
def test_variables_of_a_container_that_fetches_have_the_text_that_is_written(name):
    """See defects H19."""
    signed = {"name": "a", "source": "kit://registry.example/a/b:v1", "verify": SIGNED | {"identity": name}}
    stored = {"name": "a", "source": "s3://bucket/a", "region": name, "secrets": ["keys"]}
    for model, variable in ((signed, "COSIGN_CERT_IDENTITY"), (stored, "AWS_DEFAULT_REGION")):
        (pod,) = model_servers(rendered(tree(qwen={"model": model})))
        (fetch,) = pod["spec"]["initContainers"]
        values = {entry["name"]: entry.get("value") for entry in fetch["env"]}
        assert expanded(values[variable]) == name


SCALE_OUT = "--enable-scale-out"
PRECISE = {"endpointPicker": {"preset": "precise-prefix-cache"}}
OLDER = {"image": "vllm/vllm-openai:v0.26.0"}


@pytest.mark.parametrize(
    ("service", "counts"),
    [
        (PRECISE, [1]),
        (PRECISE | {"prefill": {}}, [1, 0]),
        (PRECISE | {"engine": {"args": [SCALE_OUT]}}, [1]),
        (PRECISE | {"engine": OLDER}, [0]),
        ({"endpointPicker": {"preset": "approximate-prefix-cache"}}, [0]),
        ({"endpointPicker": {"enabled": False}}, [0]),
    ],
    ids=["asks", "asks-decode-alone", "flag-of-the-user", "older-engine", "asks-nobody", "no-picker"],
)
def test_engines_that_a_picker_asks_for_tokens_answer_where_it_asks(service, counts):
    templates = model_servers(rendered(tree(qwen=service)))
    assert [engine(template)["args"].count(SCALE_OUT) for template in templates] == counts
