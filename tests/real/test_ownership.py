"""Stacks in one namespace leave each other's objects alone, and somebody's object is adopted on purpose only."""

import json
import re
import shlex

import pytest

from tests.support.cluster.deployments import found, told
from tests.support.cluster.server import read_one
from tests.support.stacks import tree

pytestmark = pytest.mark.real

METERED = {"interceptor": {"mode": "label", "namespace": "metering"}}
KINDS = "deployments,services,serviceaccounts,roles,rolebindings,configmaps,inferencepools,httproutes,destinationrules"
CLUSTER_SCOPED = "clusterrolebindings"
GRANT = "phoebe-interceptor-services-inference-stacks"


def stack(namespace, **services):
    """Return a metered stack in a namespace that exists."""
    return tree(**services) | {"namespace": namespace} | METERED


def owned(plane, namespace, owner):
    """Return uid and generation of what a stack made, by kind and name."""
    everything = [*found(plane, KINDS, namespace), *found(plane, CLUSTER_SCOPED, None)]
    return {
        (item["kind"], item["metadata"]["name"]): (item["metadata"]["uid"], item["metadata"].get("generation"))
        for item in everything
        if item["metadata"].get("labels", {}).get("inference-stacks.io/stack") == f"inference-stacks.{owner}"
    }


def test_two_stacks_in_one_namespace_leave_each_others_objects(deploy, plane):
    """See defects A24."""
    name = "two-stacks"
    plane.kubectl("create", "namespace", name)
    blue = deploy(stack(name, qwen={}), called="blue")
    green = deploy(stack(name, bert={}), called="green")
    blue.up()
    green.up()
    of_blue = owned(plane, name, "blue")
    of_green = owned(plane, name, "green")
    assert {("Role", f"{GRANT}.blue"), ("RoleBinding", f"{GRANT}.blue"), ("Deployment", "qwen-decode")} <= {*of_blue}
    assert {("Role", f"{GRANT}.green"), ("RoleBinding", f"{GRANT}.green"), ("Deployment", "bert-decode")} <= {*of_green}
    for deployment, other, owner, taken in ((blue, "bert", "green", of_green), (green, "qwen", "blue", of_blue)):
        deployment.write(stack(name, qwen={}, bert={}))
        done = deployment.preview()
        assert done.returncode != 0
        lines = re.findall(
            rf"(\w+) (?:{name}/)?(\S+): belongs to stack organization/inference-stacks/{owner};", told(done)
        )
        assert {*lines} == {place for place in taken if not place[1].startswith(GRANT)}
        assert f"services.{other}" not in told(done)
    green.write(stack(name, bert={}))
    green.destroy()
    account = "--as=system:serviceaccount:metering:phoebe-interceptor"
    assert plane.kubectl("auth", "can-i", "list", "services", "-n", name, account).strip() == "yes"
    assert owned(plane, name, "green") == {}
    assert owned(plane, name, "blue") == of_blue


def test_somebodys_object_is_adopted_by_the_command_that_preview_prints(deploy, plane):
    name = "adopted"
    plane.kubectl("create", "namespace", name)
    content = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "qwen-epp"}, "data": {"theirs": "yes"}}
    plane.kubectl("apply", "-n", name, "-f", "-", input=json.dumps(content))
    before = read_one(plane, "configmap", "qwen-epp", name)
    deployment = deploy(stack(name, qwen={}))
    output, _ = deployment.foresee()
    (command,) = {*re.findall(rf"ConfigMap {name}/qwen-epp: exists without .* preview\): (pulumi import .*)", output)}
    _, *arguments = shlex.split(command)
    component = arguments[arguments.index("--parent") + 1].partition("=")[2]
    whole = f"{component.rpartition('$')[0]}::inference-stack"
    deployment.engine.run("up", "--yes", "--skip-preview", "--target", whole, "--target", component)
    deployment.engine.run(*arguments, "--yes", "--generate-code=false")
    operations = deployment.operate()
    assert operations.done["qwen-epp-config"] == "update"
    after = deployment.get("configmap", "qwen-epp", name)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["labels"]["inference-stacks.io/stack"] == "inference-stacks.dev"
    assert "without the mark" not in deployment.foresee()[0]
