"""The order of registration: nothing waits for what cannot be ready yet."""

from manifests.assembly import objects, render
from planning.ground import order as ordering
from planning.ground import parts
from planning.ground.order import Id, Relations
from tests.support.stacks import plan, tree


def after(stack):
    return {resource.id: set(resource.after) for resource in objects(render(plan(stack)))}


def everything_before(order, object_id):
    direct = order[object_id]
    return direct.union(*(everything_before(order, earlier) for earlier in direct)) if direct else set()


def metered():
    return tree(a={}, b={}) | {
        "namespaceOptions": {"create": True},
        "interceptor": {"mode": "label", "namespace": "metering"},
    }


def test_the_pool_exists_before_its_picker_is_waited_for():
    before = everything_before(after(metered()), Id("a", parts.PICKER))
    assert {
        Id("a", part) for part in (parts.POOL, parts.PICKER_SERVICE, parts.PICKER_ROLE_BINDING, parts.PICKER_CONFIG)
    } <= before


def test_models_and_pickers_come_up_side_by_side():
    order = after(metered())
    assert Id("a", parts.DECODE.workload) not in everything_before(order, Id("a", parts.PICKER))
    assert Id("a", parts.PICKER) not in everything_before(order, Id("a", parts.DECODE.workload))


def test_a_route_comes_after_all_that_it_leads_to():
    before = everything_before(after(metered()), Id("a", parts.ROUTE))
    assert {Id("a", part) for part in (parts.DECODE.workload, parts.PICKER, parts.POOL)} <= before


def test_no_service_waits_for_another():
    order = after(metered())
    for object_id in order:
        assert {earlier.owner for earlier in everything_before(order, object_id)} <= {object_id.owner, "models"}


def test_everything_in_a_made_namespace_comes_after_it():
    order = after(metered())
    namespace = Id("models", parts.NAMESPACE)
    assert all(namespace in everything_before(order, object_id) for object_id in order if object_id != namespace)


def test_what_is_registered_is_registered_after_what_it_needs():
    seen = set()
    for resource in objects(render(plan(metered()))):
        assert set(resource.after) <= seen
        seen.add(resource.id)


def test_a_part_that_is_not_made_hands_its_predecessors_on():
    stack = metered()
    stack["gateway"]["provider"] = "none"
    stack["services"]["a"]["endpointPicker"] = {"metricsAuth": False}
    before = everything_before(after(stack), Id("a", parts.PICKER))
    assert Id("a", parts.PICKER_SERVICE_ACCOUNT) in before


def ids(*made, owner="a"):
    return [Id(owner, part) for part in made]


def related(**relations):
    return Relations(**{"namespaces": {}, "weights": {}, "further_owners": {}, "further_predecessors": {}} | relations)


def test_the_order_follows_from_ids_alone():
    made = ids(parts.PICKER_SERVICE, parts.POOL)
    assert ordering.predecessors(made, related()) == {made[0]: (), made[1]: (made[0],)}


def test_an_object_comes_after_the_namespace_of_its_owner_and_no_other():
    made = [*ids(parts.SERVICE), Id("models", parts.NAMESPACE), Id("trials", parts.NAMESPACE)]
    order = ordering.predecessors(made, related(namespaces={"a": "trials"}))
    assert order == {Id("a", parts.SERVICE): (Id("trials", parts.NAMESPACE),), made[1]: (), made[2]: ()}


def test_what_is_not_made_hands_its_predecessors_on_in_its_place():
    made = [Id("models", parts.NAMESPACE), *ids(parts.DECODE.network_policy, parts.FILL, parts.DECODE.workload)]
    order = ordering.predecessors(made, related(namespaces={"a": "models"}))
    assert order[Id("a", parts.DECODE.workload)] == (made[0], *made[1:3])
    assert order[Id("a", parts.FILL)] == (made[0],)


def test_pods_come_after_the_job_that_fills_their_claim_whoever_owns_it():
    made = [*ids(parts.FILL, owner="cache"), *ids(parts.FILL, parts.DECODE.workload)]
    assert ordering.predecessors(made, related(weights={"a": "cache"}))[made[-1]] == (made[0],)
    assert ordering.predecessors(made, related())[made[-1]] == (made[1],)


def test_a_route_comes_after_all_that_each_of_its_owners_has():
    made = [*ids(parts.POOL, owner="a.canary"), *ids(parts.POOL, parts.ROUTE)]
    assert ordering.predecessors(made, related(further_owners={made[-1]: ("a.canary",)}))[made[-1]] == (
        made[1],
        made[0],
    )


def test_an_object_of_another_owner_comes_first_where_it_is_made():
    made = [*ids(parts.SERVICE, owner="b"), *ids(parts.ROUTE)]
    others = {made[-1]: (Id("b", parts.SERVICE), Id("b", parts.MIRROR_GRANT))}
    assert ordering.predecessors(made, related(further_predecessors=others))[made[-1]] == (made[0],)


def test_several_objects_of_one_part_all_come_first_each_once():
    made = [Id("a", parts.OBJECTIVE, "x"), Id("a", parts.OBJECTIVE, "y"), *ids(parts.POOL, parts.ROUTE)]
    assert ordering.predecessors(made, related())[made[-1]] == (made[0], made[1], made[2])


def test_a_service_that_is_called_like_a_namespace_of_the_interceptor_keeps_its_own():
    stack, unmetered = metered(), {"namespace": "trials", "interceptor": {"enabled": False}}
    stack["services"]["models"] = {**stack["services"].pop("a"), **unmetered}
    order = after(stack)
    (grant,) = [object_id for object_id in order if object_id.part is parts.INTERCEPTOR_ROLE]
    assert order[grant] == {Id("models", parts.NAMESPACE)}
    assert order[Id("models", parts.SERVICE)] == {Id("trials", parts.NAMESPACE)}
