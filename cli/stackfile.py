"""Reader of stack files. It returns the same values as Pulumi's engine, and rejects ambiguous text."""

import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from facts import yaml_file
from models import config_keys, engine_yaml
from models.config_keys import KUBECONFIG, ROOT
from models.engine_yaml import Document
from models.paths import Path
from models.problems import ConfigError, Problem
from models.trees import at, mapping

_Result = TypeVar("_Result")
_TREE = Path("config", ROOT)


@dataclass(frozen=True, slots=True)
class StackFile:
    """The tree of a stack file, and the problems of its text."""

    tree: object
    """Plain values below `inference-stacks:stack`."""
    document: Document
    """The whole file."""
    mistaken_keys: tuple[Problem, ...] = ()
    """Problems of keys of the namespace `inference-stacks`: unknown keys, and a kubeconfig that is not encrypted."""

    def apply(self, work: Callable[[object], _Result]) -> _Result:
        """Return what `work` returns for the tree.

        If `work` raises a `ConfigError`, or the file has problems, raises one `ConfigError` with the problems of both.
        """
        try:
            result = work(self.tree)
        except ConfigError as error:
            raise ConfigError([*self.mistaken_keys, *self.document.complete(error.problems)]) from None
        if self.mistaken_keys or self.document.ambiguities:
            raise ConfigError([*self.mistaken_keys, *self.document.ambiguities])
        return result


def locate(file_or_stack: str) -> pathlib.Path:
    """Return the path of a stack file. The argument is this path, or the name of the stack."""
    path = pathlib.Path(file_or_stack)
    if path.suffix in {".yaml", ".yml"}:
        return path
    return pathlib.Path(f"Pulumi.{file_or_stack}.yaml")


def read(path: pathlib.Path) -> object:
    """Return the tree of a stack file. Raises the errors of `parse`, and `ConfigError` for ambiguous text."""
    return parse(path).apply(lambda tree: tree)


def parse(path: pathlib.Path) -> StackFile:
    """Read a stack file.

    Raises `ConfigError` if the file cannot be read, is no YAML, repeats a key, or has a secret in the tree.
    """
    document = yaml_file.read(path, "name a stack file or a stack", _TREE, pipe=True)
    tree = document.tree
    config = mapping(at(tree, "config"))
    mistaken = config_keys.problems(map(str, config))
    if isinstance(config.get(KUBECONFIG), str):
        mistaken.append(config_keys.kubeconfig_problem())
    tree = at(tree, *map(str, _TREE))
    if engine_yaml.holds_secret(tree):
        what = "holds a secret value (Pulumi then treats every value below this key as secret)"
        remedy = (
            "put a credential into an existing Secret and name the Secret here; "
            "put a kubeconfig into inference-stacks:kubeconfig"
        )
        raise engine_yaml.mistake(ROOT, what, remedy)
    return StackFile(tree, document, tuple(mistaken))
