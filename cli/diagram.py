"""Command `diagram`: prints a stack as a Mermaid flowchart."""

from functools import partial
from pathlib import Path

from cli import stackfile, stackname
from composition import Given, LockFile, Refusal, compose
from facts import platform_file
from judging.report import diagram
from models.platform import Outputs
from planning.ground.cluster_facts import NOTHING_READ
from planning.ground.marks import StackName
from planning.plans import StackPlan


def text(file_or_stack: str, platform_path: str | None = None) -> str:
    """Return the flowchart of a stack. Raises `ConfigError` with all mistakes of the user."""
    file = stackfile.locate(file_or_stack)
    platform = None if platform_path is None else platform_file.read(Path(platform_path))
    return diagram.mermaid(stackfile.parse(file).apply(partial(_plan, stackname.of(file, None), platform)))


def _plan(name: StackName, platform: Outputs | None, tree: object) -> StackPlan:
    composition = compose(tree, Given(NOTHING_READ), name, platform=platform, lock=LockFile(Path.cwd()))
    if isinstance(composition, Refusal):
        raise composition.error
    return composition.plan
