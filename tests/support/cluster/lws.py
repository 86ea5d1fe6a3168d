"""A control plane with the real LeaderWorkerSet controller, whose webhooks the API server calls on loopback."""

import base64
import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from local import files, processes
from local.cluster import ControlPlane
from local.errors import LocalError
from local.ports import free_ports
from local.tools import Tool
from tests.support.cluster.plane import GO

READY_SECONDS = 240.0
LABELS = {"leaderworkerset.sigs.k8s.io/name": "probe", "leaderworkerset.sigs.k8s.io/worker-index": "0"}
PROBE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "probe-0", "labels": LABELS, "annotations": {"leaderworkerset.sigs.k8s.io/size": "1"}},
    "spec": {"containers": [{"name": "probe", "image": "registry.example/probe:v1"}]},
}


@pytest.fixture(scope="module")
def lws_plane(
    new_plane: Callable[..., ControlPlane], tools: dict[str, Tool], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Start a control plane on which LeaderWorkerSets are brought up, rolled and scaled as on a cluster."""
    plane = new_plane()
    # The controller also reconciles this kind, and ends where it is missing.
    plane.kubectl("apply", "--server-side", f"--filename={tools['crds'].path / 'disaggregated-set'}")
    with controller(plane, tools, tmp_path_factory.mktemp("lws")):
        yield plane
    # A control plane that idles takes a twentieth of a processor from the tests after this module.
    plane.remove()


@contextlib.contextmanager
def controller(plane: ControlPlane, tools: dict[str, Tool], directory: Path) -> Iterator[None]:
    """Run the controller on the control plane, from when its webhooks are called on; raises LocalError with its log."""
    home = directory / "home"
    log = directory / "log"
    port = free_ports(("webhooks",))["webhooks"]
    home.mkdir()
    authority = certify(tools, directory)
    configuration = directory / "configuration.yaml"
    configuration.write_text(yaml.safe_dump(configured(port, directory)), encoding="utf-8")
    environment = {"PATH": os.defpath, "HOME": str(home), "KUBECONFIG": str(plane.kubeconfig), **GO}
    with log.open("wb") as stream:
        command = processes.tied_command([str(tools["lws"].path), f"--config={configuration}"])
        process = subprocess.Popen(command, cwd=directory, env=environment, stdout=stream, stderr=stream)
    try:
        plane.kubectl("apply", "-f", "-", input=json.dumps(registration(tools["lws-webhooks"].path, port, authority)))
        deadline = time.monotonic() + READY_SECONDS
        while not injects(plane):
            if process.poll() is not None or time.monotonic() > deadline:
                raise LocalError(f"the LeaderWorkerSet controller does not serve; the end of {log}:\n{files.tail(log)}")
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()


def certify(tools: dict[str, Tool], directory: Path) -> bytes:
    """Give the controller a certificate for loopback; returns the authority that it is trusted by."""
    made = subprocess.run([str(tools["pki"].path), str(directory)], capture_output=True, text=True, check=False)
    if made.returncode:
        raise LocalError(f"no certificates: {made.stderr.strip()}")
    (directory / "apiserver.crt").rename(directory / "tls.crt")
    (directory / "apiserver.key").rename(directory / "tls.key")
    return (directory / "ca.crt").read_bytes()


def configured(port: int, certificates: Path) -> dict[str, Any]:
    """Return a configuration under which the controller listens on nothing but one port of loopback."""
    return {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(certificates)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }


def registration(folder: Path, port: int, authority: bytes) -> dict[str, Any]:
    """Return the controller's own webhook configurations, patched as on a cluster, with loopback for its Service."""
    items = list(yaml.safe_load_all((folder / "manifests.yaml").read_text(encoding="utf-8")))
    for item in items:
        name = item["kind"].removesuffix("WebhookConfiguration").lower()
        for change in yaml.safe_load((folder / f"{name}-patch.yaml").read_text(encoding="utf-8")):
            item["webhooks"][int(change["path"].removeprefix("/webhooks/"))] = change["value"]
        for webhook in item["webhooks"]:
            url = f"https://127.0.0.1:{port}{webhook['clientConfig']['service']['path']}"
            webhook["clientConfig"] = {"url": url, "caBundle": base64.b64encode(authority).decode()}
    return {"apiVersion": "v1", "kind": "List", "items": items}


def injects(plane: ControlPlane) -> bool:
    """Say whether a pod of a LeaderWorkerSet that is created now is given the variables of its group."""
    create = ("create", "--dry-run=server", "-o", "json", "-f", "-")
    try:
        pod = json.loads(plane.kubectl(*create, input=json.dumps(PROBE)))
    except LocalError:
        return False
    return "LWS_GROUP_SIZE" in {variable["name"] for variable in pod["spec"]["containers"][0].get("env", ())}
