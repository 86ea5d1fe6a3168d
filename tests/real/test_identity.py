"""Least privilege and secrets: what each identity may do, and what state and processes give away."""

import base64
import json
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from local.errors import LocalError
from tests.support.cluster import backend_files
from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.server import read

pytestmark = pytest.mark.real

NAMESPACE = "identities"


@pytest.fixture(scope="session")
def packages(plain_python):
    """Let runs whose command lines are read be what a user has."""
    return plain_python


@pytest.fixture(scope="module")
def deployed(deploy_for_all):
    """Deploy a service of one role, metered under another name, and one of two roles, which is not metered."""
    metered = {"interceptor": {"resourceId": "chat-7f3a"}}
    unmetered = {"interceptor": {"enabled": False}}
    beside = {"endpointPicker": {"containers": {"log": {"image": "registry.example/log:v1"}}}}
    stack = in_namespace(NAMESPACE, bert=metered, qwen={"prefill": {}, **unmetered, **beside})
    deployment = deploy_for_all(stack | {"interceptor": {"mode": "label", "namespace": "metering"}})
    deployment.up()
    return deployment


def allowed(plane, account, verb, resource, namespace, *more):
    try:
        answer = plane.kubectl("auth", "can-i", verb, resource, "-n", namespace, f"--as={account}", *more)
    except LocalError:
        return False
    return answer.strip() == "yes"


def test_the_picker_may_read_its_pool_and_nothing_that_it_does_not_need(deployed, plane):
    me = f"system:serviceaccount:{NAMESPACE}:bert-epp"
    assert allowed(plane, me, "list", "pods", NAMESPACE)
    assert allowed(plane, me, "watch", "inferencepools.inference.networking.k8s.io/bert", NAMESPACE)
    assert allowed(plane, me, "create", "tokenreviews.authentication.k8s.io", NAMESPACE)
    for verb, resource, namespace in (
        ("list", "inferencepools.inference.networking.k8s.io", NAMESPACE),
        ("get", "inferencepools.inference.networking.k8s.io/other", NAMESPACE),
        ("list", "pods", "default"),
        ("get", "secrets", NAMESPACE),
        ("get", "configmaps", NAMESPACE),
        ("create", "pods", NAMESPACE),
        ("create", "leases.coordination.k8s.io", NAMESPACE),
    ):
        assert not allowed(plane, me, verb, resource, namespace), (verb, resource, namespace)


def test_the_api_server_gives_no_container_of_a_pickers_pod_a_token_but_the_picker(deployed, plane):
    """See defects H8."""
    pods = [pod["spec"] for pod in read(plane, "pods", NAMESPACE) if "-epp-" in pod["metadata"]["name"]]
    assert {container["name"] for pod in pods for container in pod["containers"]} == {"epp", "log"}
    for pod in pods:
        tokens = [volume["name"] for volume in pod["volumes"] if "serviceAccountToken" in json.dumps(volume)]
        mounts = {
            container["name"]: mount["mountPath"]
            for container in pod["containers"]
            for mount in container.get("volumeMounts", [])
            if mount["name"] in tokens
        }
        assert tokens == ["api-token"]
        assert mounts == {"epp": "/var/run/secrets/kubernetes.io/serviceaccount"}


def test_the_routing_sidecar_may_watch_its_pool_and_the_pods_and_nothing_else(deployed, plane):
    pool = deployed.outputs()["services"]["qwen"]["primary"]["pool"]["name"]
    me = f"system:serviceaccount:{NAMESPACE}:{pool}-decode"
    for verb in ("list", "watch"):
        assert allowed(plane, me, verb, "pods", NAMESPACE)
        assert allowed(plane, me, verb, f"inferencepools.inference.networking.k8s.io/{pool}", NAMESPACE)
    for verb, resource, namespace in (
        ("get", "pods", NAMESPACE),
        ("list", "inferencepools.inference.networking.k8s.io", NAMESPACE),
        ("list", "pods", "default"),
        ("get", "secrets", NAMESPACE),
        ("get", "configmaps", NAMESPACE),
        ("create", "tokenreviews.authentication.k8s.io", NAMESPACE),
    ):
        assert not allowed(plane, me, verb, resource, namespace), (verb, resource, namespace)
    pod = deployed.get("deployment", f"{pool}-decode", NAMESPACE)["spec"]["template"]["spec"]
    holders = {
        container["name"]
        for container in [*pod["initContainers"], *pod["containers"]]
        if any(mount["mountPath"].startswith("/var/run/secrets") for mount in container["volumeMounts"])
    }
    assert holders == {"routing-proxy"}
    assert pod["automountServiceAccountToken"] is False
    prefill = deployed.get("deployment", f"{pool}-prefill", NAMESPACE)["spec"]["template"]["spec"]
    assert prefill.get("serviceAccountName", "default") == "default"


def test_the_interceptor_may_get_and_list_services_of_the_models_and_nothing_else(deployed, plane):
    """See phoebe 4.1, 4.3."""
    me = "system:serviceaccount:metering:phoebe-interceptor"
    assert allowed(plane, me, "get", "services", NAMESPACE)
    assert allowed(plane, me, "list", "services", NAMESPACE)
    for verb, resource, namespace in (
        ("watch", "services", NAMESPACE),
        ("list", "services", "metering"),
        ("list", "services", "default"),
        ("get", "secrets", NAMESPACE),
        ("list", "pods", NAMESPACE),
        ("update", "services", NAMESPACE),
    ):
        assert not allowed(plane, me, verb, resource, namespace), (verb, resource, namespace)


def test_exactly_one_service_carries_the_routing_contract(deployed, plane):
    """See phoebe 3.1, 7.2."""
    for billed, names in (("bert", []), ("chat-7f3a", ["bert"]), ("qwen", [])):
        selector = f"saturncloud.io/resource-id={billed},saturncloud.io/service-type=internal"
        found = json.loads(plane.kubectl("get", "services", "-n", NAMESPACE, "-l", selector, "-o", "json"))["items"]
        assert [service["metadata"]["name"] for service in found] == names


def spellings(secret):
    """Return a secret in the clear, and what of it shows in base64 at each of the three alignments."""
    yield secret
    for shift in range(3):
        yield base64.b64encode(b" " * shift + secret.encode()).decode()[4:-4]


def test_no_secret_is_in_state_backups_history_or_command_lines(deploy, plane):
    deployment = deploy(in_namespace("secrets", bert={}))
    user = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))["users"][0]["user"]
    secrets = [value for value in user.values() if isinstance(value, str)]
    assert secrets
    deployment.engine.ensure_stack()
    secrets.append((deployment.engine.directory / "passphrase").read_text(encoding="utf-8"))
    commands = set()
    running = deployment.engine.popen("up", "--yes", "--skip-preview", output=subprocess.DEVNULL)
    while running.poll() is None:
        commands |= command_lines()
        time.sleep(0.02)
    assert running.returncode == 0
    deployment.up("--refresh")
    texts = backend_files.texts(deployment.engine.directory / "backend")
    texts += [json.dumps(deployment.engine.export()), *commands, json.dumps(deployment.engine.outputs())]
    assert len(texts) > 5
    assert any("pulumi-resource-kubernetes" in command for command in commands)
    for spelling in (spelling for secret in secrets for spelling in spellings(secret)):
        assert not any(spelling in text for text in texts)


def command_lines():
    found = set()
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.add(entry.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found
