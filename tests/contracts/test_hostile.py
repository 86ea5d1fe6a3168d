"""Hostile text in every text leaf ends in a message or in sound objects: no traceback, no credential in any output."""

import json
from functools import cache

import pytest

import planning
from judging import validation
from manifests.assembly import objects, render
from models.load import load
from models.problems import ConfigError
from planning import outputs
from tests.support.stacks import NAME
from tests.support.stacks.hostile import COUNT, NAMES_OF_STACKS, SECRETS, WRONG, hostile_stacks, text_leaves


@cache
def stacks():
    """Return all stacks by name. They are made when a test runs, as not every process runs one."""
    return {hostile.name: hostile for hostile in hostile_stacks()}


@cache
def verdict(name):
    """Return whether a stack is accepted, and everything that a user gets to see or that the state would hold."""
    try:
        plan = planning.plan(load(stacks()[name].stack), NAME)
        rendered = [*objects(render(plan))]
        validation.check(rendered)
    except ConfigError as error:
        return False, str(error)
    shown = (
        [item.manifest for item in rendered],
        outputs.of_stack(plan, None, {}),
        [str(warning) for warning in plan.warnings],
    )
    return True, json.dumps(shown, ensure_ascii=False)


@pytest.mark.parametrize("name", NAMES_OF_STACKS)
def test_hostile_text_ends_in_a_message_or_in_objects_without_any_credential(name):
    accepted, text = verdict(name)
    assert [secret for secret in SECRETS if secret in text] == []
    assert "Traceback" not in text
    if not accepted:
        assert all(": " in line and line.isprintable() for line in text.splitlines())


def test_no_credential_is_accepted():
    assert [name for name, hostile in stacks().items() if hostile.has_credential and verdict(name)[0]] == []


def test_every_stack_is_a_case():
    assert tuple(stacks()) == NAMES_OF_STACKS


def test_most_stacks_are_accepted():
    accepted = [name for name in stacks() if verdict(name)[0]]
    assert len(stacks()) == COUNT
    assert len(accepted) >= 0.7 * (COUNT - WRONG)


def test_every_text_leaf_has_hostile_text():
    assert {leaf for hostile in stacks().values() if hostile.has_credential for leaf in hostile.leaves} == {
        *text_leaves()
    }
