"""Paths at which users wrote names of Secrets and classes."""

import pytest

from judging.preflight.owners import Owners
from models.load import load
from models.paths import Path
from planning import plan
from planning.ground.needs import Reference
from tests.support.stacks import NAME, tree

SECRETS = ("secrets", "secretKeyRef", "secret", "secretName")
KEY = {"secretKeyRef": {"name": "hf", "key": "token"}}


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        (
            {"labels": {"secret": "hf"}, "engine": {"env": {"MY_TOKEN": KEY}}},
            "services.qwen.engine.env.MY_TOKEN.secretKeyRef.name",
        ),
        (
            {"annotations": {"secretName": "hf"}, "engine": {"env": {"A": KEY}}},
            "services.qwen.engine.env.A.secretKeyRef.name",
        ),
        ({"labels": {"secret": "hf"}}, "services.qwen"),
    ],
)
def test_a_name_is_not_found_below_a_key_that_a_user_named(service, expected):
    """See defects R1."""
    loaded = load(tree(qwen=service))
    owners = Owners.of(loaded.merged.tree, plan(loaded, NAME))
    reference = Reference("hf", "models", "qwen", "Deployment models/qwen-decode")
    at = owners.locate(reference, SECRETS)
    assert (str(at), type(at)) == (expected, Path)
