"""The order of registration: nothing waits for what cannot be ready yet."""

from manifests.assembly import objects, render
from planning.ground.order import AFTER, Id, Part
from tests.support.stacks import plan, tree


def after(stack):
    return {one.id: set(one.after) for one in objects(render(plan(stack)))}


def everything_before(order, one):
    direct = order[one]
    return direct.union(*(everything_before(order, earlier) for earlier in direct)) if direct else set()


def metered():
    return tree(a={}, b={}) | {
        "namespaceOptions": {"create": True},
        "interceptor": {"mode": "label", "namespace": "metering"},
    }


def test_the_pool_exists_before_its_picker_is_waited_for():
    before = everything_before(after(metered()), Id("a", Part.PICKER))
    assert {
        Id("a", part) for part in (Part.POOL, Part.PICKER_SERVICE, Part.PICKER_ROLE_BINDING, Part.PICKER_CONFIG)
    } <= before


def test_models_and_pickers_come_up_side_by_side():
    order = after(metered())
    assert Id("a", Part.DECODE) not in everything_before(order, Id("a", Part.PICKER))
    assert Id("a", Part.PICKER) not in everything_before(order, Id("a", Part.DECODE))


def test_a_route_comes_after_all_that_it_leads_to():
    before = everything_before(after(metered()), Id("a", Part.ROUTE))
    assert {Id("a", part) for part in (Part.DECODE, Part.PICKER, Part.POOL)} <= before


def test_no_service_waits_for_another():
    order = after(metered())
    for one in order:
        assert {earlier.owner for earlier in everything_before(order, one)} <= {one.owner, "models"}


def test_everything_in_a_made_namespace_comes_after_it():
    order = after(metered())
    namespace = Id("models", Part.NAMESPACE)
    assert all(namespace in everything_before(order, one) for one in order if one != namespace)


def test_what_is_registered_is_registered_after_what_it_needs():
    seen = set()
    for one in objects(render(plan(metered()))):
        assert set(one.after) <= seen
        seen.add(one.id)


def test_a_part_that_is_not_made_hands_its_predecessors_on():
    stack = metered()
    stack["gateway"]["provider"] = "none"
    stack["services"]["a"]["endpointPicker"] = {"metricsAuth": False}
    before = everything_before(after(stack), Id("a", Part.PICKER))
    assert Id("a", Part.PICKER_SERVICE_ACCOUNT) in before


def test_every_part_has_a_place():
    assert set(AFTER) == set(Part)
