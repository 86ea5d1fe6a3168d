"""Commands on the embedded control plane and its stack: set up and deploy, inspect, use by hand, remove."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local import files, host, processes, venv
from local.cluster import MARK, ControlPlane
from local.engine import PulumiEngine
from local.errors import LocalError
from local.gateway import MARK as GATEWAY_MARK
from local.tools import ensure
from local.vllm import server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from local.report import Report, ReportStep
    from local.tools import Tool

PROJECT = Path(__file__).parent.parent
STACK = "dev"
TOOLS = (
    "pulumi",
    "pulumi-language-python",
    "pulumi-language-python-exec",
    "pulumi-resource-kubernetes",
    "kubernetes",
    "etcd",
    "kwok",
    "kwok-stages",
    "pki",
    "crds",
)
MARKS = (MARK, PulumiEngine.MARK, GATEWAY_MARK)
"""Environment variables that mark the processes of a checkout. Each value begins with a directory of the checkout's
state."""
MODEL_SERVERS = "model-servers"
"""Directory of the processes of model servers, in the directory of the state."""
BUSY = "another `up` or `down` works on {state}; wait for it or end it"
# Lines of the engine's output that are not shown: the warning about the absent Gateway, because the summary names
# `make try`, which adds a gateway; warnings that the provider is on PATH, where this program puts it on purpose; the
# heading above the warnings; and each warning when it arises, because the engine repeats it under the heading.
IGNORED = re.compile(
    r"there is no such Gateway, so nobody will accept|from \$PATH at|is expected to have version|^Diagnostics:"
    r"|^  pulumi:pulumi:Stack \S+:$|^ +pulumi:pulumi:Stack \S+ +warning:"
)
WARNING_COUNT = re.compile(r" \d+ warnings?$")
"""End of a line of the engine: the number of warnings. It is removed, because it includes hidden warnings."""
PROGRESS = re.compile(r"^ *\S+ +\S+:\S+ \S+ (creating|updating|deleting|replacing|reading|refreshing) ?\(\d+s\)")
POD_COLUMNS = "NAMESPACE:.metadata.namespace,POD:.metadata.name,STATUS:.status.phase,NODE:.spec.nodeName"
UP_SECONDS = 15.0
"""Expected duration of a deployment."""
CANCEL_SECONDS = 60.0
"""Time for an interrupted engine to finish its operations."""


def state_directory(project: Path = PROJECT) -> Path:
    """Return the directory with the cluster and the Pulumi state of this checkout. Git ignores it."""
    return Path(os.environ.get("INFERENCE_STACKS_STATE") or project / ".state").resolve()


def up(report: Report, project: Path = PROJECT) -> None:
    """Install what is missing, start the control plane, and deploy.

    Raises LocalError if a step fails. A second call continues with the failed step.
    """
    host.check(project)
    state = files.private_directory(state_directory(project))
    with files.lock(state, refusal=BUSY.format(state=state)):
        venv.setup(project, report, development=False)
        report.say(_object_table(render(project)))
        tools = ensure(TOOLS, report)
        plane = ControlPlane(state / "cluster", tools)
        plane.start(report)
        engine = stack_engine(state, tools, plane, project, report)
        deploy(engine, report)
        report.say(_summary(plane))


def down(report: Report, project: Path = PROJECT) -> None:
    """End all processes of this checkout's control plane and engine, and remove the directory of their state."""
    state = state_directory(project)
    if state.exists():
        with files.lock(state, refusal=BUSY.format(state=state)):
            _end_everything(state)
            shutil.rmtree(state)
    else:
        _end_everything(state)
    report.say("nothing of the embedded control plane is left")


def status(report: Report, project: Path = PROJECT) -> None:
    """Print directory and readiness of the control plane, its running processes, and the path of its kubeconfig."""
    state = state_directory(project)
    plane = ControlPlane(state / "cluster", {})
    running = plane.pids()
    if not running:
        report.say("the control plane does not run; `make up` starts it")
        return
    readiness = "not ready; `make up` repairs it"
    if plane.alive():
        readiness = "ready"
    report.say(f"control plane in {plane.directory}: {readiness}")
    for name, pid in running.items():
        report.say(f"  {name:<26} pid {pid}")
    for process in processes.find_marked(GATEWAY_MARK, str(state / "gateway")):
        report.say(f"  {'gateway':<26} pid {process.pid}")
    for process in server.engine_processes(state / MODEL_SERVERS):
        report.say(f"  {'model server':<26} pid {process.pid}")
    report.say(f"kubeconfig: {plane.kubeconfig}")


def environment(report: Report, project: Path = PROJECT) -> None:
    """Print shell commands after which a user can run pulumi and kubectl on the embedded control plane."""
    state = state_directory(project)
    plane = ControlPlane(state / "cluster", {})
    engine = stack_engine(state, {}, plane, project, report)
    if not engine.workspace.exists():
        raise LocalError("there is nothing to use yet; run `make up` first")
    for name, value in engine.shell_environment.items():
        report.say(f"export {name}={shlex.quote(value)}")
    report.say(f'export PATH={shlex.quote(engine.path)}:"$PATH"')
    # In the workspace, the engine reads and writes a copy of the stack file. The user's commands never change the
    # original.
    report.say(f'pulumi() {{ command pulumi --cwd {shlex.quote(str(engine.workspace))} "$@"; }}')


