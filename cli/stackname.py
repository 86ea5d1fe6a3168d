"""The name of the stack that a command is about: project, stack and organization."""

import re
from collections.abc import Iterator
from pathlib import Path

from facts import yaml_file
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from models.trees import at
from models.vocabulary import STACK_PATH
from planning.ground.marks import StackName

ORGANIZATION = "organization"
"""Organization of every stack whose state is in a folder or a bucket."""
_PROJECT = "Pulumi.yaml"
_REMEDY = "give project and stack with --as, such as --as inference-stacks/prod"


def of(file: Path, explicit: str | None) -> StackName:
    """Return the name of a stack: `explicit` (`project/stack`) if it is given, or else the name from the stack file.

    Without `explicit`, the nearest `Pulumi.yaml` names the project: in the folder of the stack file, in a folder above,
    or else in the working directory. The stack is `prod` for `Pulumi.prod.yaml` and for `prod.yaml`. Raises
    `ConfigError` if project or stack is unknown.
    """
    path = explicit
    if path is None:
        path = f"{_project(file)}/{file.stem.removeprefix('Pulumi.')}"
    if re.fullmatch(STACK_PATH, path) is None:
        raise _mistake("--as", f"is not the name of a stack ({path})")
    organization, project, stack = (ORGANIZATION, *path.split("/"))[-3:]
    return StackName(organization, project, stack)


def _project(file: Path) -> str:
    """Return the name of the project that a stack file belongs to."""
    path = next((folder / _PROJECT for folder in _folders(file) if (folder / _PROJECT).is_file()), None)
    if path is None:
        raise _mistake(_PROJECT, f"is neither above {file} nor in the working directory")
    name = at(yaml_file.read(path, _REMEDY).tree, "name")
    if not isinstance(name, str):
        raise _mistake(str(path), "does not name the project")
    return name


def _folders(file: Path) -> Iterator[Path]:
    yield from file.resolve().parents
    yield Path.cwd()


def _mistake(path: str, what: str) -> ConfigError:
    return ConfigError([Problem(ConfigPath(path), what, _REMEDY)])
