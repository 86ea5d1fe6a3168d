"""Deployments of earlier versions of this program, recorded once and restored into an engine and an API server.

`.venv/bin/python -m tests.support.cluster.upgrades NAME FOLDER` deploys the stack file of a recording with the program
in a folder, which is a checkout of an earlier commit, and writes the state and the objects beside the stack file.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from local.cluster import ControlPlane
from local.report import Report
from local.tools import ensure
from tests.support.cluster.deployments import ROOT, Deployed, provide
from tests.support.cluster.server import owned, read, read_one

RECORDINGS = ROOT / "tests" / "support" / "upgrades"
SECRET = "4dabf18193072939515e22adb298388d"
"""Key of every secret value in a state (pulumi, sdk/go/common/resource/sig)."""
GENERATED = {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
"""Metadata that the API server writes."""
CONTROLLED = {"clusterIP", "clusterIPs", "healthCheckNodePort", "volumeName"}
"""Fields of a spec that a controller fills in, for one cluster alone."""
SECONDS = 120


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
            deployed.write(stack(name))
            deployed.up()
            settle(plane, stack(name)["namespace"])
            state = deployed.engine.export()
            state["deployment"].pop("secrets_providers", None)
            _write(name, "state", _without_secrets(state))
            _write(name, "objects", [*_objects(plane, state)])
            deployed.engine.stop()
        finally:
            plane.remove()


def _write(name: str, what: str, content: object) -> None:
    text = json.dumps(content, indent=1, sort_keys=True)
    (RECORDINGS / name / f"{what}.json").write_text(f"{text}\n", encoding="utf-8")


def _without_secrets(value: Any) -> Any:
    """Return a state in which every secret is a word: they are of a cluster that is gone."""
    if isinstance(value, dict):
        return "secret" if SECRET in value else {key: _without_secrets(inner) for key, inner in value.items()}
    return [*map(_without_secrets, value)] if isinstance(value, list) else value


def _objects(plane: ControlPlane, state: Any) -> Iterator[Any]:
    """Yield every object of a state as the API server has it, without what is of that one cluster."""
    for resource in state["deployment"]["resources"]:
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
    """Give an API server the objects of a recording, and an engine its state."""
    folder, plane = RECORDINGS / name, deployed.plane
    provide(plane, stack(name)["namespace"])
    owned(plane, json.loads((folder / "objects.json").read_text(encoding="utf-8")))
    deployed.write(stack(name))
    deployed.engine.run("stack", "import", "--file", str(folder / "state.json"))
    settle(plane, stack(name)["namespace"])


def settle(plane: ControlPlane, namespace: str) -> None:
    """Wait until every Deployment of a namespace is available and every Job is done."""
    until = time.monotonic() + SECONDS
    while unsettled := [item["metadata"]["name"] for item in _unsettled(plane, namespace)]:
        assert time.monotonic() < until, unsettled
        time.sleep(0.5)


def _unsettled(plane: ControlPlane, namespace: str) -> Iterator[Any]:
    for item in read(plane, "deployments,jobs", namespace):
        status = item.get("status", {})
        wanted = item["spec"].get("replicas", 1)
        done = "succeeded" in status if item["kind"] == "Job" else status.get("availableReplicas", 0) == wanted
        if not done or status.get("observedGeneration", 1) < item["metadata"].get("generation", 1):
            yield item


if __name__ == "__main__":
    record(sys.argv[1], Path(sys.argv[2]).resolve())
