"""Objects are registered as by the SDK's classes for their kinds, so that a stack may change from one to the other."""

import re
from operator import attrgetter

import pulumi
import pulumi_kubernetes as k8s
from google.protobuf.json_format import MessageToDict

from components.registration import KubernetesObject
from tests.support.program import Monitor, Recorder, begin
from tests.support.stacks import SHIPPED, rendered, shipped
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
