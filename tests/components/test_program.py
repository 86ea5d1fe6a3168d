"""Every mistake ends the program without a traceback, and a platform is read by the engine's own reference."""

import asyncio
import contextlib
import sys
from types import SimpleNamespace

import pulumi
import pytest

from components import platform, program
from models.paths import Path
from models.platform import Reference
from models.problems import Problem
from tests.support import program as programs
from tests.support.stacks import tree

DETAILS = {
    "shared": SimpleNamespace(value={"replicas": 2.0, "share": 0.5, "names": ["a", 1.0]}, secret_value=None),
    "kubeconfig": SimpleNamespace(value=None, secret_value="apiVersion: v1"),
    "absent": SimpleNamespace(value=None, secret_value=None),
}


def test_a_refusal_has_the_headline_and_a_line_for_each_problem():
    found = program.refusal([Problem(Path("services", "qwen"), "is missing", "add it")])
    assert str(found).splitlines()[1:] == ["  - services.qwen: is missing; add it"]


def test_an_exception_becomes_an_error_of_the_run_and_such_an_error_stays():
    with pytest.raises(pulumi.RunError) as found, program.without_traceback():
        raise KeyError("qwen")
    assert found.value.__suppress_context__
    assert "KeyError" in str(found.value)
    refused = program.refusal([])
    with pytest.raises(pulumi.RunError) as found, program.without_traceback():
        raise refused
    assert found.value is refused


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


class Referenced:
    """A reference to a stack, with its outputs."""

    def __init__(self, name):
        assert name == "acme/platform/prod"

    async def get_output_details(self, name):
        return DETAILS[name]


def test_outputs_of_a_platform_are_read_with_whole_numbers_and_those_that_are_absent_are_left_out(monkeypatch):
    monkeypatch.setattr(pulumi, "StackReference", Referenced)
    found = asyncio.run(platform.read(Reference(stack="acme/platform/prod", output="shared", kubeconfig="kubeconfig")))
    values = {"shared": {"replicas": 2, "share": 0.5, "names": ["a", 1]}, "kubeconfig": "apiVersion: v1"}
    assert (found.values, found.secrets) == (values, frozenset({"kubeconfig"}))
    assert type(found.values["shared"]["replicas"]) is int
    without = asyncio.run(platform.read(Reference(stack="acme/platform/prod", output="absent", kubeconfig=None)))
    assert (without.values, without.secrets) == ({}, frozenset())


def test_a_stack_without_a_platform_reads_none():
    assert asyncio.run(platform.read_platform({"namespace": "models"})) is None


def test_a_configuration_that_is_encrypted_as_a_whole_is_refused(monkeypatch):
    monkeypatch.setattr(pulumi.runtime, "is_config_secret", lambda key: key == "inference-stacks:stack")
    with pytest.raises(pulumi.RunError, match="inference-stacks:stack: holds a secret value"):
        programs.run({})
