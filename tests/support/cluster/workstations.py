"""Workstations that share one stack: each has a clone of the project, a home and a kubeconfig of its own."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from local.cluster import ControlPlane
from tests.support.cluster.deployments import PROGRAM, ROOT, Deployed, in_namespace
from tests.support.cluster.plane import GO
from tests.support.cluster.server import read

Kubeconfig = dict[str, Any]
Edit = Callable[[Kubeconfig], None]

WORKLOADS = "pods,deployments,replicasets"
UNCHANGED = (
    ("preview", "--expect-no-changes", "--diff"),
    ("up", "--yes", "--skip-preview"),
    ("up", "--yes", "--skip-preview", "--refresh"),
    ("refresh", "--yes", "--skip-preview"),
    ("preview", "--refresh", "--expect-no-changes", "--diff"),
)
"""Commands of the engine that change nothing where program, state and cluster agree.

The last preview also says what the commands before it left.
"""
UNCHECKED = {
    "judging/losses/clusters.py": (
        r"    known = earlier if earlier\.uid else None\n",
        "    return []\n    known = earlier if earlier.uid else None\n",
    ),
    "judging/losses/services.py": (
        r"    staying = matches\.staying\n",
        "    return []\n    staying = matches.staying\n",
    ),
    "judging/losses/takeovers.py": (r"    owners = \{\n", "    return\n    owners = {\n"),
}
"""Edits of the program without which it refuses what it would lose."""
SMALL = {"endpointPicker": {"enabled": False}, "drainTimeout": "1s"}
"""A service of a few objects, which is gone soon."""


def small(namespace: str, **more: Any) -> dict[str, Any]:
    """Return a small stack with a namespace of its own."""
    stack = in_namespace(namespace, bert=SMALL)
    del stack["gateway"]
    return stack | more


class Workstation:
    """A user's machine, on which `pulumi` runs with nothing but the user's own variables."""

    def __init__(
        self, directory: Path, home: Deployed, packages: Path, called: str = "dev", program: Path = ROOT
    ) -> None:
        """Clone the project in the folder `program` into another one, for the stack `called`.

        Tools, backend and passphrase are those of `home`. The language host calls `packages` in the place of Python.
        """
        self.called = called
        self.directory = directory
        self.project = directory / "clone"
        self.project.mkdir(parents=True)
        for name in PROGRAM:
            if name != "Pulumi.yaml":
                (self.project / name).symlink_to((program if (program / name).exists() else ROOT) / name)
        self.rename_project("inference-stacks")
        self._home = home
        self.variables = {
            "HOME": str(directory / "home"),
            "PATH": home.engine.path,
            "PULUMI_HOME": str(directory / "pulumi"),
            "PULUMI_PYTHON_CMD": str(packages),
            "USER": directory.name,
            **home.engine._backend.environment(),
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(home.engine.directory / "passphrase"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            **GO,
        }
        for folder in (directory / "home", directory / "pulumi"):
            folder.mkdir()

    def without_checks(self) -> None:
        """Let the program refuse nothing that it would lose."""
        (self.project / "judging").unlink()
        shutil.copytree(ROOT / "judging", self.project / "judging")
        for name, (pattern, text) in UNCHECKED.items():
            path = self.project / name
            replaced, count = re.subn(pattern, text, path.read_text(encoding="utf-8"))
            assert count == 1, name
            path.write_text(replaced, encoding="utf-8")

    @property
    def stack_file(self) -> Path:
        """Path of the stack file."""
        return self.project / f"Pulumi.{self.called}.yaml"

    def rename_project(self, name: str) -> None:
        """Give the project another name."""
        self.project_name = name
        text = (ROOT / "Pulumi.yaml").read_text(encoding="utf-8")
        (self.project / "Pulumi.yaml").write_text(text.replace("name: inference-stacks", f"name: {name}"))

    def write(self, stack: Mapping[str, Any]) -> None:
        """Write the stack file. Its other keys, such as the stack's salt, stay."""
        former = yaml.safe_load(self.stack_file.read_text(encoding="utf-8")) if self.stack_file.exists() else {}
        content = {**former, "config": {f"{self.project_name}:stack": dict(stack)}}
        self.stack_file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")

    def begin(self, stack: Mapping[str, Any]) -> None:
        """Make the stack in the backend, and write its file."""
        self.succeed("stack", "init", self.called, "--no-select")
        self.write(stack)

    def take(self, other: "Workstation") -> None:
        """Take over the stack file of another workstation, as from a commit."""
        self.stack_file.write_bytes(other.stack_file.read_bytes())

    def kubeconfig(self, plane: ControlPlane, *edits: Edit, name: str = "config") -> Path:
        """Write a kubeconfig for a cluster, changed by `edits`, and let this workstation use it. Return its path."""
        content = json.loads(plane.kubeconfig.read_text(encoding="utf-8"))
        for edit in edits:
            edit(content)
        path = self.directory / name
        path.write_text(json.dumps(content), encoding="utf-8")
        self.variables["KUBECONFIG"] = str(path)
        return path

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the engine to its end; the caller looks at its exit code."""
        flags = [] if arguments[:2] == ("stack", "init") else ["--stack", self.called]
        return subprocess.run(
            [
                str(self._home.engine.directory / "bin" / "pulumi"),
                *arguments,
                *flags,
                "--non-interactive",
                "--color=never",
            ],
            cwd=self.project,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
        )

    def succeed(self, *arguments: str) -> str:
        """Run a command of the engine and return what it says; raises AssertionError where it fails."""
        done = self.pulumi(*arguments)
        assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def fail(self, *arguments: str) -> str:
        """Run a command of the engine that has to fail, and return what it says."""
        done = self.pulumi(*arguments)
        assert done.returncode != 0, f"{arguments}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


def uids(plane: ControlPlane, *namespaces: str) -> dict[tuple[str, str, str], str]:
    """Return the UIDs of namespaces and of all pods and workloads in them, by kind, namespace and name."""
    items = [item for item in read(plane, "namespaces") if item["metadata"]["name"] in namespaces]
    for namespace in namespaces:
        items += read(plane, WORKLOADS, namespace)
    return {
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]): item["metadata"]["uid"]
        for item in items
        if "deletionTimestamp" not in item["metadata"]
    }


def renamed(cluster: str | None = None, context: str | None = None, user: str | None = None) -> Edit:
    """Return an edit that gives cluster, context or user of a kubeconfig another name."""

    def edit(content: Kubeconfig) -> None:
        entry = content["contexts"][0]
        if cluster is not None:
            content["clusters"][0]["name"] = entry["context"]["cluster"] = cluster
        if user is not None:
            content["users"][0]["name"] = entry["context"]["user"] = user
        if context is not None:
            entry["name"] = content["current-context"] = context

    return edit


def addressed(host: str) -> Edit:
    """Return an edit that reaches the same server by another name. Its certificate is for 127.0.0.1."""

    def edit(content: Kubeconfig) -> None:
        cluster = content["clusters"][0]["cluster"]
        cluster["server"] = cluster["server"].replace("127.0.0.1", host)
        cluster["tls-server-name"] = "127.0.0.1"

    return edit


def with_token(token: str) -> Edit:
    """Return an edit that gives the user another token."""

    def edit(content: Kubeconfig) -> None:
        content["users"][0]["user"] = {"token": token}

    return edit


def separated() -> Mapping[str, Edit]:
    """Return the edits that make two files of a kubeconfig: one with contexts, the other with clusters and users."""

    def without(*sections: str) -> Edit:
        def edit(content: Kubeconfig) -> None:
            for section in sections:
                del content[section]

        return edit

    return {"contexts": without("clusters", "users"), "rest": without("contexts", "current-context")}


def default_kubeconfig(workstation: Workstation, path: Path) -> None:
    """Move a kubeconfig to the place that is used without a variable."""
    folder = Path(workstation.variables["HOME"], ".kube")
    folder.mkdir(exist_ok=True)
    path.rename(folder / "config")
    del workstation.variables["KUBECONFIG"]
