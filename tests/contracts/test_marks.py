"""Every object of every stack has the mark once, on itself, and nothing that it contains has it."""

import copy
import json

import pytest

from composition import Composition, Given, compose
from manifests.assembly import objects, render
from planning.ground import labels
from planning.ground.cluster_facts import NOTHING_READ
from tests.support.stacks import NAME, SHIPPED, plan, shipped
from tests.support.stacks.varied import VARIED

STACKS = {path.stem: shipped(path) for path in SHIPPED} | VARIED
MARKED = [("metadata", "annotations", labels.STACK), ("metadata", "labels", labels.STACK)]


@pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS)
def test_the_mark_is_found_once_on_each_object_and_nowhere_deeper(stack):
    composed = compose(stack, Given(NOTHING_READ), NAME)
    assert isinstance(composed, Composition)
    for each in composed.objects:
        assert places(each.manifest) == MARKED, each.id
        assert each.manifest["metadata"]["labels"][labels.STACK] == "inference-stacks.dev"
        assert each.manifest["metadata"]["annotations"][labels.STACK] == "organization/inference-stacks/dev"
    unmarked = json.dumps([without(each.manifest) for each in composed.objects])
    assert unmarked == json.dumps([each.manifest for each in objects(render(plan(stack)))])


def places(value, at=()):
    """Return the paths of all keys that are the mark's, in order."""
    if isinstance(value, list):
        return [place for index, inner in enumerate(value) for place in places(inner, (*at, index))]
    if not isinstance(value, dict):
        return [at] if isinstance(value, str) and labels.STACK in value else []
    here = [(*at, key) for key in value if key == labels.STACK]
    return sorted([*here, *(place for key, inner in value.items() for place in places(inner, (*at, key)))])


def without(manifest):
    """Return an object without its mark."""
    metadata = copy.deepcopy(dict(manifest["metadata"]))
    for field in ("labels", "annotations"):
        del metadata[field][labels.STACK]
    if not metadata["annotations"]:
        del metadata["annotations"]
    return {**manifest, "metadata": metadata}
