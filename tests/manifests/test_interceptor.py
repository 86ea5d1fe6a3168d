"""The interceptor may read what it meters, and nothing else."""

import planning
from manifests.assembly import objects, render
from models.load import load
from planning.ground.marks import StackName
from tests.support.stacks import exactly, rendered, tree

INTERCEPTOR = {"mode": "label", "namespace": "metering", "serviceAccountName": "counter"}


def test_the_interceptor_may_read_services_in_the_namespace_of_the_metered_services_alone():
    stack = tree(free={"interceptor": {"enabled": False}}, qwen={"namespace": "other"}) | {"interceptor": INTERCEPTOR}
    everything = rendered(stack)
    name = "counter-services-inference-stacks.dev"
    role, binding = (exactly(everything, kind, name) for kind in ("Role", "RoleBinding"))
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == "other"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "counter", "namespace": "metering"}]


def test_two_stacks_grant_in_roles_of_their_own():
    """See defects A24."""
    loaded = load(tree() | {"interceptor": INTERCEPTOR})
    names = [StackName("organization", "inference-stacks", stack) for stack in ("blue", "green")]
    places = [[item.place for item in objects(render(planning.plan(loaded, name)))] for name in names]
    grants = [[place for place in of_stack if place[3].startswith("counter-services")] for of_stack in places]
    assert [len(grant) for grant in grants] == [2, 2]
    assert not {*grants[0]} & {*grants[1]}
