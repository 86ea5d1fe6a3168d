"""Objects are registered as by the SDK's classes for their kinds, so that a stack may change from one to the other."""

import re
from operator import attrgetter

import pulumi
import pulumi_kubernetes as k8s
import pytest
from google.protobuf.json_format import MessageToDict

from components import registration
from components.registration import KubernetesObject
from manifests.assembly import objects, render
from manifests.objects import resource_type
from tests.support.program import Monitor, Recorder, as_registered, begin, run_whole
from tests.support.stacks import SHIPPED, plan, rendered, shipped, tree
from tests.support.stacks.varied import VARIED

MODULES = {"": "core", "networking.k8s.io": "networking", "rbac.authorization.k8s.io": "rbac"} | {
    group: group.partition(".")[0] for group in ("apps", "autoscaling", "batch", "policy", "resource.k8s.io")
}


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "value"}}


def register_by_class(name, manifest):
    """Register an object with the SDK's class for its kind."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    if group not in MODULES:
        fields = {"api_version": manifest["apiVersion"], "metadata": manifest["metadata"], "spec": manifest["spec"]}
        return k8s.apiextensions.CustomResource(name, kind=manifest["kind"], **fields)
    fields = {re.sub("([A-Z])", r"_\1", field).lower(): value for field, value in manifest.items()}
    return attrgetter(f"{MODULES[group]}.{version}.{manifest['kind']}")(k8s)(name, **fields)


def requests(manifests, make):
    """Return type, inputs and secret outputs with which each manifest is registered."""
    monitor = Monitor(Recorder())
    begin(Recorder(), monitor=monitor)

    @pulumi.runtime.test
    def body():
        for index, manifest in enumerate(manifests):
            make(f"object-{index}", manifest)

    body()
    return {
        request.name: (request.type, MessageToDict(request.object), sorted(request.additionalSecretOutputs))
        for request in monitor.requests.values()
        if request.custom
    }


def test_every_object_is_registered_as_by_the_class_of_its_kind():
    stacks = [*map(shipped, SHIPPED), *VARIED.values()]
    different = {
        (manifest["apiVersion"], manifest["kind"], *manifest): manifest
        for stack in stacks
        for manifest in rendered(stack)
    }
    manifests = [SECRET, *different.values()]
    assert len(manifests) > 20
    ours = requests(manifests, lambda name, manifest: KubernetesObject(name, manifest, pulumi.ResourceOptions()))
    assert len(ours) == len(manifests)
    assert ours["object-0"][2] == ["data", "stringData"]
    assert ours == requests(manifests, register_by_class)


STACK = tree(
    qwen={
        "model": {"name": "org/m", "source": "s3://bucket/m", "size": "1Gi"},
        "storage": {"type": "dedicated"},
        "replicas": 3,
        "prefill": {},
        "canary": {"weight": 10},
    }
) | {"cluster": {"facts": {"type": "none"}, "name": "prod"}}


@pytest.fixture
def registered():
    """Return pairs of what is rendered and what the engine is asked for, and the URN of item rendered object."""
    everything = list(objects(render(plan(STACK))))
    run = run_whole(STACK)
    urns = {}
    for item in everything:
        _, kind, namespace, name = item.place
        urns[item.id] = run.urn(kind, name, namespace)
    return [(item, run.requests[urns[item.id]]) for item in everything], urns


def test_creating_and_updating_an_object_time_out_with_the_rendered_wait(registered):
    pairs, _ = registered
    waits = {item.id: item.wait.seconds for item, _ in pairs}
    assert len({wait for wait in waits.values() if wait is not None}) > 1
    expected = {key: "" if wait is None else f"{wait}s" for key, wait in waits.items()}
    assert {item.id: request.customTimeouts.create for item, request in pairs} == expected
    assert {item.id: request.customTimeouts.update for item, request in pairs} == expected


def test_an_object_depends_on_what_is_rendered_before_it_and_on_nothing_else(registered):
    pairs, urns = registered
    expected = {item.id: {urns[earlier] for earlier in item.after} for item, _ in pairs}
    assert sum(map(len, expected.values())) > len(expected)
    assert {item.id: set(request.dependencies) for item, request in pairs} == expected


def test_updates_of_every_object_take_over_what_somebody_else_changed_unless_the_user_says_no(registered):
    """See defects A17."""
    pairs, _ = registered
    for item, request in pairs:
        metadata = MessageToDict(request.object)["metadata"]
        assert metadata == as_registered(item.manifest)["metadata"]
        assert metadata["annotations"]["pulumi.com/patchForce"] == "true"
    assert "pulumi.com/patchForce" not in str(rendered(STACK))
    shared = {"pulumi.com/patchForce": "false"}
    manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "annotations": shared}}
    assert registration.with_force(manifest)["metadata"]["annotations"] == shared


TURNS = tree(chat={}, qwen={"canary": {"weight": 10}}, bert={"prefill": {}}, idle={}) | {
    "cluster": {"facts": {"type": "none"}, "name": "prod"},
    "upgrades": {"atOnce": 1, "order": ["qwen"]},
}


def turned(words):
    """Return the stack with which the state was made; another length restarts all services but one."""
    services = {key: {**service, **({} if key == "idle" else words)} for key, service in TURNS["services"].items()}
    return {**TURNS, "services": services}


def state_of(stack):
    """Return the outputs of all objects, as the engine has them after a run."""
    found = {}
    for component in render(plan(stack)):
        token, _ = component.resource or ("", "")
        parent = f"{token}$" if token else ""
        for item in component.objects:
            of_type = resource_type(item.manifest)
            number = item.manifest.get("spec", {}).get("replicas", 1)
            status = {"updatedReplicas": number, "readyReplicas": number}
            outputs = {**item.manifest, "__inputs": item.manifest, "status": status}
            urn = f"urn:pulumi:dev::inference-stacks::{parent}{of_type}::{component.name}-{item.suffix}"
            found[urn] = {"type": of_type, "outputs": outputs}
    return found


def dependencies(stack, monkeypatch):
    """Return the objects on which each object depends, by logical name, in a run after that of `TURNS`."""
    outputs = state_of(turned({}))
    monkeypatch.setattr(Recorder, "call", lambda *_: {"outputs": outputs})
    requests = run_whole(stack).requests
    names = {urn: urn.rpartition("::")[2] for urn in requests}
    return {names[urn]: {names[earlier] for earlier in each.dependencies} for urn, each in requests.items()}


def test_the_objects_of_a_service_depend_on_the_pods_of_the_service_before_it(monkeypatch):
    plain = dependencies(turned({}), monkeypatch)
    found = dependencies(turned({"engine": {"maxNumSeqs": 8}}), monkeypatch)
    added = {name: earlier - plain[name] for name, earlier in found.items() if earlier - plain[name]}
    assert {frozenset(earlier) for earlier in added.values()} == {
        frozenset({"qwen-decode", "qwen-epp-deployment", "qwen-canary-decode", "qwen-canary-epp-deployment"}),
        frozenset(name for name in plain if re.fullmatch("bert-.*(decode|prefill)|bert-epp-.*deployment", name)),
    }
    of_bert = {name for name in plain if name.startswith("bert-")}
    of_chat = {name for name in plain if name.startswith("chat-")}
    objects_of = {name for name in of_bert | of_chat if not name.endswith(("-epp",))}
    assert added.keys() == objects_of


def test_without_a_limit_no_object_depends_on_another_service(monkeypatch):
    stack = turned({"engine": {"maxNumSeqs": 8}})
    plain = dependencies(turned({}), monkeypatch)
    del stack["upgrades"]
    assert dependencies(stack, monkeypatch) == plain
