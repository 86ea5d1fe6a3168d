"""A lock of what is deployed changes nothing, however the engine is started, and an update rolls its service alone.

The registry and the S3 server are real. The hub is a stand-in on loopback.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from facts import hosts
from models.lock import file_name
from tests.support.cluster.buckets import CREDENTIALS
from tests.support.cluster.deployments import ROOT, in_namespace, provide, told
from tests.support.stacks import GATEWAY
from tests.support.traffic.distribution import Distribution
from tests.support.traffic.guarded import LOGIN, PASSWORD, TOKEN, GuardedRegistry
from tests.support.traffic.hub import Hub
from tests.support.traffic.registries import KIT, archive
from tests.support.traffic.sources import put

pytestmark = pytest.mark.real

COMMITS = ("c1" * 20, "c2" * 20)
STRICT = {"checks": {"lock": "strict"}}
UNMETERED = {"interceptor": {"enabled": False}}
CONFIG = json.dumps({"num_hidden_layers": 28, "hidden_size": 1024}).encode()
ACCEPTED = [
    {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    for kind in ("Accepted", "Programmed")
]


class Locked:
    """A deployment with the commands of a user who locks it."""

    def __init__(self, deployment, trusted="", variables=()):
        self.deployment = deployment
        self.trusted = trusted
        self.variables = dict(variables)
        self.path = deployment.project / file_name("dev")

    def lock(self, *arguments):
        """Run the command `lock` in the folder of the program."""
        return self.command("lock", "dev", *arguments)

    def command(self, *arguments):
        """Run a command of the program in its folder."""
        variables = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(self.deployment.plane.kubeconfig)}
        variables |= {**CREDENTIALS, "NO_PROXY": "127.0.0.1", hosts.TRUSTED: self.trusted, **self.variables}
        return subprocess.run(
            [sys.executable, "-m", "cli", *arguments],
            cwd=self.deployment.project,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )

    def blocks(self):
        return yaml.safe_load(self.path.read_text(encoding="utf-8"))["services"]

    def pulumi(self, *arguments, without=()):
        """Run the engine outside of every project, with the variables of the deployment but its stack and `without`."""
        engine = self.deployment.engine
        absent = {"PULUMI_STACK", *without}
        variables = {key: value for key, value in engine._environment().items() if key not in absent}
        return subprocess.run(
            [engine.directory / "bin" / "pulumi", "-C", self.deployment.project, *arguments, "--non-interactive"],
            cwd="/",
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )

    def configuration(self, name, *, kubeconfig=True, **changes):
        """Return the path of a copy of the stack file, with or without the kubeconfig that the engine encrypts."""
        content = yaml.safe_load((self.deployment.engine.workspace / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
        content["config"]["inference-stacks:stack"] |= changes
        if not kubeconfig:
            del content["config"]["inference-stacks:kubeconfig"]
        path = Path(self.deployment.engine.directory) / name
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return path

    def preview(self, stack, file, *more, without=()):
        stack = ("--stack", f"organization/inference-stacks/{stack}", "--config-file", file)
        return self.pulumi("preview", *stack, *more, without=without)

    def inputs(self, log, facts, *, kubeconfig):
        """Return what a preview would register, by URN. The credentials of the cluster are left out."""
        file = self.configuration("facts.yaml", cluster={"facts": facts}, kubeconfig=kubeconfig)
        done = self.preview("dev", file, f"--event-log={log}", without=() if kubeconfig else ("KUBECONFIG",))
        assert done.returncode == 0, told(done)
        steps = [json.loads(line).get("resourcePreEvent") for line in log.read_text(encoding="utf-8").splitlines()]
        found = {step["metadata"]["urn"]: step["metadata"]["new"]["inputs"] for step in steps if step is not None}
        return {urn: {key: inputs[key] for key in inputs if key != "kubeconfig"} for urn, inputs in found.items()}


@pytest.fixture
def hub(server):
    stand_in = Hub(server)
    stand_in.push("org/model", COMMITS[0], **{"model.safetensors": 2**30})
    return stand_in


@pytest.fixture
def distribution(tools):
    registry = Distribution(tools["registry"].path)
    push(registry, b"first")
    yield registry
    registry.end()


def push(registry, weights):
    """Push a ModelKit, to which its tag moves."""
    part = archive(**{"config.json": CONFIG})
    return registry.push("org/kit", "v1", (f"{KIT}.model.v1.tar", weights), (f"{KIT}.modelpart.v1.tar", part))


@pytest.fixture
def locked(deploy, plane, hub, distribution, moto):
    """Deploy services with and without prefill and with a claim, of all kinds of sources, and lock them."""
    name = "locked"
    provide(plane, name)
    put(moto, "chat/config.json", CONFIG)
    model = {"model": {"name": "org/model", "source": "hf://org/model", "endpoint": hub.server.url, "size": "1Gi"}}
    kit = {"model": {"name": "org/kit", "source": f"kit://{distribution.host}/org/kit:v1", "insecure": True}}
    chat = {"model": {"name": "org/chat", "source": "s3://models/chat", "endpoint": moto, "region": "us-east-1"}}
    claimed = {**model, "storage": {"type": "dedicated", "storageClassName": name}}
    pair = {**model, "prefill": {}, **UNMETERED}
    stack = in_namespace(name, plain=model, pair=pair, claimed=claimed, kit=kit, chat=chat)
    deployment = Locked(deploy(stack), trusted=moto)
    deployment.deployment.up()
    done = deployment.lock()
    assert done.returncode == 0, done.stderr
    deployment.deployment.write(stack | STRICT)
    return deployment


def test_a_lock_of_what_is_deployed_changes_nothing_however_the_engine_is_started(locked, hub, distribution, moto):
    """The engine of the deployment has `main:`. Strict checks fail wherever the lock is not found."""
    blocks = locked.blocks()
    assert {key for key, block in blocks.items() if block["deployed"]} == {"plain", "pair", "claimed", "kit", "chat"}
    assert blocks["plain"]["source"] == f"hf://org/model@{COMMITS[0]}"
    assert [blocks[key]["architecture"]["layers"] for key in ("kit", "chat")] == [28, 28]
    locked.deployment.assert_plainly_unchanged()
    done = locked.preview("dev", locked.configuration("models.yaml"), "--expect-no-changes", "--diff")
    assert done.returncode == 0, told(done)
    _moves(locked, hub, distribution, moto)
    _is_renamed(locked)


def _moves(locked, hub, distribution, moto):
    """Move branch, tag and object: `--check` finds them, nothing changes, and each update rolls its service alone."""
    earlier = locked.blocks()
    hub.push("org/model", COMMITS[1], **{"model.safetensors": 2**30})
    digest = push(distribution, b"second")
    put(moto, "chat/weights.safetensors", b"second")
    done = locked.lock("--check")
    assert done.returncode == 1
    assert done.stderr.count(f"(hf://org/model@{COMMITS[0]} to hf://org/model@{COMMITS[1]})") == 3
    kit = earlier["kit"]["source"]
    assert f"({kit} to {kit.partition('@')[0]}@{digest})" in done.stderr
    assert f"services.chat.model.source: has moved since {earlier['chat']['asked']}, and pods that start" in done.stderr
    locked.deployment.assert_plainly_unchanged()
    fetched = {"plain": f"hf://org/model:{COMMITS[1]}", "kit": f"{distribution.host}/org/kit@{digest}"}
    for service in ("plain", "kit", "chat"):
        assert locked.lock("--update", service).returncode == 0
        assert locked.deployment.operate().done == {f"{service}-decode": "update"}
        pod = locked.deployment.get("deployment", f"{service}-decode", "locked")["spec"]["template"]["spec"]
        (fetch,) = pod["initContainers"]
        words = [*fetch.get("command", ()), *fetch.get("args", ())]
        assert fetched.get(service, locked.blocks()["chat"]["digest"]) in words


def _is_renamed(locked):
    """Rename the stack: its lock is found by `formerly`, and by nothing else."""
    done = locked.pulumi("stack", "rename", "organization/inference-stacks/prod", "--stack", "dev")
    assert done.returncode == 0, told(done)
    done = locked.preview("prod", locked.configuration("without.yaml"))
    assert done.returncode != 0
    assert "there is no lock (inference.prod.lock.yaml)" in told(done)
    done = locked.preview("prod", locked.configuration("with.yaml", formerly=["inference-stacks/dev"]))
    assert done.returncode == 0, told(done)


@pytest.fixture
def gateway(plane):
    """Make a Gateway that its controller has accepted."""
    namespace = "alike-gateways"
    name = GATEWAY["name"]
    plane.kubectl("create", "namespace", namespace)
    content = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"gatewayClassName": "scripted", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
    }
    plane.kubectl("apply", "-f", "-", input=json.dumps(content))
    patch = json.dumps({"status": {"conditions": ACCEPTED}})
    plane.kubectl("patch", "gateway", name, "-n", namespace, "--subresource=status", "--type=merge", "-p", patch)
    return {**GATEWAY, "namespace": namespace}


def test_registered_inputs_are_the_same_with_the_cluster_with_a_file_and_with_none(
    deploy, distribution, gateway, tmp_path
):
    """Without facts, nobody has a kubeconfig, either. The registry has ended before the first preview."""
    model = {"model": {"source": f"kit://{distribution.host}/org/kit:v1", "insecure": True, "name": "org/kit"}}
    claimed = {**model, "storage": {"type": "dedicated"}}
    pair = {**model, "prefill": {}, **UNMETERED}
    stack = in_namespace("alike", claimed=claimed, pair=pair)
    stack |= {"gateway": gateway, "checks": {"lock": "strict", "preflight": "warn"}}
    alike = Locked(deploy(stack))
    alike.deployment.engine.ensure_stack()
    done = alike.lock()
    assert done.returncode == 0, done.stderr
    distribution.end()
    facts = alike.command("facts")
    assert facts.returncode == 0, facts.stderr
    (alike.deployment.project / "facts.json").write_text(facts.stdout, encoding="utf-8")
    given = {"live": {"type": "live"}, "file": {"type": "file", "path": "facts.json"}, "none": {"type": "none"}}
    found = {
        name: alike.inputs(tmp_path / f"{name}.log", facts, kubeconfig=name == "live") for name, facts in given.items()
    }
    assert found["live"] == found["file"] == found["none"]
    routes = [inputs for urn, inputs in found["none"].items() if "HTTPRoute" in urn]
    assert len(routes) == 2
    assert all("pulumi.com/waitFor" in inputs["metadata"]["annotations"] for inputs in routes)
    (cluster,) = [inputs for urn, inputs in found["none"].items() if "pulumi:providers:kubernetes::" in urn]
    assert cluster["clusterIdentifier"] == yaml.safe_load(alike.path.read_text(encoding="utf-8"))["cluster"]["name"]


@pytest.fixture
def guarded(distribution, tmp_path):
    """Put TLS and a login before the registry, which has three images."""
    front = GuardedRegistry(tmp_path, distribution.host)
    push(distribution, b"weights")
    for name in ("engine", "picker", "fetch"):
        push_image(distribution, name, name.encode())
    yield front
    front.end()


def test_images_get_the_digests_of_their_registry_and_pods_restart_once(deploy, distribution, guarded):
    """The registry is real; the front has TLS and a server of tokens, as public registries have."""

    def stack(tag="v1", **checks):
        at = f"{guarded.host}/org"
        service = {
            "model": {"name": "org/kit", "source": f"kit://{at}/kit:v1", "size": "1Gi"},
            "engine": {"type": "vllm", "image": f"{at}/engine:{tag}"},
            "endpointPicker": {"image": f"{at}/picker:{tag}"},
        }
        return {**in_namespace("pinned", qwen=service), "images": {"kit": f"{at}/fetch:v1"}, "checks": checks}

    pinned = Locked(deploy(stack()), variables=guarded.variables)
    pinned.deployment.up()
    assert pinned.lock().returncode == 0
    pinned.deployment.assert_plainly_unchanged()
    done = pinned.lock("--images")
    assert done.returncode == 0, done.stderr
    assert "images: get new digests, so that the next run restarts the pods with " in done.stderr
    assert {authorization for path, authorization in guarded.asked if path == "/token"} == {f"Basic {LOGIN}"}
    assert pinned.deployment.operate().done == {"qwen-decode": "update", "qwen-epp-deployment": "update"}
    containers = {
        container["image"]
        for name in ("qwen-decode", "qwen-epp")
        for pod in [pinned.deployment.get("deployment", name, "pinned")["spec"]["template"]["spec"]]
        for container in (*pod["containers"], *pod.get("initContainers", ()))
    }
    digests = {name: push_image(distribution, name, name.encode()) for name in ("engine", "picker", "fetch")}
    assert containers == {f"{guarded.host}/org/{name}:v1@{digest}" for name, digest in digests.items()}
    pinned.deployment.assert_plainly_unchanged()
    push_image(distribution, "engine", b"another")
    moved = pinned.lock("--check")
    assert moved.returncode == 1
    (line,) = [line for line in moved.stderr.splitlines() if line.startswith("images.")]
    assert line.startswith(f"images.{guarded.host}/org/engine:v1: has moved since ")
    assert pinned.lock().returncode == 0
    pinned.deployment.write(stack(tag="v9", lock="strict"))
    refused = pinned.deployment.preview()
    assert refused.returncode != 0
    assert told(refused).count("org/engine:v9: differs from inference.dev.lock.yaml, which has ") == 1
    absent = pinned.lock("--images")
    assert absent.returncode == 1
    assert absent.stderr.count("is not in its registry") == 2
    for output in (done, moved, absent, refused):
        assert not any(secret in told(output) for secret in (LOGIN, PASSWORD, TOKEN))


def push_image(registry, name, content):
    """Push an image, to which its tag moves, and return its digest."""
    return registry.push(f"org/{name}", "v1", (f"{KIT}.model.v1.tar", content))
