"""Rights and times of a picker: what it may watch, how long it may start, and how long its last requests run."""

import pytest

from manifests.assembly import objects, render
from planning.ground import parts
from planning.releases import channels
from tests.support.stacks import find, plan, rendered, tree

READ = ["get", "list", "watch"]
REQUESTS = ["inferenceobjectives", "inferencemodelrewrites"]
LEGACY = "inference.networking.x-k8s.io"


def picker(release="llm-d-0.10", **service):
    """Return the rendered object of a picker's Deployment."""
    stack = tree(qwen=service) | {"release": release}
    (deployment,) = [each for each in objects(render(plan(stack))) if each.id.part is parts.PICKER]
    return deployment


@pytest.mark.parametrize("release", ["llm-d-0.9", "llm-d-0.10"])
def test_a_picker_may_watch_requests_in_the_group_that_the_cluster_serves(release):
    """A picker watches the older group where a cluster serves no other. See defects A6."""
    rules = find(rendered(tree() | {"release": release}), "Role", "qwen-epp")["rules"]
    groups = [rule["apiGroups"] for rule in rules if rule["resources"] == REQUESTS and rule["verbs"] == READ]
    assert groups == [[LEGACY], ["llm-d.ai"]]


@pytest.mark.parametrize("release", channels())
def test_a_picker_may_start_as_long_as_an_image_takes_to_a_new_node(release):
    """The deadline lies a minute before the end of the wait, so that Kubernetes gives its reason. See defects A16."""
    deployment = picker(release)
    assert deployment.manifest["spec"]["progressDeadlineSeconds"] == deployment.wait.seconds - 60 == 540


@pytest.mark.parametrize(
    ("drain_timeout", "grace"),
    [
        ("45s", 130),
        ("100s", 130),
        ("101s", 131),
        ("10m", 630),
    ],
)
def test_a_picker_ends_no_earlier_than_the_pods_of_its_requests(drain_timeout, grace):
    """A picker streams each request to its end, and a killed one cuts it. See defects A20."""
    pod = picker(drainTimeout=drain_timeout).manifest["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == grace
