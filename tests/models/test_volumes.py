"""Paths of nodes, as Kubernetes takes them."""

import pytest

from tests.support.stacks import mistakes, tree


def stack(path):
    volume = {"type": "host-path", "path": path, "mountPath": "/node"}
    return tree(qwen={"pod": {"volumes": {"node": volume}}})


@pytest.mark.parametrize("path", ["/..", "/../etc", "/mnt/..", "/mnt/../etc", "mnt"])
def test_a_path_that_leads_up_is_refused(path):
    (mistake,) = mistakes(stack(path))
    assert mistake == (
        f"services.qwen.pod.volumes.node.path: is not a path of the node ({path}); write one such as /var/lib/models"
    )


@pytest.mark.parametrize("path", ["/", "/mnt", "/..mnt", "/mnt..", "/mnt/...", "/mnt/..a/b"])
def test_dots_in_names_are_taken(path):
    assert mistakes(stack(path)) == []
