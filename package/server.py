"""The process of the package, which the engine starts as a plugin: it makes components until the engine ends.

Engines and language hosts start several processes of a package in each run, all but one for the schema alone. So
modules that make components are imported with the first component: they take three quarters of a start.
"""

import argparse
import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import grpc
import pulumi
from google.protobuf import struct_pb2
from pulumi.provider.provider import ConstructResult, Provider
from pulumi.provider.server import ProviderServicer
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from models import version
from package.committed import committed_schema

_MOST_BYTES = 400 << 20
"""Maximum size of a message, which is also that of the engine (sdk/go/common/util/rpcutil)."""
_OPTIONS = (("grpc.max_receive_message_length", _MOST_BYTES), ("grpc.max_send_message_length", _MOST_BYTES))
_INPUTS = "inputs"


class PackageProvider(Provider):
    """The package: its schema, and the maker of its component."""

    def __init__(self) -> None:
        super().__init__(version.read(), json.dumps(committed_schema(version.read())))

    def construct(
        self,
        name: str,
        resource_type: str,
        inputs: Mapping[str, Any],
        options: pulumi.ResourceOptions | None = None,
    ) -> ConstructResult:
        """Make a component. `inputs` has nothing but a `package.component.ComponentInputs`."""
        component = inputs[_INPUTS].make(name, resource_type, options or pulumi.ResourceOptions())
        return ConstructResult(component.urn, component.outputs)


class PackageServicer(ProviderServicer):
    """Server of the package. It differs from the SDK's in two points.

    It reads inputs itself: the SDK turns a secret somewhere in an input into a secret input, and an unknown value into
    an unknown input, so that nobody can tell the path of the value. And it sends errors without tracebacks.
    """

    async def Construct(self, request: provider_pb2.ConstructRequest, context: Any) -> provider_pb2.ConstructResponse:  # noqa: ANN401, N802, names and types of the SDK
        """Make a component, and return its outputs. An error is sent as its text, which the engine prints."""
        from package import component  # noqa: PLC0415, see above

        try:
            with component.begin(request.monitorEndpoint):
                return await cast("Any", super())._construct(request, context)  # noqa: SLF001, the SDK has no other name
        except pulumi.RunError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            raise

    @staticmethod
    async def _construct_inputs(inputs: struct_pb2.Struct, input_dependencies: object) -> dict[str, Any]:  # noqa: ARG004, the SDK's signature
        """Return the inputs of a component; the resources on which they depend are among its dependencies."""
        from package.component import ComponentInputs  # noqa: PLC0415, see above

        return {_INPUTS: await ComponentInputs.read(inputs.fields).with_platform()}


def main(arguments: Sequence[str]) -> None:
    """Serve the package until the engine ends. The arguments are the engine's: its address, and settings of its log.

    The settings stand before the address (`buildPluginArguments` in sdk/go/common/resource/plugin/plugin.go).
    """
    parser = argparse.ArgumentParser(description="Component package of Inference Stacks, which Pulumi's engine starts")
    parser.add_argument("engine", help="address of the engine")
    parser.add_argument("--logtostderr", action="store_true", help="ignored")
    parser.add_argument("--tracing", help="ignored")
    parser.add_argument("-v", help="ignored")
    known, _ = parser.parse_known_args(arguments)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(known.engine))


async def _serve(engine: str) -> None:
    server = grpc.aio.server(options=_OPTIONS)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(PackageServicer(PackageProvider(), [], engine), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    try:
        await _end_of(engine)
    finally:
        await server.stop(None)


async def _end_of(engine: str) -> None:
    """Wait until nobody listens at the address of the engine.

    The engine ends its plugins, unless it is killed itself.
    """
    async with grpc.aio.insecure_channel(engine) as channel:
        while True:
            state = channel.get_state(try_to_connect=True)
            if state in {grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN}:
                return
            await channel.wait_for_state_change(state)
