"""The process of the package, and an engine that keeps what the process registers."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime.proto import (
    engine_pb2_grpc,
    provider_pb2,
    provider_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
)

from planning.ground.instances import TYPE

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "pulumi-resource-inference-stacks"
STACK_URN = "urn:pulumi:dev::teams::pulumi:pulumi:Stack::teams-dev"
SIGNATURE = "4dabf18193072939515e22adb298388d"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def secret(value: object) -> dict[str, object]:
    """Return a secret as SDKs send it that do not know Outputs."""
    return {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "value": value}


def output(**fields: object) -> dict[str, object]:
    """Return an Output with some of `value`, `secret` and `dependencies`."""
    return {SIGNATURE: "d0e6a833031e9bbcd3f4e8bde6ca49a4", **fields}


class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
    """The engine's half of one run: what is registered, and the state before the run."""

    def __init__(self) -> None:
        self.requests = dict[str, resource_pb2.RegisterResourceRequest]()
        self.outputs = dict[str, dict[str, Any]]()
        self.state = dict[str, Any]()
        """Resources of the state by URN."""
        self.stacks = dict[str, dict[str, Any]]()
        """Outputs of other stacks, by name."""

    def GetDeploymentInfo(self, _request, context):  # noqa: N802, the engine's name
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "")

    def SupportsFeature(self, _request, _context):  # noqa: N802, the engine's name
        return resource_pb2.SupportsFeatureResponse(hasSupport=True)

    def RegisterResource(self, request, _context):  # noqa: N802, the engine's name
        types = request.type
        if request.parent and request.parent != STACK_URN:
            types = f"{request.parent.split('::')[2]}${types}"
        urn = f"urn:pulumi:dev::teams::{types}::{request.name}"
        self.requests[urn] = request
        return resource_pb2.RegisterResourceResponse(urn=urn, id=f"{request.name}-id", object=request.object)

    def RegisterResourceOutputs(self, request, _context):  # noqa: N802, the engine's name
        self.outputs[request.urn] = json_format.MessageToDict(request.outputs)
        return empty_pb2.Empty()

    def Invoke(self, request, context):  # noqa: N802, the engine's name
        answer = resource_pb2.ResourceInvokeResponse()
        outputs = self.state
        if request.tok == "pulumi:pulumi:readStackOutputs":
            name = request.args["name"]
            if name not in self.stacks:
                context.abort(grpc.StatusCode.UNKNOWN, f"unknown stack {name!r}")
            outputs = self.stacks[name]
        getattr(answer, "return").update({"outputs": outputs})
        return answer


class Engine(engine_pb2_grpc.EngineServicer):
    """The engine's log."""

    def __init__(self) -> None:
        self.lines = list[str]()

    def Log(self, request, _context):  # noqa: N802, the engine's name
        self.lines.append(request.message)
        return empty_pb2.Empty()


@contextlib.contextmanager
def served(*servicers: Any) -> Iterator[tuple[grpc.Server, str]]:
    """Serve a monitor or an engine, and yield the server and its address."""
    server = grpc.server(ThreadPoolExecutor(max_workers=20))
    for servicer in servicers:
        if isinstance(servicer, Monitor):
            resource_pb2_grpc.add_ResourceMonitorServicer_to_server(servicer, server)
        else:
            engine_pb2_grpc.add_EngineServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield server, f"127.0.0.1:{port}"
    finally:
        server.stop(None)


class Package:
    """A process of the package."""

    def __init__(self, process: subprocess.Popen[str], stub: Any, engine: Engine) -> None:
        self.process = process
        self.stub = stub
        self.engine = engine

    def construct(
        self, address: str, name: str, inputs: Mapping[str, Any], **fields: Any
    ) -> provider_pb2.ConstructResponse:
        """Let the process make a component for the run whose monitor has an address."""
        return self.stub.Construct(request(address, name, inputs, **fields), timeout=60)

    def refusal(self, address: str, name: str, inputs: Mapping[str, Any], **fields: Any) -> str:
        """Return the text with which the process refuses to make a component."""
        with pytest.raises(grpc.RpcError) as raised:
            self.construct(address, name, inputs, **fields)
        error: Any = raised.value
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, error
        return str(error.details())


def request(address: str, name: str, inputs: Mapping[str, Any], **fields: Any) -> provider_pb2.ConstructRequest:
    """Return the engine's request to make a component."""
    values = struct_pb2.Struct()
    values.update(inputs)
    common = {
        "project": "teams",
        "stack": "dev",
        "organization": "organization",
        "parallel": 16,
        "dryRun": True,
        "type": TYPE,
        "parent": STACK_URN,
    }
    return provider_pb2.ConstructRequest(monitorEndpoint=address, name=name, inputs=values, **{**common, **fields})


@contextlib.contextmanager
def running(folder: Path, engine: Engine, address: str) -> Iterator[Package]:
    """Start a process of the package as the engine does, in the folder of a program."""
    verbosely = ["--logtostderr", "-v=9", "--tracing", "http://127.0.0.1:9"]
    process = subprocess.Popen([PLUGIN, *verbosely, address], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Package(process, provider_pb2_grpc.ResourceProviderStub(channel), engine)
    finally:
        process.kill()
        process.wait()
