"""Reader of the outputs of a platform's stack for components of the package.

It asks a function of the engine. `components.platform` registers a StackReference instead, which the program itself may
have under the same name: the engine refuses a second one.
"""

import asyncio
from typing import Any

import grpc
from google.protobuf import struct_pb2
from pulumi.runtime import settings
from pulumi.runtime.proto import resource_pb2

from models.paths import Path
from models.platform import PlatformOutputs, Reference
from models.problems import ConfigError, Problem
from package.values import ValueReader

STACK = Path("platform", "stack")
"""Path of the platform's name in a tree."""
_READ = "pulumi:pulumi:readStackOutputs"
"""Function of the engine that returns the outputs of a stack (pkg/resource/deploy/builtins.go)."""


async def read(reference: Reference) -> PlatformOutputs:
    """Return the platform's outputs that `reference` names. Outputs that do not exist are left out.

    Raises `ConfigError` if the engine cannot read the stack.
    """
    arguments = struct_pb2.Struct()
    arguments["name"] = reference.stack
    request = resource_pb2.ResourceInvokeRequest(tok=_READ, args=arguments)
    monitor: Any = settings.get_monitor()
    try:
        answer = await asyncio.to_thread(monitor.Invoke, request)
    except grpc.RpcError as error:
        raise ConfigError([_problem(reference, error)]) from None
    outputs = getattr(answer, "return").fields["outputs"].struct_value.fields
    names = {name for name in (reference.output, reference.kubeconfig or "") if name in outputs}
    reader = ValueReader()
    values = reader.mapping({name: outputs[name] for name in names}, Path(), secrets=True)
    return PlatformOutputs(values, frozenset(str(path[0]) for path in reader.secrets))


def _problem(reference: Reference, error: grpc.RpcError) -> Problem:
    reason = type(error).__name__
    if isinstance(error, grpc.Call):
        reason = str(error.details())
    what = f"names a stack that cannot be read ({reference.stack}: {reason})"
    return Problem(STACK, what, "write the name of a deployed stack, or pass its outputs as platformOutputs")
