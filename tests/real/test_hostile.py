"""The API server takes every object of the stacks with hostile text that are accepted."""

import contextlib
import itertools
import json

import pytest

import planning
from manifests.assembly import objects, render
from models.load import load
from models.problems import ConfigError
from tests.support.cluster.plane import serve_googles_kinds, serve_moved_kinds
from tests.support.cluster.server import refusals
from tests.support.stacks import NAME
from tests.support.stacks.hostile import hostile_stacks

pytestmark = pytest.mark.real

MADE = 450
"""Number of stacks with hostile text of which some are refused."""
SAMPLE = 300
"""Number of accepted stacks whose objects the API server is asked about."""


def plans():
    """Yield the plan of each accepted stack."""
    for hostile in hostile_stacks(MADE):
        with contextlib.suppress(ConfigError):
            yield planning.plan(load(hostile.stack), NAME)


def accepted():
    """Yield the distinct objects of the accepted stacks in the sample."""
    seen = set[str]()
    sample = [*itertools.islice(plans(), SAMPLE)]
    assert len(sample) == SAMPLE
    for plan in sample:
        for rendered in objects(render(plan)):
            text = json.dumps(rendered.manifest, sort_keys=True)
            if text not in seen:
                seen.add(text)
                yield rendered.manifest


def test_the_server_takes_every_object_of_an_accepted_stack(plane, tools):
    """See defects B1."""
    serve_moved_kinds(plane, tools)
    serve_googles_kinds(plane)
    found = list(accepted())
    assert len(found) > 500
    moved = [manifest | {"metadata": manifest["metadata"] | _namespace(manifest)} for manifest in found]
    assert list(refusals(plane, moved)) == []


def _namespace(manifest):
    """Return the namespace that stands for all: the API server looks only for that which an object is in."""
    return {"namespace": "default"} if "namespace" in manifest["metadata"] else {}


def test_the_dry_run_finds_what_the_server_refuses(plane):
    """See defects B1."""
    claim = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Capital", "namespace": "default"}}
    (message,) = refusals(plane, [claim, claim | {"metadata": {"name": "small", "namespace": "default"}}])
    assert message.startswith("ConfigMap Capital: 422 ")
