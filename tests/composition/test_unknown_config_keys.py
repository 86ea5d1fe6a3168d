"""A run with an unknown key of the program's own namespace reaches no cluster and registers nothing."""

import json

import pulumi
import pytest

from composition import target
from tests.support.program import run
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
def test_it_is_reported_together_with_other_mistakes():
    """See defects B5."""
    found = message(tree(qwen={"replica": 2}), **{"inference-stacks:kubeconfg": "kind: Config"})
    assert found.splitlines()[1:] == [
        f"  - {MISSPELT}",
        "  - services.qwen.replica: unknown key (replica); did you mean replicas?",
    ]
