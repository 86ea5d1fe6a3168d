"""Reader of Pulumi's state of the running stack, as it was before the run."""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf import json_format, struct_pb2
from pulumi.runtime import settings
from pulumi.runtime.proto import resource_pb2

from judging.report.running import WORKLOADS
from planning.ground import instances
from planning.ground.cluster_facts import Place, Unknown
from planning.ground.marks import StackName
from planning.ground.recorded import (
    ClusterRecord,
    Recorded,
    RecordedObject,
    ServiceRecord,
    WorkloadName,
    identity,
)
from planning.releases import present_name

_READ = "pulumi:pulumi:readStackResourceOutputs"
"""Function of the engine that returns the outputs of all resources in a state (pkg/resource/deploy/builtins.go)."""
_ATTEMPTS = 3
_PAUSE_SECONDS = 0.2
"""A state in a folder may be half-written for a moment, because the engine writes it while the program starts."""
_STACK = "pulumi:pulumi:Stack"
_KUBERNETES = "kubernetes:"
_CLUSTER_OUTPUT = "cluster"
"""Output of an inference stack's component with the cluster to which the stack was deployed."""
_Fields = Mapping[str, struct_pb2.Value]


def begin_reading(name: StackName) -> Future[Recorded | Unknown]:
    """Start to read the state of the Pulumi stack called `name`. The engine reads it while the program goes on."""
    executor = ThreadPoolExecutor(max_workers=1)
    reading = executor.submit(_read, name, settings.get_monitor())
    executor.shutdown(wait=False)
    return reading


def cluster_output(cluster: ClusterRecord | None) -> dict[str, Any]:
    """Return the outputs of an inference stack's component from which a later run reads its cluster."""
    return {} if cluster is None else {_CLUSTER_OUTPUT: cluster._asdict()}


def _read(name: StackName, monitor: Any) -> Recorded | Unknown:  # noqa: ANN401, the SDK's stub is untyped
    """Read the state. A failure does not raise; its text is left out, because it may contain a credential."""
    arguments = struct_pb2.Struct()
    arguments["stackName"] = str(name)
    request = resource_pb2.ResourceInvokeRequest(tok=_READ, args=arguments)
    reason = ""
    for _ in range(_ATTEMPTS):
        try:
            answer = getattr(monitor.Invoke(request), "return")
            return parse(answer.fields["outputs"].struct_value.fields)
        except grpc.RpcError as error:
            reason = str(error.code()) if isinstance(error, grpc.Call) else type(error).__name__
            time.sleep(_PAUSE_SECONDS)
    return Unknown(f"the state of the stack could not be read ({reason})")


def parse(resources: _Fields) -> Recorded:
    """Return the record of a state, from the outputs of its resources by URN.

    Most outputs are passed over: to make Python objects of all of them takes as long as the engine takes to read them.
    """
    objects = list[RecordedObject]()
    clusters = dict[str, ClusterRecord]()
    providers = dict[str, str]()
    services = dict[WorkloadName, ServiceRecord]()
    exported = dict[WorkloadName, ServiceRecord]()
    urns = dict[str, str]()
    releases = dict[str, str]()
    for urn, resource in resources.items():
        type_token = _text(resource, "type")
        outputs = resource.struct_value.fields["outputs"]
        if type_token.startswith(_KUBERNETES) and _text(outputs, "metadata", "name"):
            objects.append(_object(urn, outputs))
        elif type_token == instances.PROVIDER_TYPE:
            providers[urn] = _text(outputs, "clusterIdentifier")
        elif type_token in {_STACK, instances.TYPE}:
            is_stack = type_token == _STACK
            name = instances.MAIN.name if is_stack else identity(urn).name
            (exported if is_stack else services).update(_services(outputs, name))
            release = _stack_release(outputs)
            if release:
                releases[name] = release
            if not is_stack:
                urns[name] = urn
            uid = _text(outputs, _CLUSTER_OUTPUT, "uid")
            if uid:
                clusters[identity(urn).name] = ClusterRecord(uid, _text(outputs, _CLUSTER_OUTPUT, "name"))
    # A program may export the outputs of an inference stack with any name.
    return Recorded(tuple(objects), urns, clusters, providers, {**exported, **services}, releases)


def _object(urn: str, outputs: struct_pb2.Value) -> RecordedObject:
    api = _text(outputs, "apiVersion")
    kind = _text(outputs, "kind")
    place: Place = (
        api.rpartition("/")[0],
        kind,
        _text(outputs, "metadata", "namespace"),
        _text(outputs, "metadata", "name"),
    )
    content: Mapping[str, Any] = {}
    if kind in WORKLOADS:
        content = json_format.MessageToDict(outputs)
    return RecordedObject(urn, identity(urn), place, _text(outputs, "metadata", "uid"), content)


def _stack_release(outputs: struct_pb2.Value) -> str:
    """Return the channel in the outputs of a stack; empty if they have none.

    Outputs without the channels of services are of an earlier version of this program, and some of its channels have
    other names now.
    """
    release = _text(outputs, "release")
    if any(_text(service, "primary", "release") for service in _mapping(outputs, "services").values()):
        return release
    return present_name(release)


def _services(outputs: struct_pb2.Value, instance: str) -> Iterator[tuple[WorkloadName, ServiceRecord]]:
    """Yield the workloads in the outputs of an inference stack, each with its service.

    Outputs of other programs have none.

    In outputs without the channels of services, all services have the stack's channel.
    """
    of_stack = _stack_release(outputs)
    for key, service in _mapping(outputs, "services").items():
        namespace = _text(service, "namespace")
        release = _text(service, "primary", "release") or of_stack
        for variant in ("primary", "canary"):
            for role in _mapping(service, variant, "roles").values():
                workload = WorkloadName(namespace, _text(role, "workload", "kind"), _text(role, "workload", "name"))
                yield workload, ServiceRecord(key, release, instance)


def _mapping(value: struct_pb2.Value, *path: str) -> _Fields:
    """Return the fields of the value at a path; empty if there is no mapping."""
    for name in path:
        fields = value.struct_value.fields
        if name not in fields:
            return {}
        value = fields[name]
    return value.struct_value.fields


def _text(value: struct_pb2.Value, *path: str) -> str:
    """Return the text at a path; empty if there is none."""
    *parents, last = path
    fields = _mapping(value, *parents)
    if last not in fields:
        return ""
    return fields[last].string_value
