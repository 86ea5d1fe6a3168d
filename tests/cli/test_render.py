"""`render --json`: one document, the same bytes each time, with the objects that the YAML has."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli import render
from facts import facts_file
from models.problems import ConfigError
from planning.ground.cluster_facts import ClusterFacts, Served
from tests.support.commands import ended, rendering
from tests.support.stacks import OF_CHANNEL, SHIPPED, tree


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_json_document_has_the_release_the_facts_and_every_object_in_order(path):
    document = json.loads(rendering(path, "--json"))
    text = rendering(path)
    assert list(document) == ["release", "factsDigest", "objects"]
    assert document["factsDigest"] is None
    assert document["objects"] == list(yaml.load_all(text, yaml.CSafeLoader))
    assert text.startswith(f"# release: {document['release']}\n# facts: none\n# objects: {len(document['objects'])}\n")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_json_is_the_same_each_time_and_for_every_locale(path):
    text = rendering(path, "--json")
    assert text == rendering(path, "--json")
    assert text.isascii()


def test_keys_stand_in_the_order_of_the_yaml(golden):
    golden(Path("tests/contracts/goldens/dev.json"), rendering("dev", "--json"))


def test_the_digest_is_that_of_the_yamls_header(tmp_path):
    facts = tmp_path / "facts.json"
    facts.write_text(facts_file.text(ClusterFacts(Served(frozenset({"v1/Service"})))))
    text = rendering("dev", "--json", "--facts", str(facts))
    assert render.render_json("dev", str(facts)) == text
    digest = json.loads(text)["factsDigest"]
    assert rendering("dev", "--facts", str(facts)).splitlines()[1] == f"# facts: {digest}"
    assert len(digest) == 64


def test_the_command_prints_the_document_and_nothing_else():
    command = [sys.executable, "-m", "cli", "render", "dev", "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    (line,) = done.stderr.decode().splitlines()
    assert (done.returncode, line.startswith(f"warning: {OF_CHANNEL}")) == (0, True)
    assert done.stdout.decode("ascii") == rendering("dev", "--json")


def test_a_mistake_is_the_same_message_with_either_format(tmp_path, capsys):
    path = tmp_path / "stack.yaml"
    path.write_text("config:\n  inference-stacks:stack:\n    service: {}\n")
    end = ended(capsys, "render", str(path))
    assert (end.code, end.output) == (2, "")
    assert end.errors
    assert ended(capsys, "render", str(path), "--json") == end


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read (No such file or directory)"),
        ("apis: []", "is not JSON"),
        ("[]", "is not a mapping"),
        ("{}", "holds no facts of a cluster (wrong type below apis)"),
    ],
    ids=["absent", "no-json", "a-list", "empty"],
)
def test_facts_that_cannot_be_read_are_an_error(content, reason, tmp_path):
    """See defects B6."""
    facts = tmp_path / "facts.json"
    if content is not None:
        facts.write_text(content)
    with pytest.raises(ConfigError) as error:
        rendering("dev", "--facts", str(facts))
    remedy = "name a file that `python -m cli facts` wrote"
    assert str(error.value) == f"--facts: facts.json {reason}; {remedy}"


def test_the_command_ends_with_2_where_facts_cannot_be_read(capsys):
    """See defects B6."""
    code, output, errors = ended(capsys, "render", "dev", "--facts", "/nonexistent")
    assert (code, output) == (2, "")
    assert errors.startswith("--facts: nonexistent cannot be read (No such file or directory); ")


def test_releases_that_the_configuration_sets_for_services_and_canaries_are_named(tmp_path):
    stack = tree(qwen={"canary": {"weight": 1, "release": "gie-1.3"}}, bert={"release": "llm-d-0.8"})
    path = tmp_path / "stack.yaml"
    path.write_text(json.dumps({"config": {"inference-stacks:stack": stack | {"release": "llm-d-0.9"}}}))
    document = json.loads(rendering(path, "--json"))
    assert list(document) == ["release", "ownReleases", "factsDigest", "objects"]
    assert document["ownReleases"] == {"bert": "llm-d-0.8", "qwen.canary": "gie-1.3"}
    assert rendering(path).splitlines()[:3] == [
        "# release: llm-d-0.9",
        "# release of bert: llm-d-0.8",
        "# release of qwen.canary: gie-1.3",
    ]
