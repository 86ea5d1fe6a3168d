"""A mark is on each object, and on nothing inside an object."""

import json

from manifests import marking
from manifests.assembly import objects, render
from planning.ground import marks
from tests.support.stacks import NAME, plan, tree


def test_each_object_is_marked_and_nothing_inside_it():
    before = render(plan(tree()))
    after = marking.mark(before, NAME)
    for old, new in zip(objects(before), objects(after), strict=True):
        assert new.manifest["metadata"] == marks.with_mark(old.manifest["metadata"], NAME)
        assert new.manifest["metadata"] != old.manifest["metadata"]
        rest = [{key: value for key, value in item.manifest.items() if key != "metadata"} for item in (old, new)]
        assert json.dumps(rest[0]) == json.dumps(rest[1])
        assert (new.id, new.suffix, new.after) == (old.id, old.suffix, old.after)
