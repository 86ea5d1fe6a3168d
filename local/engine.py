"""Runner of Pulumi's engine, with a separate backend, passphrase and home directory, and a copy of the stack file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from local import files, processes
from local.backend import Folder
from local.errors import LocalError
from local.tools import on_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from local.backend import Backend
    from local.processes import Process
    from local.report import Report
    from local.tools import Tool

COMMANDS = (
    "pulumi",
    "pulumi-language-python",
    "pulumi-language-python-exec",
    "pulumi-resource-kubernetes",
    "kubectl",
)
INHERITED_VARIABLES = ("LANG", "LC_ALL", "LOGNAME", "TERM", "TMPDIR", "TZ", "USER")
"""Environment variables that a run of the engine inherits from this program."""
GO = {"GOGC": "400"}
"""Environment of a run: the engine and its provider collect garbage four times less often than by default."""
ENCRYPTION_KEYS = re.compile(r"^(encryptionsalt|encryptedkey|secretsprovider):.*\n?", re.MULTILINE)
"""Lines with encryption settings in a stack file. They are valid only with the passphrase of the file's author."""
SALT = re.compile(r"^encryptionsalt: .*$", re.MULTILINE)
"""Line with the salt in the copy of the stack file. The salt belongs to the passphrase of that `PulumiEngine`."""


