"""A run with an unknown key of the program's own namespace reaches no cluster and registers nothing."""

import json
import runpy

import pulumi
import pytest

from composition import target
from tests.support.program import Monitor, Recorder, begin, run
from tests.support.stacks import tree

MISSPELT = "inference-stacks:kubeconfg: unknown key; did you mean inference-stacks:kubeconfig?"


@pytest.fixture
def _no_cluster(monkeypatch):
    def fail(*_):
        pytest.fail("a cluster was read")

    monkeypatch.setattr(target.Live, "facts", fail)


def message(stack, **config):
    with pytest.raises(pulumi.RunError) as error:
        run(stack, **config)
    return str(error.value)


@pytest.mark.usefixtures("_no_cluster")
def test_a_misspelt_key_ends_the_run():
    """See defects B5."""
    found = message(tree(), **{"inference-stacks:kubeconfg": "kind: Config"})
    assert found == f"The configuration is mistaken, nothing was changed:\n  - {MISSPELT}"


@pytest.mark.usefixtures("_no_cluster")
def test_a_key_that_the_engine_hands_over_counts(monkeypatch):
    """See defects B5."""
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps({"inference-stacks:kubeconfg": "kind: Config"}))
    assert MISSPELT in message(tree())


@pytest.mark.usefixtures("_no_cluster")
def test_a_kubeconfig_that_is_not_encrypted_ends_the_run(monkeypatch):
    """See defects H5. It may name a server, and files or programs that give the caller's identity to the server."""
    monkeypatch.setattr(pulumi.runtime, "is_config_secret", lambda _: False)
    found = message(tree(), **{"inference-stacks:kubeconfig": "kind: Config"})
    assert found.splitlines()[1:] == [
        "  - inference-stacks:kubeconfig: is not encrypted; run pulumi config set --secret inference-stacks:kubeconfig"
    ]


@pytest.mark.usefixtures("_no_cluster")
def test_it_is_reported_together_with_other_mistakes():
    """See defects B5."""
    found = message(tree(qwen={"replica": 2}), **{"inference-stacks:kubeconfg": "kind: Config"})
    assert found.splitlines()[1:] == [
        f"  - {MISSPELT}",
        "  - services.qwen.replica: unknown key (replica); did you mean replicas?",
    ]


RENAMED = {"project": "chat", "organization": "organization", "stack": "dev"}


def message_in_project(config):
    """Return what a run of a project called chat says to a configuration."""
    recorder = Recorder()
    begin(recorder, monitor=Monitor(recorder), **RENAMED)
    pulumi.runtime.set_all_config({key: json.dumps(value) for key, value in config.items()})

    @pulumi.runtime.test
    def body():
        runpy.run_path("__main__.py", run_name="__main__")

    with pytest.raises(pulumi.RunError) as error:
        body()
    return str(error.value).splitlines()[1:]


def test_a_project_of_another_name_has_keys_of_that_name():
    """See defects R3."""
    assert message_in_project({}) == ["  - chat:stack: is missing or empty; write at least namespace and services"]
    unread = (
        "  - inference-stacks:stack: is not read in project chat; rename it to chat:stack, or write "
        "name: inference-stacks in Pulumi.yaml"
    )
    missing = "  - chat:stack: is missing or empty; write at least namespace and services"
    assert message_in_project({"inference-stacks:stack": tree()}) == [missing, unread]
    mistaken = tree() | {"release": "llm-d-0.1"}
    assert message_in_project({"inference-stacks:stack": tree(), "chat:stack": mistaken})[0] == unread
    (misspelt,) = message_in_project({"chat:stack": tree(), "chat:kubeconfg": "x"})
    assert misspelt == "  - chat:kubeconfg: unknown key; did you mean chat:kubeconfig?"
