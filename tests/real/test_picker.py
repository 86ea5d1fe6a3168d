"""A real endpoint picker, started as deployed: identity, arguments and configuration are taken from the API server."""

import contextlib
import json
import os
import socket
import subprocess
import time

import grpc
import pytest
import yaml
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.deployments import in_namespace

pytestmark = pytest.mark.real
PORTS = ("--grpc-port", "--grpc-health-port", "--metrics-port")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def picker(plane, tools, namespace, name, directory):
    """Run the picker of a deployed stack; only ports and the folder of its configuration are this machine's."""
    deployment = json.loads(plane.kubectl("get", "deployment", name, "-n", namespace, "-o", "json"))
    pod = deployment["spec"]["template"]["spec"]
    arguments = dict(argument.split("=", 1) for argument in pod["containers"][0]["args"])
    volume = pod["volumes"][0]["configMap"]["name"]
    data = json.loads(plane.kubectl("get", "configmap", volume, "-n", namespace, "-o", "json"))["data"]
    folder = pod["containers"][0]["volumeMounts"][0]["mountPath"]
    for key, text in data.items():
        (directory / key).write_text(text, encoding="utf-8")
    arguments["--config-file"] = arguments["--config-file"].replace(f"{folder}/", f"{directory}/", 1)
    arguments |= {flag: str(free_port()) for flag in PORTS}
    config = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))
    token = plane.kubectl("create", "token", pod["serviceAccountName"], "-n", namespace).strip()
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    kubeconfig = directory / "kubeconfig"
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
    env = {"PATH": os.defpath, "HOME": str(directory), "KUBECONFIG": str(kubeconfig)}
    env |= {"NAMESPACE": namespace, "POD_NAME": "picker"}
    with (directory / "log").open("wb") as log:
        command = [str(tools["epp"].path), *(f"{flag}={value}" for flag, value in arguments.items())]
        process = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield arguments["--grpc-health-port"], process
        finally:
            process.kill()
            process.wait()


def serves(port, process, service, deadline=20):
    """Say whether the picker comes to serve before the deadline."""
    until = time.monotonic() + deadline
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        health = health_pb2_grpc.HealthStub(channel)
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(grpc.RpcError):
                answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=2)
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    return True
            time.sleep(0.2)
    return False


def deployed(deploy, namespace):
    one = deploy(in_namespace(namespace, bert={}) | {"release": "gie-1.3"})
    one.up()
    return one


def said_forbidden(log, resource, deadline=20):
    """Say whether the API server comes to refuse the picker something before the deadline."""
    until = time.monotonic() + deadline
    while time.monotonic() < until:
        if any("forbidden" in line and resource in line for line in log.read_text(encoding="utf-8").splitlines()):
            return True
        time.sleep(0.2)
    return False


def without_rule(plane, namespace, rule):
    patch = json.dumps([{"op": "remove", "path": f"/rules/{rule}"}])
    plane.kubectl("patch", "role", "bert-epp", "-n", namespace, "--type=json", "-p", patch)


def test_the_picker_serves_as_deployed_and_is_refused_nothing(deploy, plane, tools, tmp_path):
    deployed(deploy, "picks")
    with picker(plane, tools, "picks", "bert-epp", tmp_path) as (port, process):
        log = tmp_path / "log"
        assert serves(port, process, "readiness"), log.read_text(encoding="utf-8")[-3000:]
        assert serves(port, process, "liveness")
        assert "forbidden" not in log.read_text(encoding="utf-8")
    me, group = "system:serviceaccount:picks:bert-epp", "inference.networking.x-k8s.io"
    for kind in ("inferenceobjectives", "inferencemodelrewrites"):
        assert plane.kubectl("auth", "can-i", "watch", f"{kind}.{group}", "-n", "picks", f"--as={me}").strip() == "yes"


def test_without_its_pool_the_picker_does_not_serve(deploy, plane, tools, tmp_path):
    deployed(deploy, "picks-no-pool")
    plane.kubectl("delete", "inferencepool", "bert", "-n", "picks-no-pool")
    with picker(plane, tools, "picks-no-pool", "bert-epp", tmp_path) as (port, process):
        assert not serves(port, process, "readiness", deadline=8)


@pytest.mark.parametrize(("rule", "resource"), [(0, "pods"), (1, "inferencepools")])
def test_without_pods_or_its_pool_in_its_role_the_picker_does_not_serve(rule, resource, deploy, plane, tools, tmp_path):
    namespace = f"picks-no-{resource}"
    deployed(deploy, namespace)
    without_rule(plane, namespace, rule)
    with picker(plane, tools, namespace, "bert-epp", tmp_path) as (port, process):
        assert not serves(port, process, "readiness", deadline=8)
        assert said_forbidden(tmp_path / "log", resource)