class PulumiEngine:
    """Runner of `pulumi` for one stack of one project; it writes only below `directory`.

    The project's files are only read. Runs work on a copy of the stack file. The copy is renewed when the original
    changes. `settings` maps keys of the stack to values. In the copy, these values replace those of the original.
    """

    MARK = "INFERENCE_STACKS_RUN"
    """Environment variable in all processes of a run. Its value is `<directory of the engine>:<id of the run>`."""

    def __init__(  # noqa: PLR0913 - an engine consists of these arguments
        self,
        directory: Path,
        tools: Mapping[str, Tool],
        kubeconfig: Path,
        project: Path,
        stack: str,
        *,
        report: Report,
        environment: Mapping[str, str] | None = None,
        backend: Backend | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory.resolve()
        self.workspace = self.directory / "project"
        self.stack = stack
        self._tools = tools
        self._kubeconfig = kubeconfig
        self._project = project.resolve()
        self._report = report
        self._extra = dict(environment or {})
        self._backend = backend or Folder(self.directory / "backend")
        self._settings = dict(settings or {})

    @property
    def shell_environment(self) -> dict[str, str]:
        """Environment variables with which a user can work on this stack in a shell. HOME is not included."""
        return {
            "KUBECONFIG": str(self._kubeconfig),
            "KUBECACHEDIR": str(self.directory / "home" / "cache"),
            "PULUMI_HOME": str(self.directory / "pulumi"),
            **self._backend.environment(),
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(self.directory / "passphrase"),
            "PULUMI_STACK": self.stack,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }

    @property
    def path(self) -> str:
        """PATH of a run: the folders of the project's Python, of the installed tools and of the system's commands."""
        return os.pathsep.join((str(self._python_folder()), str(self.directory / "bin"), os.defpath))

    def ensure_stack(self) -> None:
        """Clean up after killed runs, then update workspace and stack from the project.

        Raises LocalError if another run has locked the stack.
        """
        files.private_directory(self.directory)
        with files.lock(self.directory / "prepare.lock"):
            self._recover()
            self._write_workspace()
            if self._backend.latest(self._project_name(), self.stack) is None:
                self._call("stack", "init", self.stack, "--no-select")
            self._configure()
            self._settle()

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a `pulumi` command to its end and return its result. With `check`, a failure raises LocalError."""
        self.ensure_stack()
        result = self._call(*arguments, check=check)
        self._drop_completed_creations()
        return result

    def popen(self, *arguments: str, output: int | IO[Any] | None = None) -> subprocess.Popen[bytes]:
        """Start a `pulumi` command in a new process group. The command is killed when the calling thread ends.

        If `output` is None, the command writes to the output of this program.
        """
        self.ensure_stack()
        return self._start(arguments, str(uuid.uuid4()), stdout=output, stderr=output)

    def outputs(self) -> dict[str, Any]:
        """Return the stack's outputs; secret values are masked."""
        return json.loads(self._call("stack", "output", "--json").stdout)

    def export(self) -> dict[str, Any]:
        """Return the stack's state; secrets are encrypted."""
        return json.loads(self._call("stack", "export").stdout)

    def stop(self) -> None:
        """End all processes that runs of this engine have started, including processes of killed runs."""
        processes.end(self._processes())

    def _call(self, *arguments: str, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess[str]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        run_id = str(uuid.uuid4())
        child = self._start(arguments, run_id, **pipes)
        try:
            output, errors = child.communicate((text or "").encode())
        except BaseException:
            child.kill()
            child.wait()
            # Plugins have process groups of their own and outlive the engine that started them.
            processes.end(process for process, run in self._processes().items() if run == run_id)
            raise
        result = subprocess.CompletedProcess(arguments, child.returncode, output.decode(), errors.decode())
        if check and result.returncode:
            raise LocalError(f"pulumi {' '.join(arguments)} failed:\n{result.stdout}{result.stderr}".rstrip())
        return result

    def _start(
        self,
        arguments: tuple[str, ...],
        run_id: str,
        stdin: int | None = subprocess.DEVNULL,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
    ) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            processes.tied_command([str(self.directory / "bin" / "pulumi"), *arguments, *self._flags(arguments)]),
            cwd=self.workspace,
            env={**self._environment(), self.MARK: f"{self.directory}:{run_id}"},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        leader = processes.Process.of(child.pid)
        if leader is not None:
            record = {"pid": leader.pid, "started": leader.started, "boot": leader.boot}
            files.write(self._runs_directory() / f"{run_id}.json", json.dumps(record))
        return child

    def _flags(self, arguments: tuple[str, ...]) -> list[str]:
        flags = ["--non-interactive", "--color", "never"]
        if arguments[:2] != ("stack", "init"):
            flags += ["--stack", self.stack]
        return flags

    def _environment(self) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
        private = {"PATH": self.path, "HOME": str(self.directory / "home"), **GO}
        return {**inherited, **self.shell_environment, **private, **self._extra}

    def _write_workspace(self) -> None:
        for name in ("project", "backend", "home", "pulumi", "bin", "runs"):
            files.private_directory(self.directory / name)
        (self.directory / "bin" / on_path.OURS).touch()
        for name in COMMANDS:
            _install(self.directory / "bin" / name, self._tools[name])
        _link(self.workspace / ".venv", self._python_folder().parent)
        if not (self.directory / "passphrase").exists():
            files.write(self.directory / "passphrase", secrets.token_hex(32))
        project = re.sub(r"^main:.*\n?", "", self._read("Pulumi.yaml"), flags=re.MULTILINE)
        files.write(self.workspace / "Pulumi.yaml", f"{project.rstrip()}\nmain: {json.dumps(str(self._project))}\n")

    def _configure(self) -> None:
        """Copy the stack file, set the keys in `settings`, and add the kubeconfig as an encrypted secret.

        The kubeconfig is passed through a pipe, because other users can read the arguments of a process.
        """
        original = self._read(self._stack_file_path().name)
        if re.search(r"^\s+secure: ", original, re.MULTILINE):
            raise LocalError(
                f"{self._stack_file_path().name} has secrets that only its author's passphrase decrypts; "
                "deploy it with `pulumi up`, or remove the `secure:` entries"
            )
        kubeconfig = self._kubeconfig.read_text(encoding="utf-8")
        key = f"{self._project_name()}:kubeconfig"
        digests = [_digest(key, kubeconfig), _digest(original, json.dumps(self._settings))]
        stamp = self.directory / "configured"
        configured = files.text(stamp).split()
        if configured == digests:
            return
        stamp.unlink(missing_ok=True)
        copy = self.workspace / self._stack_file_path().name
        former = files.text(copy)
        salt = SALT.search(former)
        text = f"{ENCRYPTION_KEYS.sub('', original).rstrip()}\n"
        encrypted = None
        if salt is not None:
            text = f"{text}{salt[0]}\n".lstrip("\n")
            if configured[:1] == digests[:1]:
                encrypted = _with_secret(text, key, former)
        files.write(copy, encrypted or text)
        for name, value in self._settings.items():
            self._call("config", "set", "--path", f"{self._project_name()}:stack.{name}", value)
        if encrypted is None:
            self._call("config", "set", "--secret", key, text=kubeconfig)
        files.write(stamp, "\n".join(digests))

    def _recover(self) -> None:
        """Clean up after killed runs: end their processes, then remove locks, then restore a damaged checkpoint."""
        live_runs = self._live_runs()
        leftovers = {process: run for process, run in self._processes().items() if run not in live_runs}
        if leftovers:
            self._report.say(f"ending {len(leftovers)} processes of a killed run")
            processes.end(leftovers, grace=2)
        for record in self._runs_directory().glob("*.json"):
            if record.stem not in live_runs:
                record.unlink(missing_ok=True)
        self._backend.recover(self._project_name(), self.stack, self._report)

    def _settle(self) -> None:
        """Resolve the pending operations of a killed run.

        A refresh reads the results of deletions and changes from the cluster. Pending creations are dropped from the
        state when all of them are complete.
        """
        if any(operation["type"] != "creating" for operation in self._pending()):
            self._report.say("asking the cluster for the results of the killed run")
            self._call("refresh", "--yes", "--skip-preview", "--skip-pending-creates")
        self._drop_completed_creations()

    def _drop_completed_creations(self) -> None:
        """Drop pending creations from the state if the state has all of their resources.

        The engine warns about pending creations in every run. An import of the state can only drop all of them. If the
        state lacks one of the resources, no pending creation is dropped, because the object of that resource may exist
        in the cluster.
        """
        urns = {resource["urn"] for resource in self._latest().get("resources") or ()}
        pending = self._pending()
        if pending and all(operation["resource"]["urn"] in urns for operation in pending):
            self._call("stack", "import", text=json.dumps(self.export()))

    def _pending(self) -> list[dict[str, Any]]:
        """Return the operations that a killed run did not finish."""
        return self._latest().get("pending_operations") or []

    def _latest(self) -> dict[str, Any]:
        """Return the newest deployment of the stack; empty if there is none."""
        return self._backend.latest(self._project_name(), self.stack) or {}

    def _processes(self) -> dict[Process, str]:
        """Return the processes of this engine's runs, each with the id of its run."""
        prefix = f"{self.directory}:"
        marks = processes.find_marked(self.MARK)
        return {process: mark[len(prefix) :] for process, mark in marks.items() if mark.startswith(prefix)}

    def _live_runs(self) -> set[str]:
        """Return the ids of the runs whose `pulumi` is alive."""
        live_runs: set[str] = set()
        for path in self._runs_directory().glob("*.json"):
            with contextlib.suppress(ValueError, KeyError, FileNotFoundError):
                record = json.loads(path.read_text(encoding="utf-8"))
                if processes.Process(record["pid"], record["started"], record["boot"]).alive():
                    live_runs.add(path.stem)
        return live_runs

    def _runs_directory(self) -> Path:
        return self.directory / "runs"

    def _stack_file_path(self) -> Path:
        return self._project / f"Pulumi.{self.stack}.yaml"

    def _project_name(self) -> str:
        """Return the project's name in Pulumi.yaml. Configuration keys and the checkpoint's path contain this name."""
        match = re.search(r"^name: *[\"']?([\w.-]+)", self._read("Pulumi.yaml"), re.MULTILINE)
        if match is None:
            raise LocalError(f"{self._project / 'Pulumi.yaml'} has no name")
        return match[1]

    def _read(self, name: str) -> str:
        try:
            return (self._project / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise LocalError(f"{self._project / name} does not exist") from None

    def _python_folder(self) -> Path:
        folder = self._project / ".venv" / "bin"
        if folder.exists():
            return folder
        return Path(sys.executable).parent


def _digest(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _with_secret(text: str, key: str, former: str) -> str | None:
    """Return the stack file `text`, with the encrypted value of a key copied from the stack file `former`.

    None if `former` has no such value, if `text` names the key already, or if the configuration in `text` is not in
    block style. Copying saves the half second of processor time that the engine needs to encrypt the value again.
    """
    value = re.search(rf"^ +{re.escape(key)}:\n +(secure: \S+)$", former, re.MULTILINE)
    blocks = re.search(r"^config:\n( +)[^\s#-]", text, re.MULTILINE)
    if value is None or blocks is None or key.rpartition(":")[2] in text:
        return None
    indent = blocks[1]
    lines = f"{indent}{key}:\n{indent * 2}{value[1]}\n"
    return text[: blocks.start(1)] + lines + text[blocks.start(1) :]


def _link(link: Path, target: Path) -> None:
    if not link.is_symlink() or link.readlink() != target:
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def _install(path: Path, tool: Tool) -> None:
    """Install a tool as the command `path`.

    The engine, the language host and its executor resolve symbolic links, and look for each other in the folder of the
    target. Built tools are therefore installed as hard links or copies, all in one folder. Tools from PATH are in one
    folder already, so symbolic links are enough.
    """
    if tool.origin == "PATH":
        _link(path, tool.path)
        return
    if path.exists() and not path.is_symlink():
        present = path.stat()
        built = tool.path.stat()
        if (present.st_size, present.st_mtime_ns) == (built.st_size, built.st_mtime_ns):
            return
    path.unlink(missing_ok=True)
    try:
        path.hardlink_to(tool.path.resolve())
    except OSError:
        shutil.copy2(tool.path, path)
