"""Real deployments for tests: a project of its own for each, on the shared control plane."""

import contextlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from local.backend import Backend
from local.cluster import ControlPlane
from local.engine import PulumiEngine
from local.report import Report
from tests.support.cluster import rollouts
from tests.support.cluster.server import read, read_one
from tests.support.stacks import tree

PROGRAM = (
    "__main__.py",
    "models",
    "planning",
    "manifests",
    "judging",
    "components",
    "composition",
    "facts",
    "Pulumi.yaml",
    ".venv",
)
ROOT = Path(__file__).parents[3]
OWN_PROVIDER = "pulumi:providers:pulumi"
"""Type of the provider of Pulumi's own functions, by one of which the program reads the state."""
QUIET = {"same", "read", "refresh"}
"""Operations that change nothing in the cluster."""
BEGUN = ("passphrase", "configured", "backend", "project/Pulumi.dev.yaml")
"""Files of an engine's folder with a stack in which nothing is deployed."""
WEIGHTS = ("weights", "fill")
"""Beginnings of the logical names of a claim of weights and of its Job, before the hash of what they hold."""

Deploy = Callable[..., "Deployed"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the engine on one object."""

    op: str
    """`create`, `update`, `delete`, or a step of a replacement."""
    name: str
    """The object's logical name."""
    began: int
    """Line of its beginning in the engine's log."""
    ended: int | None
    """Line of its end in the engine's log, awaited if the object is; none if it failed."""


class Operations(tuple[Operation, ...]):
    """Operations of one run, in the order of their beginnings; components, which are no objects, are left out."""

    __slots__ = ()

    @property
    def done(self) -> dict[str, str]:
        """Return the operation of each object, by its logical name; several are joined in their order."""
        found = dict[str, str]()
        for operation in self:
            found[operation.name] = (
                f"{found[operation.name]}, {operation.op}" if operation.name in found else operation.op
            )
        return found

    def of(self, name: str) -> Operation:
        """Return the one operation on an object."""
        (found,) = (operation for operation in self if operation.name == name)
        return found

    def that(self, op: str) -> set[str]:
        """Return the logical names of the objects to which something was done."""
        return {operation.name for operation in self if operation.op == op}

    def assert_order(self, *stages: set[str]) -> None:
        """Assert that every object of a stage is done before the first of the next one begins."""
        for earlier, later in pairwise(stages):
            began = min(self.of(name).began for name in later)
            late = {name for name in earlier if (ended := self.of(name).ended) is None or ended > began}
            assert late == set(), f"{sorted(late)} end after the first of {sorted(later)} begins: {self.done}"


def told(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a run of the engine said, without the API server's thousands of lines about field managers."""
    lines = (done.stdout + done.stderr).splitlines()
    return "\n".join(line for line in lines if not line.strip().startswith(("f:", "k:{", ".  ")))


class Deployed:
    """One stack of a project of its own, with the engine that deploys it."""

    def __init__(
        self,
        directory: Path,
        tools: Any,
        plane: ControlPlane,
        packages: Path | None = None,
        called: str = "dev",
        program: Path = ROOT,
        backend: Backend | None = None,
    ) -> None:
        """Make the project of a stack, with the program in a folder.

        With `packages`, the language host calls that program in the place of Python.
        """
        self.project = directory / "project"
        self.project.mkdir(parents=True)
        for name in PROGRAM:
            if (program / name).exists():
                (self.project / name).symlink_to(program / name)
        self.plane = plane
        # The engine's log of events, from which the order of operations is read, is among its commands for debugging.
        more = {"PULUMI_DEBUG_COMMANDS": "true"}
        if packages is not None:
            more["PULUMI_PYTHON_CMD"] = str(packages)
        settings = {"report": Report(), "environment": more, "backend": backend}
        self.engine = PulumiEngine(directory / "engine", tools, plane.kubeconfig, self.project, called, **settings)

    @property
    def _log(self) -> Path:
        return self.engine.directory / "events.json"

    def begin(self, begun: Path) -> None:
        """Take over the stack of another engine's folder, in which nothing is deployed.

        To make a stack and to encrypt its kubeconfig takes the engine 1.2 seconds of a processor.
        """
        for name in BEGUN:
            source = begun / name
            target = self.engine.directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, target)

    def write(self, stack: dict[str, Any]) -> None:
        """Write the stack file as a user would."""
        text = yaml.safe_dump({"config": {"inference-stacks:stack": stack}}, sort_keys=False)
        (self.project / f"Pulumi.{self.engine.stack}.yaml").write_text(text, encoding="utf-8")

    def alter(self, module: str, **constants: int) -> None:
        """Deploy from now on with other constants in one module of the program."""
        for constant, value in constants.items():
            self.replace(module, rf"(?m)^{constant} = \d+$", f"{constant} = {value}")

    def replace(self, module: str, pattern: str, text: str) -> None:
        """Deploy from now on with another text where a pattern matches once in a module of the program."""
        layer, _, name = module.partition("/")
        copied = self.project / layer
        if copied.is_symlink():
            copied.unlink()
            shutil.copytree(ROOT / layer, copied)
        replaced, count = re.subn(pattern, lambda _: text, (copied / name).read_text(encoding="utf-8"))
        assert count == 1, pattern
        (copied / name).write_text(replaced, encoding="utf-8")

    def up(self, *more: str) -> subprocess.CompletedProcess[str]:
        """Deploy; raises where that fails."""
        self._wait_before(*more)
        return self.engine.run("up", "--yes", "--skip-preview", *more)

    def operate(self, *more: str) -> Operations:
        """Deploy and return what was done; raises where that fails."""
        done, operations = self.attempt(*more)
        assert done.returncode == 0, told(done)
        return operations

    def attempt(self, *more: str) -> tuple[subprocess.CompletedProcess[str], Operations]:
        """Deploy and return what was done, whether that fails or not."""
        return self._logged("up", "--yes", "--skip-preview", *more)

    def foresee(self, *more: str) -> tuple[str, Operations]:
        """Preview and return what it says and would do; raises where it fails."""
        done, operations = self._logged("preview", *more)
        assert done.returncode == 0, told(done)
        return done.stdout + done.stderr, operations

    def _logged(self, *command: str) -> tuple[subprocess.CompletedProcess[str], Operations]:
        self._wait_before(*command)
        self._log.unlink(missing_ok=True)
        done = self.engine.run(*command, f"--event-log={self._log}", check=False)
        assert self._log.exists(), told(done)
        return done, _operations(self._log)

    def _wait_before(self, *options: str) -> None:
        """Wait for rollouts before a refresh, to which a Deployment with unready pods is a change.

        An update may end before its rollout, because the provider does not look at the `observedGeneration` of
        Deployments of apps/v1 (pulumi-kubernetes 4.25.0, provider/pkg/await/deployment.go).
        """
        if "--refresh" in options and self.plane.alive():
            metadata = [each["metadata"] for each in self._identities() if each["kind"] == "Deployment"]
            rollouts.wait(self.plane, {(each["namespace"], each["name"]) for each in metadata})

    def destroy(self) -> None:
        """Destroy; raises where that fails."""
        self.engine.run("destroy", "--yes", "--skip-preview")

    def discard(self) -> None:
        """End what runs and delete what the state names, all at once and without waiting, in no order."""
        self.engine.stop()
        objects = {json.dumps(identity) for identity in self._identities()}
        if objects and self.plane.alive():
            items = {"apiVersion": "v1", "kind": "List", "items": [json.loads(text) for text in sorted(objects)]}
            self.plane.kubectl("delete", "-f", "-", "--ignore-not-found", "--wait=false", input=json.dumps(items))

    def _identities(self) -> Iterator[dict[str, Any]]:
        """Yield kind and name of every object of the cluster that the state names, that of a killed run included."""
        state = self.state()
        begun = (operation["resource"] for operation in state.get("pending_operations") or ())
        for resource in (*(state.get("resources") or ()), *begun):
            known = {**resource.get("inputs", {}), **resource.get("outputs", {})}
            if resource["type"].startswith("kubernetes:") and "name" in known.get("metadata", {}):
                place = {key: known["metadata"][key] for key in ("name", "namespace") if key in known["metadata"]}
                yield {"apiVersion": known["apiVersion"], "kind": known["kind"], "metadata": place}

    def state(self) -> dict[str, Any]:
        """Return the newest deployment that the engine has written down; empty where there is none."""
        return self.engine._latest()

    def outputs(self) -> dict[str, Any]:
        """Return the stack's outputs, as the engine has written them down."""
        (stack,) = (each for each in self.state()["resources"] if each["type"] == "pulumi:pulumi:Stack")
        return stack["outputs"]

    def names(self) -> list[str]:
        """Return the logical name of everything that the state holds."""
        return [each["urn"].rpartition("::")[2] for each in self.state()["resources"]]

    def preview(self, *more: str) -> subprocess.CompletedProcess[str]:
        """Preview; the caller looks at the exit code."""
        self._wait_before(*more)
        return self.engine.run("preview", *more, check=False)

    def assert_unchanged(self) -> None:
        """Assert that a further preview is empty, plain and refreshed."""
        self.assert_plainly_unchanged()
        self.assert_in_step()

    def assert_plainly_unchanged(self) -> None:
        """Assert that a further preview is empty that does not look at the cluster first."""
        done = self.preview("--expect-no-changes", "--diff")
        assert done.returncode == 0, told(done)

    def assert_in_step(self) -> None:
        """Assert that a further preview is empty that looks at the cluster first: program, state and cluster agree."""
        done = self.preview("--expect-no-changes", "--diff", "--refresh")
        assert done.returncode == 0, told(done)

    def changes(self, *more: str) -> dict[str, str]:
        """Preview and return the operation of each resource that would change, components too, by its logical name."""
        done = self.preview("--json", *more)
        assert done.returncode == 0, told(done)
        steps = json.loads(done.stdout)["steps"]
        return {step["urn"].rpartition("::")[2]: step["op"] for step in steps if step["op"] not in QUIET}

    def changed(self) -> dict[str, str]:
        """Return what the last operation did to each resource, components too, by its logical name."""
        return {name: op for name, op in self._changed() if op not in QUIET}

    def _changed(self) -> Iterator[tuple[str, str]]:
        for line in self._log.read_text(encoding="utf-8").splitlines():
            if (step := json.loads(line).get("resourcePreEvent")) is not None:
                yield step["metadata"]["urn"].rpartition("::")[2], step["metadata"]["op"]

    def get(self, kind: str, name: str, namespace: str) -> Any:
        """Return an object of the cluster."""
        return read_one(self.plane, kind, name, namespace)

    def named(self, kind: str, namespace: str) -> dict[str, Any]:
        """Return the objects of a kind in a namespace, by name."""
        return {item["metadata"]["name"]: item for item in found(self.plane, kind, namespace)}


def _operations(log: Path) -> Operations:
    """Read the engine's log; a component has no operation of its own."""
    begun = list[tuple[int, Any]]()
    ended = dict[tuple[str, str], int]()
    for place, line in enumerate(log.read_text(encoding="utf-8").splitlines()):
        event = json.loads(line)
        if (step := event.get("resourcePreEvent")) is not None and _is_of_an_object(step["metadata"]):
            begun.append((place, step["metadata"]))
        if (step := event.get("resOutputsEvent")) is not None:
            ended[step["metadata"]["urn"], step["metadata"]["op"]] = place
    return Operations(
        Operation(step["op"], step["urn"].rpartition("::")[2], place, ended.get((step["urn"], step["op"])))
        for place, step in begun
    )


def _is_of_an_object(step: Any) -> bool:
    """Tell whether a step changes an object, or the provider of the cluster; Pulumi's own provider is neither."""
    is_custom = bool((step["new"] or step["old"]).get("custom"))
    return step["op"] not in QUIET and is_custom and step["type"] != OWN_PROVIDER


@pytest.fixture(scope="session")
def begun(tools: Any, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an engine with a stack, called dev, in which nothing is deployed."""
    deployed = Deployed(tmp_path_factory.mktemp("begun"), tools, plane)
    deployed.write({})
    deployed.engine.ensure_stack()
    return deployed.engine.directory


@pytest.fixture(scope="module")
def home(
    tools: Any, plane: ControlPlane, packages: Path, begun: Path, tmp_path_factory: pytest.TempPathFactory
) -> Deployed:
    """Return a deployment whose tools, backend and passphrase several workstations share."""
    deployed = Deployed(tmp_path_factory.mktemp("home"), tools, plane, packages)
    deployed.begin(begun)
    deployed.write({})
    deployed.engine.ensure_stack()
    return deployed


@contextlib.contextmanager
def deploying(tools: Any, plane: ControlPlane, packages: Path, begun: Path, directory: Path) -> Iterator[Deploy]:
    """Hand out a function that makes deployments; what they leave is discarded at the end."""
    with contextlib.ExitStack() as ends:

        def new(
            stack: dict[str, Any], on: ControlPlane = plane, called: str = "dev", backend: Backend | None = None
        ) -> Deployed:
            deployed = Deployed(Path(tempfile.mkdtemp(dir=directory)), tools, on, packages, called, backend=backend)
            if called == "dev" and backend is None:
                deployed.begin(begun)
            deployed.write(stack)
            ends.callback(deployed.discard)
            return deployed

        yield new


@pytest.fixture
def deploy(tools: Any, plane: ControlPlane, packages: Path, begun: Path, tmp_path: Path) -> Iterator[Deploy]:
    """Make deployments of a test."""
    with deploying(tools, plane, packages, begun, tmp_path) as new:
        yield new


@pytest.fixture(scope="module")
def deploy_for_all(
    tools: Any, plane: ControlPlane, packages: Path, begun: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deploy]:
    """Make deployments that all tests of a module look at."""
    with deploying(tools, plane, packages, begun, tmp_path_factory.mktemp("deployments")) as new:
        yield new


def in_namespace(name: str, **services: Any) -> dict[str, Any]:
    """Return a stack that makes its own namespace."""
    return tree(**services) | {"namespace": name, "namespaceOptions": {"create": True}}


def model(number: int) -> dict[str, str]:
    """Return a version of a small model."""
    return {"name": "org/model", "source": f"hf://org/model@v{number}", "size": "64Mi"}


def found(plane: ControlPlane, kind: str, namespace: str) -> list[Any]:
    """Return the objects of a kind in a namespace."""
    return read(plane, kind, namespace)


def provide(plane: ControlPlane, namespace: str, class_name: str | None = None, *, volumes: int = 2) -> None:
    """Make volumes that claims of a class, called as the namespace, can be bound to; nothing here provisions any."""
    named = class_name or namespace
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": named},
        "provisioner": "kubernetes.io/no-provisioner",
        "allowVolumeExpansion": True,
    }
    items = [storage_class, *(volume(f"{namespace}-{index}", "100Gi", named) for index in range(volumes))]
    plane.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def volume(name: str, size: str, class_name: str) -> dict[str, Any]:
    """Return a volume that claims of a class can be bound to; nothing lies behind it."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": size},
            "hostPath": {"path": "/nowhere"},
            "storageClassName": class_name,
            "persistentVolumeReclaimPolicy": "Retain",
        },
    }


def weights(names: Collection[str]) -> tuple[str, str]:
    """Return the one claim of weights and the Job that fills it among logical names."""
    claims, fills = ([name for name in names if re.search(rf"-{part}-[0-9a-f]{{8}}$", name)] for part in WEIGHTS)
    (claim,) = claims
    (fill,) = fills
    return claim, fill
