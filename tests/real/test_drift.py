"""One run takes back every change to what the configuration states; what others own is left alone."""

import json
import re
from typing import NamedTuple

import pytest

from facts import cluster
from judging import additions
from local.errors import LocalError
from manifests.assembly import objects, render
from models.stack import Cluster
from tests.support.cluster.deployments import in_namespace, told
from tests.support.cluster.server import read
from tests.support.stacks import plan

pytestmark = pytest.mark.real

NAME = "drifted"
HPA = {"type": "hpa", "maxReplicas": 8, "metrics": [{"type": "queue-size", "target": 5}]}
DECODE = "qwen-decode"
CANARY = "qwen-canary-decode"
BERT = "bert-decode"
EPP = "qwen-epp"
CONTAINER = ("spec", "template", "spec", "containers", 0)
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
STRANGER = {"kind": "ServiceAccount", "name": "stranger", "namespace": "default"}


class Change(NamedTuple):
    """A change of one field of one object by hand or by another tool."""

    logical: str
    """Logical name of the object."""
    kind: str
    name: str
    field: tuple[str | int, ...]
    command: tuple[str, ...]
    """Arguments of kubectl."""


def by(manager, logical, kind, name, op, field, value=None):
    """Return a change of a field by a JSON patch under the name of a field manager."""
    place = "/" + "/".join(str(key).replace("/", "~1") for key in field)
    body = json.dumps([{"op": op, "path": place, **({} if op == "remove" else {"value": value})}])
    command = ("patch", kind, name, "--type=json", f"--field-manager={manager}", f"--patch={body}")
    return Change(logical, kind, name, field[:-1] if field[-1] == "-" else field, command)


def edit(*change):
    return by("kubectl-edit", *change)


def other(*change):
    return by("dashboard", *change)


BY_KUBECTL = [
    Change(DECODE, "deployment", DECODE, ("spec", "replicas"), ("scale", f"deployment/{DECODE}", "--replicas=3")),
    Change(
        DECODE, "deployment", DECODE, (*CONTAINER, "image"),
        ("set", "image", f"deployment/{DECODE}", "vllm=registry.example/engine:other"),
    ),
    Change(
        DECODE, "deployment", DECODE, ("metadata", "labels", "app.kubernetes.io/name"),
        ("label", f"deployment/{DECODE}", "app.kubernetes.io/name=other", "--overwrite"),
    ),
    edit(CANARY, "deployment", CANARY, "replace", ("spec", "replicas"), 4),
    edit(CANARY, "deployment", CANARY, "replace", (*CONTAINER, "args", 0), "other"),
    edit(CANARY, "deployment", CANARY, "replace", (*CONTAINER, "env", 0, "value"), "other"),
    edit(BERT, "deployment", BERT, "add", (*CONTAINER, "args", "-"), "--enforce-eager"),
    edit("qwen-service", "service", "qwen", "replace", ("spec", "ports", 0, "targetPort"), 9999),
    edit("qwen-epp-config", "configmap", EPP, "replace", ("data", "config.yaml"), "other"),
    edit("qwen-epp-role", "role", EPP, "add", ("rules", "-"), SECRETS),
    edit("qwen-canary-epp-role", "role", "qwen-canary-epp", "remove", ("rules", 0)),
    edit("qwen-decode-budget", "pdb", DECODE, "replace", ("spec", "maxUnavailable"), 2),
    edit("bert-decode-autoscaler", "hpa", BERT, "replace", ("spec", "maxReplicas"), 20),
]  # fmt: skip
BY_OTHERS = [
    other(DECODE, "deployment", DECODE, "replace", ("spec", "replicas"), 1),
    other(DECODE, "deployment", DECODE, "add", (*CONTAINER, "args", "-"), "--enforce-eager"),
    other(BERT, "deployment", BERT, "replace", (*CONTAINER, "image"), "registry.example/engine:other"),
    other("qwen-epp-service", "service", EPP, "replace", ("spec", "ports", 0, "targetPort"), 9999),
    other("qwen-service", "service", "qwen", "add", ("spec", "selector", "stranger"), "yes"),
    other("qwen-epp-role", "role", EPP, "replace", ("rules", 0, "verbs"), ["*"]),
    other("qwen-epp-role-binding", "rolebinding", EPP, "replace", ("subjects", 0), STRANGER),
    other("bert-epp-role-binding", "rolebinding", "bert-epp", "add", ("subjects", "-"), STRANGER),
    other("routing-qwen-route", "httproute", "qwen", "replace", ("spec", "rules", 0, "backendRefs", 0, "weight"), 50),
    other("routing-bert-route", "httproute", "bert", "replace", ("spec", "rules", 0, "backendRefs", 0, "name"), "qwen"),
    other(
        "qwen-epp-pool", "inferencepool", "qwen", "replace",
        ("spec", "selector", "matchLabels", "inference-stacks.io/service"), "bert",
    ),
    other("qwen-decode-network-policy", "networkpolicy", DECODE, "replace", ("spec", "ingress"), [{}]),
    other(
        "qwen-epp-destination-rule", "destinationrule", EPP, "replace",
        ("spec", "trafficPolicy", "portLevelSettings", 0, "tls", "mode"), "DISABLE",
    ),
]  # fmt: skip
DELETED = {
    "qwen-service": ("service", "qwen"),
    "qwen-epp-config": ("configmap", EPP),
    "qwen-epp-role": ("role", EPP),
    "qwen-epp-deployment": ("deployment", EPP),
    "qwen-decode-budget": ("pdb", DECODE),
    "routing-qwen-route": ("httproute", "qwen"),
    "bert-decode-autoscaler": ("hpa", BERT),
}
THEIRS = "--field-manager=cost-tool"


