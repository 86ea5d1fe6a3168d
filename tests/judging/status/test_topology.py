"""Services of a snapshot, as live objects say it."""

from datetime import UTC, datetime

from judging.status import topology
from manifests.assembly import objects, render
from planning.ground.snapshot import KINDS, Snapshot
from tests.support.stacks import plan, tree

NOW = datetime(2026, 11, 28, tzinfo=UTC)


def services(stack):
    """Return the variants of each service of a rendered stack, by name."""
    items = dict[str, list[object]]()
    for rendered in objects(render(plan(stack))):
        items.setdefault(rendered.api, []).append(rendered.manifest)
    snapshot = Snapshot(NOW, {kind: items.get(kind, []) for kind in KINDS})
    return {
        service.name: [(variant.name, variant.base) for variant in service.variants]
        for service in topology.of(snapshot).services
    }


def test_encode_pods_and_sets_are_roles_of_their_service():
    stack = tree(x={"encode": {}, "prefill": {"sets": {"a": {}, "b": {"parallelism": {"pipeline": 2}}}}})
    items = dict[str, list[object]]()
    for rendered in objects(render(plan(stack))):
        items.setdefault(rendered.api, []).append(rendered.manifest)
    (service,) = topology.of(Snapshot(NOW, {kind: items.get(kind, []) for kind in KINDS})).services
    roles = {role.role for variant in service.variants for role in variant.roles}
    assert roles == {"decode", "encode", "prefill-a", "prefill-b"}


def test_sets_of_decode_pods_are_roles_of_their_service():
    items = dict[str, list[object]]()
    for rendered in objects(render(plan(tree(x={"decode": {"sets": {"a": {}, "b": {}}}})))):
        items.setdefault(rendered.api, []).append(rendered.manifest)
    (service,) = topology.of(Snapshot(NOW, {kind: items.get(kind, []) for kind in KINDS})).services
    assert {role.role for variant in service.variants for role in variant.roles} == {"decode-a", "decode-b"}


def test_a_canary_belongs_to_its_service():
    assert services(tree(x={"canary": {"weight": 10}})) == {"x": [("primary", "x"), ("canary", "x-canary")]}


def test_a_service_whose_name_ends_like_a_canary_is_a_service():
    assert services(tree(x={}, **{"x-canary": {}})) == {
        "x": [("primary", "x")],
        "x-canary": [("primary", "x-canary")],
    }


def test_a_service_without_a_route_whose_name_ends_like_a_canary_is_a_service():
    stack = {key: value for key, value in tree(x={}, **{"x-canary": {}}).items() if key != "gateway"}
    assert list(services(stack)) == ["x", "x-canary"]
