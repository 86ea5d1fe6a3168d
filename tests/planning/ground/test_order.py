"""The order of registration: nothing waits for what cannot be ready yet."""

from manifests.assembly import objects, render
from planning.ground import order as ordering
from planning.ground.order import AFTER, Id, Part, Relations
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


def ids(*parts, owner="a"):
    return [Id(owner, part) for part in parts]


def related(**relations):
    return Relations(**{"namespaces": {}, "weights": {}, "beside": {}, "others": {}} | relations)


def test_the_order_follows_from_ids_alone():
    made = ids(Part.PICKER_SERVICE, Part.POOL)
    assert ordering.after(made, related()) == {made[0]: (), made[1]: (made[0],)}


def test_an_object_comes_after_the_namespace_of_its_owner_and_no_other():
    made = [*ids(Part.SERVICE), Id("models", Part.NAMESPACE), Id("trials", Part.NAMESPACE)]
    order = ordering.after(made, related(namespaces={"a": "trials"}))
    assert order == {Id("a", Part.SERVICE): (Id("trials", Part.NAMESPACE),), made[1]: (), made[2]: ()}


def test_what_is_not_made_hands_its_predecessors_on_in_its_place():
    made = [Id("models", Part.NAMESPACE), *ids(Part.DECODE_NETWORK_POLICY, Part.FILL, Part.DECODE)]
    order = ordering.after(made, related(namespaces={"a": "models"}))
    assert order[Id("a", Part.DECODE)] == (made[0], *made[1:3])
    assert order[Id("a", Part.FILL)] == (made[0],)


def test_pods_come_after_the_job_that_fills_their_claim_whoever_owns_it():
    made = [*ids(Part.FILL, owner="cache"), *ids(Part.FILL, Part.DECODE)]
    assert ordering.after(made, related(weights={"a": "cache"}))[made[-1]] == (made[0],)
    assert ordering.after(made, related())[made[-1]] == (made[1],)


def test_a_route_comes_after_all_that_each_of_its_owners_has():
    made = [*ids(Part.POOL, owner="a.canary"), *ids(Part.POOL, Part.ROUTE)]
    assert ordering.after(made, related(beside={made[-1]: ("a.canary",)}))[made[-1]] == (made[1], made[0])


def test_an_object_of_another_owner_comes_first_where_it_is_made():
    made = [*ids(Part.SERVICE, owner="b"), *ids(Part.ROUTE)]
    others = {made[-1]: (Id("b", Part.SERVICE), Id("b", Part.MIRROR_GRANT))}
    assert ordering.after(made, related(others=others))[made[-1]] == (made[0],)


def test_several_objects_of_one_part_all_come_first_each_once():
    made = [Id("a", Part.OBJECTIVE, "x"), Id("a", Part.OBJECTIVE, "y"), *ids(Part.POOL, Part.ROUTE)]
    assert ordering.after(made, related())[made[-1]] == (made[0], made[1], made[2])


def test_a_service_that_is_called_like_a_namespace_of_the_interceptor_keeps_its_own():
    stack, unmetered = metered(), {"namespace": "trials", "interceptor": {"enabled": False}}
    stack["services"]["models"] = {**stack["services"].pop("a"), **unmetered}
    order = after(stack)
    (grant,) = [one for one in order if one.part is Part.INTERCEPTOR_ROLE]
    assert order[grant] == {Id("models", Part.NAMESPACE)}
    assert order[Id("models", Part.SERVICE)] == {Id("trials", Part.NAMESPACE)}