@pytest.fixture(scope="module")
def drifting(deploy_for_all):
    """Deploy a service with a canary and one with an autoscaler, which has scaled it to five replicas.

    A tool has a label and an annotation of its own on objects that change, and somebody has one on another object.
    """
    deployment = deploy_for_all(stack(NAME))
    deployment.up()
    for command in (
        ("label", "deployment", DECODE, "team=costs", THEIRS),
        ("annotate", "service", EPP, "note=theirs", THEIRS),
        ("label", "deployment", DECODE, "by-hand=yes"),
        ("label", "service", "bert", "by-hand=yes"),
    ):
        deployment.plane.kubectl(*command, "-n", NAME)
    body = json.dumps({"spec": {"replicas": 5}})
    arguments = ("--subresource=scale", "--field-manager=kube-controller-manager", "--type=merge", f"--patch={body}")
    deployment.plane.kubectl("patch", f"deployment/{BERT}", "-n", NAME, *arguments)
    return deployment


def stack(namespace):
    engine = {"args": ["--enable-chunked-prefill"], "env": {"EXAMPLE": "value"}}
    qwen = {"replicas": 2, "engine": engine, "canary": {"weight": 10, "replicas": 1}}
    return in_namespace(namespace, qwen=qwen, bert={"autoscaling": HPA}) | {"networkPolicies": {}}


def look(deployment, change):
    """Return the value of the changed field; None where it is not."""
    found = deployment.get(change.kind, change.name, NAME)
    for key in change.field:
        found = found.get(key) if isinstance(found, dict) else found[key] if key < len(found) else None
    return found


def changed(deployment, changes):
    """Change fields, and return the values that they had before."""
    before = [look(deployment, change) for change in changes]
    for change in changes:
        deployment.plane.kubectl(*change.command, "-n", NAME)
    assert [change for change, value in zip(changes, before, strict=True) if look(deployment, change) == value] == []
    return before


def seen_and_repaired(deployment, expected):
    """Assert that a preview sees what a run then repairs, and return what the preview says."""
    text, foreseen = deployment.foresee("--refresh")
    assert foreseen.done == expected
    assert deployment.operate("--refresh").done == expected
    return text


def assert_left_alone(deployment):
    """Assert that what the configuration does not state is as others left it.

    Only what somebody set with kubectl goes: the provider takes over what kubectl wrote in an object that it updates.
    """
    assert deployment.get("deployment", BERT, NAME)["spec"]["replicas"] == 5
    labels = deployment.get("deployment", DECODE, NAME)["metadata"]["labels"]
    assert (labels["team"], "by-hand" in labels) == ("costs", False)
    assert deployment.get("service", EPP, NAME)["metadata"]["annotations"]["note"] == "theirs"
    assert deployment.get("service", "bert", NAME)["metadata"]["labels"]["by-hand"] == "yes"


