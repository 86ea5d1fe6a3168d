"""Outputs of a platform are read through the engine."""

import asyncio
from types import SimpleNamespace

import pulumi

from components import platform
from models.platform import Reference

DETAILS = {
    "shared": SimpleNamespace(value={"replicas": 2.0, "share": 0.5, "names": ["a", 1.0]}, secret_value=None),
    "kubeconfig": SimpleNamespace(value=None, secret_value="apiVersion: v1"),
    "absent": SimpleNamespace(value=None, secret_value=None),
}


class Referenced:
    """A reference to a stack, with its outputs."""

    def __init__(self, name):
        assert name == "acme/platform/prod"

    async def get_output_details(self, name):
        return DETAILS[name]


def test_outputs_of_a_platform_are_read_with_whole_numbers_and_those_that_are_absent_are_left_out(monkeypatch):
    monkeypatch.setattr(pulumi, "StackReference", Referenced)
    outputs = asyncio.run(
        platform.read(Reference(stack="acme/platform/prod", output="shared", kubeconfig="kubeconfig"))
    )
    values = {"shared": {"replicas": 2, "share": 0.5, "names": ["a", 1]}, "kubeconfig": "apiVersion: v1"}
    assert (outputs.values, outputs.secrets) == (values, frozenset({"kubeconfig"}))
    assert type(outputs.values["shared"]["replicas"]) is int
    without = asyncio.run(platform.read(Reference(stack="acme/platform/prod", output="absent", kubeconfig=None)))
    assert (without.values, without.secrets) == ({}, frozenset())


def test_a_stack_without_a_platform_reads_none():
    assert asyncio.run(platform.read_platform({"namespace": "models"})) is None
