"""Specs are strict and frozen, have the keys of YAML, and keep values out of error texts."""

import copy

import pytest
from pydantic import ValidationError

from models.base import Spec


class Probe(Spec):
    """A spec with one field of each kind."""

    max_wait: int
    host_name: str | None = None


def test_keys_are_in_camel_case_and_others_are_refused():
    assert Probe.model_validate({"maxWait": 5, "hostName": "a"}).max_wait == 5
    for wrong in ({"max_wait": 5}, {"maxWait": 5, "host": "a"}):
        with pytest.raises(ValidationError) as error:
            Probe.model_validate(wrong)
        assert "extra_forbidden" in {details["type"] for details in error.value.errors()}


@pytest.mark.parametrize("value", ["5", 5.0, True])
def test_values_are_not_converted(value):
    with pytest.raises(ValidationError):
        Probe.model_validate({"maxWait": value})


def test_a_spec_is_frozen_and_therefore_shared_by_copies():
    probe = Probe.model_validate({"maxWait": 5})
    with pytest.raises(ValidationError, match="frozen"):
        probe.max_wait = 6
    assert copy.deepcopy({"probe": probe})["probe"] is probe


def test_an_error_text_never_shows_the_value():
    with pytest.raises(ValidationError) as error:
        Probe.model_validate({"maxWait": "hunter2"})
    assert "hunter2" not in str(error.value)


def test_the_default_of_a_section_has_no_explicit_fields_except_those_given():
    assert Probe.default(max_wait=1).explicit_fields == {"max_wait"}
    assert Probe.default(max_wait=1) == Probe.model_validate({"maxWait": 1})
    assert Probe.model_validate({"maxWait": 1, "hostName": None}).explicit_fields == {"max_wait", "host_name"}
