"""Pulumi's state, as the engine gives it to the program."""

import grpc
import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import provider_pb2

from components import state
from planning.ground.cluster_facts import Unknown
from planning.ground.marks import StackName
from planning.ground.recorded import NOTHING_RECORDED, ClusterRecord, RecordedIdentity, ServiceRecord, WorkloadName

NAME = StackName("organization", "inference-stacks", "dev")
URN = "urn:pulumi:dev::inference-stacks::"
STACK = "inference-stacks:index:InferenceStack"
WORKLOAD = {"workload": {"kind": "Deployment", "name": "qwen-decode"}}
OUTPUTS = {
    "release": "gie-1.3",
    "services": {"qwen": {"namespace": "models", "primary": {"roles": {"decode": WORKLOAD}}, "canary": None}},
    "cluster": {"uid": "4f3a", "name": "edge"},
}


def manifest(kind, name, **more):
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "models", "uid": "1"},
        **more,
    }


RESOURCES = {
    f"{URN}pulumi:pulumi:Stack::inference-stacks-dev": ("pulumi:pulumi:Stack", {"other": "program"}),
    f"{URN}{STACK}::search": (STACK, OUTPUTS),
    f"{URN}{STACK}$pulumi:providers:kubernetes::cluster": (
        "pulumi:providers:kubernetes",
        {"clusterIdentifier": "edge"},
    ),
    f"{URN}kubernetes:apps/v1:Deployment::qwen-decode": (
        "kubernetes:apps/v1:Deployment",
        manifest("Deployment", "qwen-decode", spec={"replicas": 2}),
    ),
    f"{URN}kubernetes:core/v1:ConfigMap::broken": ("kubernetes:core/v1:ConfigMap", {}),
}


class Monitor:
    """The engine: answers with outputs, after some failures."""

    def __init__(self, resources, failures=0):
        self.resources = resources
        self.failures = failures
        self.asked = []

    def Invoke(self, request):  # noqa: N802, the engine's name
        self.asked.append((request.tok, dict(request.args)))
        if self.failures:
            self.failures -= 1
            raise grpc.RpcError
        answer = struct_pb2.Struct()
        answer.update(
            {"outputs": {urn: {"type": token, "outputs": out} for urn, (token, out) in self.resources.items()}}
        )
        return provider_pb2.InvokeResponse(**{"return": answer})


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(state, "_PAUSE_SECONDS", 0)


def read(monkeypatch, monitor):
    monkeypatch.setattr(state.settings, "get_monitor", lambda: monitor)
    return state.begin_reading(NAME).result()


def test_a_state_is_read_by_the_engine_under_the_full_name_of_the_stack(monkeypatch):
    monitor = Monitor(RESOURCES)
    recorded = read(monkeypatch, monitor)
    assert monitor.asked == [
        ("pulumi:pulumi:readStackResourceOutputs", {"stackName": "organization/inference-stacks/dev"})
    ]
    (deployment,) = recorded.objects
    assert deployment.identity == RecordedIdentity("", "kubernetes:apps/v1:Deployment", "qwen-decode")
    assert deployment.place == ("apps", "Deployment", "models", "qwen-decode")
    assert (deployment.uid, deployment.content["spec"]) == ("1", {"replicas": 2})
    assert recorded.instances == {"search": f"{URN}{STACK}::search"}
    assert recorded.clusters == {"search": ClusterRecord("4f3a", "edge")}
    assert [*recorded.providers.values()] == ["edge"]
    assert recorded.services == {
        WorkloadName("models", "Deployment", "qwen-decode"): ServiceRecord("qwen", "gie-1.3", "search")
    }


def test_a_service_has_the_channel_of_its_primary_before_that_of_the_stack(monkeypatch):
    canary = {"release": "llm-d-0.6", "roles": {"decode": {"workload": {"kind": "Deployment", "name": "new"}}}}
    primary = {**OUTPUTS["services"]["qwen"]["primary"], "release": "gie-1.3"}
    services = {"qwen": {"namespace": "models", "primary": primary, "canary": canary}}
    recorded = read(monkeypatch, Monitor({f"{URN}{STACK}::search": (STACK, {**OUTPUTS, "services": services})}))
    assert recorded.services == {
        WorkloadName("models", "Deployment", name): ServiceRecord("qwen", "gie-1.3", "search")
        for name in ("qwen-decode", "new")
    }


def test_a_new_stack_has_nothing(monkeypatch):
    assert read(monkeypatch, Monitor({})) == NOTHING_RECORDED


def test_a_state_that_is_half_written_is_read_again(monkeypatch):
    assert read(monkeypatch, Monitor({}, failures=2)) == NOTHING_RECORDED


def test_a_state_that_cannot_be_read_is_unknown_without_the_text_of_the_error(monkeypatch):
    recorded = read(monkeypatch, Monitor({}, failures=3))
    assert recorded == Unknown("the state of the stack could not be read (RpcError)")


def test_the_record_of_a_cluster_is_what_a_later_run_reads(monkeypatch):
    record = ClusterRecord("4f3a", "edge")
    outputs = (STACK, state.cluster_output(record))
    assert read(monkeypatch, Monitor({f"{URN}{STACK}::search": outputs})).clusters == {"search": record}
    assert state.cluster_output(None) == {}


@pytest.mark.parametrize(
    ("written", "of_primary", "recorded"),
    [
        ("llm-d-0.10", None, "router-0.10"),
        ("llm-d-0.9", None, "router-0.9"),
        ("gie-1.3", None, "gie-1.3"),
        ("llm-d-0.10", "llm-d-0.10", "llm-d-0.10"),
        ("llm-d-0.10", "router-0.10", "llm-d-0.10"),
        ("router-0.10", "router-0.10", "router-0.10"),
    ],
)
def test_names_of_channels_are_those_that_they_have_now(written, of_primary, recorded, monkeypatch):
    primary = {"roles": {"decode": WORKLOAD}} | ({"release": of_primary} if of_primary else {})
    services = {"qwen": {"namespace": "models", "primary": primary, "canary": None}}
    outputs = {**OUTPUTS, "release": written, "services": services}
    state_read = read(monkeypatch, Monitor({f"{URN}{STACK}::search": (STACK, outputs)}))
    assert state_read.releases == {"search": recorded}
    assert {record.release for record in state_read.services.values()} == {of_primary or recorded}


def test_outputs_of_the_program_are_those_of_its_inference_stack(monkeypatch):
    root = (f"{URN}pulumi:pulumi:Stack::inference-stacks-dev", ("pulumi:pulumi:Stack", OUTPUTS))
    assert read(monkeypatch, Monitor(dict([root]))).releases == {"inference-stack": "gie-1.3"}
