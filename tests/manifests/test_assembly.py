"""Objects are assembled into components, whose names Pulumi keeps."""

from manifests import assembly
from planning.plans import ServicePlan, StackPlan, VariantPlan
from tests.support.stacks import plan, tree

CANARY = {"weight": 10}
CACHE = {"caches": {"m": {"source": "s3://bucket/m", "size": "1Gi"}}, "namespaceOptions": {"create": True}}


def components(**more):
    return {item.name: item for item in assembly.render(plan(tree(qwen={"canary": CANARY}) | more))}


def test_components_are_of_the_stack_its_services_and_their_variants():
    kinds = {name: item.of and type(item.of) for name, item in components(**CACHE).items()}
    assert kinds == {
        "namespace": None,
        "caches": None,
        "qwen": ServicePlan,
        "qwen-epp": VariantPlan,
        "qwen-canary-epp": VariantPlan,
        "routing": StackPlan,
    }


def test_objects_without_a_component_are_children_of_the_stack():
    by_name = components(**CACHE)
    assert {name: item.resource for name, item in by_name.items() if item.of is None} == {
        "namespace": None,
        "caches": None,
    }
    assert by_name["qwen-epp"].resource == ("inference-stacks:index:EPPStack", "qwen-epp")
    assert by_name["routing"].resource == ("inference-stacks:index:RoutingStack", "routing")
    identity = by_name["qwen"].identity(by_name["qwen"].objects[0])
    assert identity.component == "inference-stacks:index:ModelServiceStack"
    assert by_name["namespace"].identity(by_name["namespace"].objects[0]).component == ""


def test_empty_components_are_left_out():
    assert {"namespace", "caches"}.isdisjoint(components())


def test_every_predecessor_comes_before_its_object():
    before = set()
    for item in assembly.objects(components(**CACHE).values()):
        assert {*item.after} <= before
        before.add(item.id)
    assert len(before) > 20


def test_a_route_waits_only_if_it_is_awaited():
    stack = plan(tree())

    def waits(awaited):
        (route,) = [
            item for item in assembly.objects(assembly.render(stack, awaited)) if item.api.endswith("/HTTPRoute")
        ]
        return route.wait

    assert waits({"qwen"}) != waits(()) == waits({"another"})
