"""Deployments of earlier versions of this program, recorded once and restored into an engine and an API server.

`.venv/bin/python -m tests.support.cluster.upgrades NAME FOLDER` deploys the stack file of a recording with the program
in a folder, which is a checkout of an earlier commit, and writes the state and the objects beside the stack file. A
lock beside the stack file counts. The recording of a published version is called like that version.
"""

import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from local.cluster import ControlPlane
from local.report import Report
from local.tools import ensure
from models.lock import file_name
from tests.support.cluster import rollouts
from tests.support.cluster.deployments import ROOT, Deployed, provide
from tests.support.cluster.server import owned, read, read_one
from tests.support.cluster.workstations import Workstation

RECORDINGS = ROOT / "tests" / "support" / "upgrades"
SECRET = "4dabf18193072939515e22adb298388d"
"""Key of every secret value in a state (pulumi, sdk/go/common/resource/sig)."""
MANIFEST = {"time": "2026-01-01T00:00:00Z", "magic": "", "version": ""}
"""Manifest of the engine that wrote a state."""
PROVIDER = "pulumi:providers:kubernetes"
INSTANCE = "inference-stacks:index:InferenceStack"
GENERATED = {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
"""Metadata that the API server writes."""
CONTROLLED = {"clusterIP", "clusterIPs", "healthCheckNodePort", "volumeName"}
"""Fields of a spec that a controller fills in, for one cluster alone."""
BOUND = {"kubernetes.io/service-account.uid", "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"}
"""Annotations that bind an object to one that has another UID in another cluster."""
SECONDS = 120
PUBLISHED = sorted(path.name for path in RECORDINGS.iterdir() if re.fullmatch(r"\d+\.\d+\.\d+", path.name))
"""Recordings of published versions."""


def stack(name: str) -> dict[str, Any]:
    """Return the stack that a recording deployed, as its stack file has it."""
    file = yaml.safe_load((RECORDINGS / name / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    return file["config"]["inference-stacks:stack"]


def record(name: str, program: Path) -> None:
    """Deploy a recording's stack with the program in a folder, and write what engine and API server then have."""
    tools = ensure(None, Report())
    with tempfile.TemporaryDirectory() as directory:
        plane = ControlPlane(Path(directory) / "plane", tools, tie_to_parent=True)
        plane.start(Report())
        try:
            provide(plane, stack(name)["namespace"])
            deployed = Deployed(Path(directory) / "deployment", tools, plane, program=program)
            _write_stack(name, deployed)
            deployed.up()
            settle(plane, stack(name)["namespace"])
            resources = deployed.engine.export()["deployment"]["resources"]
            _write(name, "resources", _without_secrets(resources))
            _write(name, "objects", _objects(plane, resources))
            deployed.engine.stop()
        finally:
            plane.remove()


def _write_stack(name: str, deployed: Deployed) -> None:
    """Write the stack file of a recording into a project, and its lock if it has one."""
    deployed.write(stack(name))
    lock = RECORDINGS / name / file_name("dev")
    if lock.exists():
        shutil.copy(lock, deployed.project)


def _write(name: str, what: str, items: Iterable[object]) -> None:
    """Write each item as a line of JSON."""
    lines = [json.dumps(item, sort_keys=True, ensure_ascii=False) for item in items]
    (RECORDINGS / name / f"{what}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _read(name: str, what: str) -> list[Any]:
    text = (RECORDINGS / name / f"{what}.jsonl").read_text(encoding="utf-8")
    return [*map(json.loads, text.splitlines())]


def _without_secrets(value: Any) -> Any:
    """Return resources in which every secret is a word, without their places in a program: both are gone."""
    if isinstance(value, dict):
        fields = {key: inner for key, inner in value.items() if key not in {"sourcePosition", "stackTrace"}}
        return "secret" if SECRET in value else {key: _without_secrets(inner) for key, inner in fields.items()}
    return [*map(_without_secrets, value)] if isinstance(value, list) else value


def _objects(plane: ControlPlane, resources: list[Any]) -> Iterator[Any]:
    """Yield every object of a state as the API server has it, without what is of that one cluster."""
    for resource in resources:
        if resource["type"].startswith("kubernetes:"):
            about = resource["outputs"]
            group, _, version = about["apiVersion"].rpartition("/")
            kind = f"{about['kind']}.{group}" if group else about["kind"]
            place = about["metadata"]
            item = read_one(plane, kind, place["name"], place.get("namespace"))
            yield {"apiVersion": about["apiVersion"], "kind": about["kind"], **_portable(item, version)}


def _portable(item: Any, version: str) -> Any:
    """Return an object as another API server takes it, with the owners of its fields."""
    metadata = {key: value for key, value in item["metadata"].items() if key not in GENERATED - {"managedFields"}}
    metadata["managedFields"] = [
        entry
        for entry in metadata["managedFields"]
        if "subresource" not in entry and entry["apiVersion"].endswith(version)
    ]
    annotations = metadata.get("annotations", {})
    metadata["annotations"] = {key: value for key, value in annotations.items() if key not in BOUND}
    rest = {key: value for key, value in item.items() if key not in {"metadata", "status", "data"}}
    if item["kind"] == "ConfigMap":
        rest["data"] = item["data"]
    if "spec" in item:
        rest["spec"] = {key: value for key, value in item["spec"].items() if key not in CONTROLLED}
    if item["kind"] == "Job":
        del rest["spec"]["selector"]
        labels = rest["spec"]["template"]["metadata"]["labels"]
        rest["spec"]["template"]["metadata"]["labels"] = {
            key: value for key, value in labels.items() if not key.endswith(("controller-uid", "job-name"))
        }
    return {**rest, "metadata": metadata}


def restore(name: str, deployed: Deployed) -> None:
    """Give an API server the objects of a recording, and an engine its state, with another name of the cluster."""
    plane = deployed.plane
    provide(plane, stack(name)["namespace"])
    resources = _restore_objects(name, plane)
    _write_stack(name, deployed)
    for resource in resources:
        if resource["type"] == PROVIDER:
            for values in (resource["inputs"], resource["outputs"]):
                values["kubeconfig"] = plane.kubeconfig.read_text(encoding="utf-8")
                values["clusterIdentifier"] = "former-name"
    deployed.engine.run("stack", "import", "--file", str(_state(resources, deployed.project)))
    settle(plane, stack(name)["namespace"])


def restore_on(name: str, workstation: Workstation, plane: ControlPlane) -> None:
    """Give an API server the objects of a recording, and the stack of a workstation its state."""
    resources = _restore_objects(name, plane)
    for resource in resources:
        if resource["type"] == PROVIDER:
            # A workstation names its cluster by KUBECONFIG.
            for values in (resource["inputs"], resource["outputs"]):
                if values.get("kubeconfig") == "secret":
                    del values["kubeconfig"]
    workstation.begin(stack(name))
    workstation.succeed("stack", "import", "--file", str(_state(resources, workstation.directory)))
    settle(plane, stack(name)["namespace"])


def _restore_objects(name: str, plane: ControlPlane) -> list[Any]:
    """Give an API server the objects of a recording. Return the resources of its state, with the UIDs of these."""
    resources = _read(name, "resources")
    owned(plane, _read(name, "objects"))
    _take_uids(plane, resources)
    return resources


def _state(resources: list[Any], folder: Path) -> Path:
    """Write a state into a file of a folder, and return its path."""
    path = folder / "state.json"
    state = {"version": 3, "deployment": {"manifest": MANIFEST, "resources": resources}}
    path.write_text(json.dumps(state), encoding="utf-8")
    return path


def _take_uids(plane: ControlPlane, resources: Iterable[Any]) -> None:
    """Write the UIDs that a cluster and its objects have into the resources of a state."""
    cluster = read_one(plane, "namespace", "kube-system")["metadata"]["uid"]
    for resource in resources:
        if "cluster" in resource.get("outputs", {}) and resource["type"] == INSTANCE:
            resource["outputs"]["cluster"]["uid"] = cluster
        if resource["type"].startswith("kubernetes:"):
            about = resource["outputs"]
            group = about["apiVersion"].rpartition("/")[0]
            kind = f"{about['kind']}.{group}" if group else about["kind"]
            item = read_one(plane, kind, about["metadata"]["name"], about["metadata"].get("namespace"))
            about["metadata"]["uid"] = item["metadata"]["uid"]


def settle(plane: ControlPlane, namespace: str) -> None:
    """Wait until the rollout of every Deployment of a namespace has ended and every Job is done."""
    until = time.monotonic() + SECONDS
    while unsettled := [item["metadata"]["name"] for item in _unsettled(plane, namespace)]:
        assert time.monotonic() < until, unsettled
        time.sleep(0.5)


def _unsettled(plane: ControlPlane, namespace: str) -> Iterator[Any]:
    for item in read(plane, "deployments,jobs", namespace):
        is_job = item["kind"] == "Job"
        if not ("succeeded" in item.get("status", {}) if is_job else rollouts.is_ended(item)):
            yield item


if __name__ == "__main__":
    record(sys.argv[1], Path(sys.argv[2]).resolve())
