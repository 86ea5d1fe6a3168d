"""The parts of a stack: each row comes after the rows that it names."""

import dataclasses

from manifests.assembly import objects, render
from planning.ground import parts
from planning.ground.parts import Part, RoleParts
from tests.support.stacks import plan, tree


def rows():
    """Yield every part by the place of its row; those of a role come with the role's workload."""
    for value in vars(parts).values():
        if isinstance(value, Part):
            yield value
        elif isinstance(value, RoleParts):
            yield from (getattr(value, field.name) for field in dataclasses.fields(value))


def test_every_part_has_a_place_after_its_predecessors():
    seen = set()
    for part in rows():
        assert set(part.after) <= seen
        assert part not in seen
        seen.add(part)
    assert {resource.id.part for resource in objects(render(plan(tree(a={}, b={}))))} <= seen


def test_parts_of_roles_are_told_apart_and_come_after_those_of_their_own():
    decode, prefill = parts.DECODE, parts.PREFILL
    assert decode.autoscaler != prefill.autoscaler
    assert decode.autoscaler.after == (decode.workload,)
    assert {part.role for part in prefill.workload.after} == {None, "prefill"}
    assert {part.role for part in decode.workload.after} == {None, "decode"}
