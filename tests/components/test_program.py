"""Every mistake ends the program without a traceback, and a platform is read by the engine's own reference."""

import contextlib
import sys

import pulumi
import pytest

from components import program
from models.paths import Path
from models.problems import Problem
from tests.support import program as programs
from tests.support.stacks import tree


def test_a_refusal_has_the_headline_and_a_line_for_each_problem():
    error = program.refusal([Problem(Path("services", "qwen"), "is missing", "add it")])
    assert str(error).splitlines()[1:] == ["  - services.qwen: is missing; add it"]


def test_an_exception_becomes_an_error_of_the_run_and_such_an_error_stays():
    with pytest.raises(pulumi.RunError) as raised, program.without_traceback():
        raise KeyError("qwen")
    assert raised.value.__suppress_context__
    assert "KeyError" in str(raised.value)
    refused = program.refusal([])
    with pytest.raises(pulumi.RunError) as raised, program.without_traceback():
        raise refused
    assert raised.value is refused


def placed():
    """Return the names of the resources that are registered with a place in a source file."""
    requests = programs.run_whole(tree(qwen={})).requests.values()
    return {request.name for request in requests if request.stackTrace.frames or request.HasField("sourcePosition")}


def test_resources_are_registered_without_their_places_in_source_files(monkeypatch):
    # The SDK registers the root before the program runs.
    assert placed() <= {"inference-stacks-dev"}
    assert getattr(sys, "tracebacklimit", None) is None
    monkeypatch.setattr(program, "without_positions", contextlib.nullcontext)
    assert {"inference-stack", "cluster", "qwen", "qwen-decode"} < placed()


def test_a_configuration_that_is_encrypted_as_a_whole_is_refused(monkeypatch):
    monkeypatch.setattr(pulumi.runtime, "is_config_secret", lambda key: key == "inference-stacks:stack")
    with pytest.raises(pulumi.RunError, match="inference-stacks:stack: holds a secret value"):
        programs.run({})
