"""Texts, names of models and hosts that nobody can type, see or reach are refused with what is wrong with them."""

import pytest

from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import told

BLANK = "begins or ends with a blank"
CONTROL = "has a line break or another control character"
HIDDEN = "has an invisible character"


@pytest.mark.parametrize(
    ("release", "what"),
    [
        (" llm-d-0.10", BLANK),
        ("llm-d-0.10 ", BLANK),
        ("llm-d\n0.10", CONTROL),
        ("llm-d\t0.10", CONTROL),
        ("", "is empty"),
    ],
)
def test_a_text_is_called_empty_only_if_it_is(release, what):
    """See defects H25."""
    (message,) = told(tree() | {"release": release})
    assert message.startswith(f"release: {what}")


def test_a_variable_without_a_value_is_advised_to_be_empty_text():
    """See defects H25."""
    (message,) = told(tree(qwen={"engine": {"env": {"A": None}}}))
    assert message.endswith("; write '' for an empty text, or delete the line")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        *((f"a{hidden}b", HIDDEN) for hidden in "\u200b\u200d\u2060\ufeff\u00ad\u202e\u2066\u061c"),
        *((f"a{control}b", CONTROL) for control in "\0\x1b\n\u2028"),
        ("cafe\u0301", "is not in Unicode's composed form NFC"),
        ("\u212b", "is not in Unicode's composed form NFC"),
    ],
    ids=ascii,
)
def test_a_name_of_a_model_that_nobody_can_type_is_refused(name, what):
    """See defects H19."""
    (message,) = told(tree(qwen={"model": {"name": name, "source": "hf://a/b"}}))
    assert message.startswith(f"services.qwen.model.name: {what}")
    targets = [{"model": "a/b"}]
    service = {"model": {"source": "hf://a/b"}, "rewrites": [{"model": name, "targets": targets}]}
    (message,) = told(tree(qwen=service))
    assert message.startswith(f"services.qwen.rewrites[0].model: {what}")


@pytest.mark.parametrize(
    "name", ["org/model", "a b", "caf\u00e9", "\u6a21\u578b", "\u043c\u043e\u0434\u0435\u043b\u044c", "\U0001f999"]
)
def test_a_name_in_letters_of_any_language_is_taken(name):
    assert rendered(tree(qwen={"model": {"name": name, "source": "hf://a/b"}}))


@pytest.mark.parametrize("port", [0, 65536, 99999])
@pytest.mark.parametrize(
    "stack",
    [
        lambda port: tree(qwen={"model": {"source": "hf://a/b", "endpoint": f"http://hub.example:{port}"}}),
        lambda port: tree(qwen={"model": {"name": "a", "source": f"kit://hub.example:{port}/a/b:v1"}}),
        lambda port: tree(qwen={"engine": {"image": f"hub.example:{port}/a/b:v1"}}),
        lambda port: tree() | {"observability": {"tracing": {"endpoint": f"http://traces:{port}"}}},
        lambda port: tree() | {"observability": {"prometheus": {"serverAddress": f"http://prometheus:{port}/x"}}},
    ],
    ids=["endpoint", "registry", "image", "traces", "prometheus"],
)
def test_an_address_with_a_port_that_cannot_exist_is_refused(stack, port):
    """See defects H11."""
    (message,) = told(stack(port))
    assert ": has a port that is not from 1 to 65535 (" in message


@pytest.mark.parametrize("host", ["a" * 64 + ".com", "*." + "a" * 64, "10.0.0.1", "*.10.0.0.1"])
def test_a_hostname_that_no_client_can_resolve_is_refused(host):
    """See defects H11."""
    (message,) = told(tree(qwen={"route": {"hostnames": [host]}}))
    assert message.startswith("services.qwen.route.hostnames[0]: ")


def test_the_longest_hostnames_and_ports_are_taken():
    service = {
        "route": {"hostnames": ["a" * 63 + ".com", "*." + "b" * 63, "1.2.3.example"]},
        "model": {"source": "hf://a/b", "endpoint": "http://10.0.0.1:65535"},
    }
    assert rendered(tree(qwen=service))
