"""The program under mocks: what it registers and with which options, and what it exports."""

import asyncio
import json
import runpy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import ROOT

from planning.ground import marks
from tests.support.stacks import NAME

Request = resource_pb2.RegisterResourceRequest
PROGRAM = Path(__file__).parents[2] / "__main__.py"
FORCED = {"pulumi.com/patchForce": "true"}
"""The annotation that the program adds to every object when it registers it."""


class Recorder(pulumi.runtime.Mocks):
    """Notes what is registered."""

    def __init__(self):
        self.made = {}

    def new_resource(self, args):
        self.made[args.name] = args
        return f"{args.name}-id", args.inputs

    def call(self, _args):
        return {}


class Monitor(MockMonitor):
    """Notes what the engine is asked for, options included, by URN."""

    def __init__(self, mocks):
        super().__init__(mocks)
        self.requests = {}

    def RegisterResource(self, request):  # noqa: N802, the engine's name
        response = super().RegisterResource(request)
        self.requests[response.urn] = request
        return response


@dataclass(frozen=True)
class Run:
    """Registrations and exports of one run of the program."""

    made: Mapping[str, Any]
    """The arguments of each resource, by logical name."""
    requests: Mapping[str, Request]
    """Registered resources, by URN."""
    awaited: Mapping[str, frozenset[str]]
    """URNs of the resources that `awaited`, `ready` and `message` follow from, by service key."""
    outputs: Mapping[str, Any]
    """Exports, as the program gave them."""

    def urn(self, kind: str, name: str, namespace: str = "models") -> str:
        """Return the URN of an object; exactly one."""
        (urn,) = [urn for urn, request in self.requests.items() if _place(request) == (kind, namespace, name)]
        return urn


def _place(request: Request) -> tuple[str, str, str]:
    """Return the kind, namespace and name of the object that is asked for; empty where it is none of a cluster."""
    asked = MessageToDict(request.object)
    metadata = asked.get("metadata", {})
    return asked.get("kind", ""), metadata.get("namespace", ""), metadata.get("name", "")


_LOOPS = list[asyncio.AbstractEventLoop]()
"""The event loop of the last run, which holds three files open until the next one begins."""


def begin(mocks: pulumi.runtime.Mocks, **options: Any) -> None:
    """Set the mocks of a run, with an event loop and a root resource of its own.

    The SDK keeps the root resource of a process. If a run fails before its root is registered, the root of every
    later run would wait for that run's event loop.
    """
    while _LOOPS:
        _LOOPS.pop().close()
    loop = asyncio.new_event_loop()
    _LOOPS.append(loop)
    asyncio.set_event_loop(loop)
    ROOT.set(None)
    pulumi.runtime.set_mocks(mocks, preview=False, **options)


def _cancel_rest() -> None:
    """Cancel what the SDK of a run that failed still waits for: asyncio complains on stderr once it is collected."""
    (loop,) = _LOOPS
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


UP = ("awaited", "ready", "message")
"""Outputs of a service that have a value once the service is up."""


def as_registered(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rendered object as the program registers it: with the mark, and with the annotation of every object."""
    metadata = marks.with_mark(manifest["metadata"], NAME)
    return {**manifest, "metadata": {**metadata, "annotations": {**FORCED, **metadata.get("annotations", {})}}}


def run(stack: Mapping[str, Any], **config: str) -> dict[str, Any]:
    """Run the program on a stack and return what it registered, by logical name."""
    return dict(run_whole(stack, **config).made)


def run_whole(stack: Mapping[str, Any], **config: str) -> Run:
    """Run the program on a stack and return all that can be seen of the run."""
    recorder, awaited, outputs = Recorder(), dict[str, frozenset[str]](), dict[str, Any]()
    monitor = Monitor(recorder)
    name = {"organization": NAME.organization, "project": NAME.project, "stack": NAME.stack}
    begin(recorder, **name, monitor=monitor)
    values = {"inference-stacks:stack": json.dumps(stack), **config}
    pulumi.runtime.set_all_config(values, [key for key in config if key.endswith("kubeconfig")])

    @pulumi.runtime.test
    def body():
        runpy.run_path(str(PROGRAM), run_name="__main__")
        outputs.update(pulumi.runtime.get_root_resource().outputs)
        services = outputs["services"]
        return {key: _awaited(key, [service[name] for name in UP], awaited) for key, service in services.items()}

    try:
        body()
    finally:
        _cancel_rest()
    return Run(recorder.made, monitor.requests, awaited, outputs)


async def _awaited(key: str, outputs: list[pulumi.Output[Any]], awaited: dict[str, frozenset[str]]) -> bool:
    """Note the URNs of the resources that all of these outputs follow from, and return whether they have values."""
    urns = [{await resource.urn.future() for resource in await output.resources()} for output in outputs]
    awaited[key] = frozenset(urn for urn in set.intersection(*urns) if urn is not None)
    return all([await output.future() is not None for output in outputs])