def stack_engine(  # noqa: PLR0913 - an engine consists of these arguments
    state: Path,
    tools: Mapping[str, Tool],
    plane: ControlPlane,
    project: Path,
    report: Report,
    *,
    settings: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> PulumiEngine:
    """Return the engine of this checkout's stack. Keys in `settings` override those of the stack file.

    `environment` are variables of its runs, which override those of the engine itself.
    """
    return PulumiEngine(
        state / "engine",
        tools,
        plane.kubeconfig,
        project,
        STACK,
        report=report,
        environment=environment,
        settings=settings,
    )


def _end_everything(state: Path) -> None:
    """End all processes of control plane, gateway and engines under `state`, even processes whose pid is unrecorded."""
    server.end_marked(state / MODEL_SERVERS)
    ControlPlane(state / "cluster", {}).stop()
    prefixes = (str(state / "cluster"), f"{state / 'engine'}:", str(state / "gateway"))
    marks = {process: mark for name in MARKS for process, mark in processes.find_marked(name).items()}
    processes.end(process for process, mark in marks.items() if mark.startswith(prefixes))


def render(project: Path) -> list[dict[str, Any]]:
    """Return the objects that the stack file describes. Raises LocalError for a mistake in the file."""
    return describe(project)["objects"]


def describe(project: Path) -> dict[str, Any]:
    """Return the document of `cli render --json` about the stack file. Raises LocalError for a mistake in the file."""
    python = project / ".venv" / "bin" / "python"
    command = [str(python), "-m", "cli", "render", "--json", f"Pulumi.{STACK}.yaml"]
    result = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    if result.returncode:
        raise LocalError(result.stderr.strip())
    return json.loads(result.stdout)


def _object_table(manifests: Iterable[Mapping[str, Any]]) -> str:
    """Return a table of the objects that the stack file describes."""
    rows = [_row(manifest) for manifest in manifests]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = (f"  {kind:<{widths[0]}}  {namespace:<{widths[1]}}  {name}" for kind, namespace, name in rows)
    return "\n".join((f"Pulumi.{STACK}.yaml describes {len(rows)} objects:", *lines))


def _row(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return kind, namespace and name of a rendered object; a cluster-scoped object has an empty namespace."""
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def deploy(engine: PulumiEngine, report: Report, *, brief: bool = False) -> None:
    """Deploy the stack, and print the engine's output. With `brief`, the output is printed only after a failure."""
    lines = list[str]()
    say = report.say
    if brief:
        say = lines.append
    try:
        with report.step(f"pulumi up of Pulumi.{STACK}.yaml", UP_SECONDS) as step:
            _follow(engine, say, step)
    except LocalError:
        report.say("\n".join(lines))
        raise


def _follow(engine: PulumiEngine, say: Callable[[str], None], step: ReportStep) -> None:
    quiet = ("--suppress-progress", "--suppress-outputs")
    child = engine.popen("up", "--yes", "--skip-preview", *quiet, output=subprocess.PIPE)
    try:
        for line in iter(child.stdout.readline, b"") if child.stdout else ():
            text = line.decode(errors="replace").rstrip()
            if PROGRESS.search(text):
                step.note = text.strip()
            elif (user_line := user_text(text)) is not None:
                say(f"  {user_line}")
        step.note = ""
        child.wait()
    except KeyboardInterrupt:
        # On this signal, the engine finishes its running operations and releases its lock. A second signal ends the
        # engine without waiting.
        child.send_signal(signal.SIGINT)
        child.wait(CANCEL_SECONDS)
        raise
    if child.returncode:
        raise LocalError(f"pulumi up ended with {child.returncode}; its output is above")


def user_text(line: str) -> str | None:
    """Return a line of the engine's output as users see it; None for a line that is not shown."""
    if not line or IGNORED.search(line):
        return None
    return WARNING_COUNT.sub("", line)


def _summary(plane: ControlPlane) -> str:
    """Return a table of the Deployments, a table of the pods with their nodes, and commands for the next steps."""
    return "\n".join(
        (
            "",
            plane.kubectl("get", "deployments", "--all-namespaces").rstrip(),
            "",
            plane.kubectl("get", "pods", "--all-namespaces", f"--output=custom-columns={POD_COLUMNS}").rstrip(),
            "",
            'Look around:    eval "$(python3 -m local env)"; kubectl get nodes; pulumi stack output --json',
            f"Does it serve:  .venv/bin/python -m cli status {STACK}",
            "Send requests:  make try (adds a gateway)",
            f"Change it:      edit Pulumi.{STACK}.yaml, then `make up` again",
            "Remove it all:  make down",
        )
    )
