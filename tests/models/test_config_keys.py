"""Keys of the program's own namespace are known; a misspelt one is refused with a suggestion."""

import pytest

from models import config_keys


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("inference-stacks:kubeconfg", "did you mean inference-stacks:kubeconfig?"),
        ("inference-stacks:kubeConfig", "did you mean inference-stacks:kubeconfig?"),
        ("inference-stacks:stacks", "did you mean inference-stacks:stack?"),
        (
            "inference-stacks:namespace",
            (
                "known here: inference-stacks:stack, inference-stacks:kubeconfig, inference-stacks:previewed, "
                "inference-stacks:outsideWindows"
            ),
        ),
    ],
)
def test_an_unknown_key_is_refused(key, remedy):
    """See defects B5."""
    (problem,) = config_keys.problems(["inference-stacks:stack", key, "kubernetes:context"])
    assert str(problem) == f"{key}: unknown key; {remedy}"


def test_known_keys_and_keys_of_others_are_accepted():
    """See defects B5."""
    keys = ["inference-stacks:stack", "inference-stacks:kubeconfig", "kubernetes:kubeconfg", "pulumi:tags"]
    assert config_keys.problems(keys) == []
