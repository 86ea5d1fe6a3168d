"""Documents of files."""

import json

import pytest

from migration import files
from models.problems import ConfigError

OBJECT = "apiVersion: a/v1\nkind: A\nmetadata: {name: %s}\n"


def test_a_file_of_one_document_has_its_own_name():
    (document,) = files.documents(f"# first\n---\n{OBJECT % 'x'}...\n", "a.yaml")
    assert (document.file, document.kind) == ("a.yaml", "a/A")


def test_documents_of_a_file_are_named_by_their_objects():
    text = f"{OBJECT % 'x'}---\n# nothing\n---\n{OBJECT % 'y'}--- {{a: 1}}\n"
    assert [document.file for document in files.documents(text, "a.yaml")] == [
        "a.yaml A/x",
        "a.yaml A/y",
        "a.yaml document 3",
    ]


def test_the_items_of_a_list_are_documents():
    text = '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "a/v1", "kind": "A"}, null]}'
    assert [document.kind for document in files.documents(text, "-")] == ["a/A"]


@pytest.mark.parametrize("text", ["", "---\n", "# x", "3", "[1]", "a: [", "a: 1\na: 2", "&a [*a]", "\x00"])
def test_what_is_no_document_is_refused_with_the_name_of_the_file(text):
    with pytest.raises(ConfigError, match=r"a\.yaml"):
        files.documents(text, "a.yaml")


def test_directives_and_ends_of_documents_belong_to_no_document():
    text = "%YAML 1.2\n---\na: 1\n...\n# between\n---\nb: 2\n...\n"
    assert [document.tree for document in files.documents(text, "f")] == [{"a": 1}, {"b": 2}]


def test_items_of_a_list_without_a_kind_have_that_of_the_list():
    items = [{"metadata": {"name": "a"}}, {"apiVersion": "v1", "kind": "Pod"}]
    text = json.dumps({"apiVersion": "serving.kserve.io/v1alpha2", "kind": "LLMInferenceServiceList", "items": items})
    kinds = [document.kind for document in files.documents(text, "f")]
    assert kinds == ["serving.kserve.io/LLMInferenceService", "/Pod"]