@pytest.mark.parametrize("changes", [BY_KUBECTL, BY_OTHERS], ids=["by kubectl", "by other tools"])
def test_changes_are_seen_and_taken_back_in_one_run(drifting, changes):
    """See defects A17."""
    deployment = drifting
    before = changed(deployment, changes)
    text = seen_and_repaired(deployment, dict.fromkeys((change.logical for change in changes), "update"))
    assert [look(deployment, change) for change in changes] == before
    number = look(deployment, changes[0])
    assert f"services.qwen.replicas: {3 if changes is BY_KUBECTL else 1} replica" in text
    assert f" will become {number}: " in text
    assert_left_alone(deployment)
    # A run waits for one pod of a workload whose number an autoscaler has, and a preview that looks finds the others.
    deployment.plane.kubectl("rollout", "status", f"deployment/{BERT}", f"--namespace={NAME}", "--timeout=2m")
    deployment.assert_in_step()


def test_what_is_deleted_by_hand_comes_back_in_one_run(drifting):
    """A Service whose port somebody gave another number has to be deleted by hand. See defects A17."""
    deployment = drifting
    moved = edit("qwen-service", "service", "qwen", "replace", ("spec", "ports", 0, "port"), 9999)
    (port,) = changed(deployment, [moved])
    refused = deployment.preview("--refresh")
    assert refused.returncode
    assert "kubectl-edit changed the keys that identify spec.ports[8000]" in told(refused)
    assert "or delete the object and run with --refresh" in told(refused)
    for kind, name in DELETED.values():
        deployment.plane.kubectl("delete", kind, name, "-n", NAME)
    seen_and_repaired(deployment, dict.fromkeys(DELETED, "create"))
    for kind, name in DELETED.values():
        assert deployment.get(kind, name, NAME)
    assert look(deployment, moved) == port
    assert_left_alone(deployment)
    deployment.assert_in_step()


def test_the_selector_of_a_workload_cannot_be_changed(drifting):
    refused = edit(DECODE, "deployment", DECODE, "add", ("spec", "selector", "matchLabels", "a"), "b")
    with pytest.raises(LocalError, match="field is immutable"):
        drifting.plane.kubectl(*refused.command, "-n", NAME)


def test_every_object_whose_lists_can_grow_is_read(drifting, plane):
    components = render(plan(stack(NAME)))
    access = cluster.KubeAccess(plane.kubeconfig.read_text(encoding="utf-8"), None)
    live = cluster.objects(Cluster(), access, additions.kinds(components), {})
    expected = {each.place for each in objects(components) if (each.api, each.place[2]) in additions.kinds(components)}
    assert expected <= live.objects.keys()
    assert live.refused == ()


def test_without_the_annotation_a_scaled_workload_ends_in_a_conflict_and_getting_it_restarts_no_pod(deploy):
    """The negative control, and what the first run does to objects of before. See defects A17."""
    name = "unrepaired"
    deployment = deploy(in_namespace(name, bert={}))
    forced = '_FORCED = {"pulumi.com/patchForce": "true"}'
    deployment.replace("components/registration.py", re.escape(forced), "_FORCED = dict[str, str]()")
    deployment.up()
    before = {pod["metadata"]["uid"] for pod in read(deployment.plane, "pods", name)}
    deployment.plane.kubectl("scale", "deployment/bert-decode", "--replicas=3", "-n", name)
    for refused in (deployment.preview("--refresh"), deployment.attempt("--refresh")[0]):
        assert refused.returncode
        assert 'conflict with "kubectl" with subresource "scale"' in told(refused)
        assert ".spec.replicas" in told(refused)
    deployment.replace("components/registration.py", r"_FORCED = dict\[str, str\]\(\)", forced)
    assert set(deployment.operate("--refresh").done.values()) == {"update"}
    assert deployment.get("deployment", "bert-decode", name)["spec"]["replicas"] == 1
    assert before & {pod["metadata"]["uid"] for pod in read(deployment.plane, "pods", name)}
    deployment.assert_in_step()
