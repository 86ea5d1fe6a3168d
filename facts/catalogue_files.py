"""Reader of files with serving profiles: those that this program ships, and those that a stack names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path as File
from typing import Any, cast

from facts import base_files, yaml_file
from models import engine_yaml
from models.engine_yaml import Document
from models.paths import Path
from models.problems import ConfigError, Problem
from planning.ground import yaml_text

SHIPPED = File(__file__).parents[1] / "catalogue"
"""Folder of the shipped files, one for each model."""
_FILES = Path("catalogue", "files")


@dataclass(frozen=True, slots=True)
class CatalogueDocument:
    """The values of a file with profiles."""

    file: str
    """Name of the file in messages."""
    tree: Mapping[str, Any]


@cache
def read_shipped(folder: File = SHIPPED) -> tuple[CatalogueDocument, ...]:
    """Return the shipped files, sorted by name. Their trees are shared, and may not be changed."""
    return tuple(
        CatalogueDocument(f"{folder.name}/{path.name}", cast("dict[str, Any]", yaml_text.load(path.read_text("utf-8"))))
        for path in sorted(folder.glob("*.yaml"))
    )


def read(names: Iterable[str], root: File) -> tuple[Document, ...]:
    """Read the files that a stack names. Their paths are relative to `root`, the folder of the program.

    Raises `ConfigError` with the problems of files that cannot be read as files with profiles.
    """
    problems, documents = list[Problem](), list[Document]()
    for index, name in enumerate(names):
        mistake = base_files.path_mistake(_FILES / index, name)
        if mistake is not None:
            problems.append(Problem(*mistake))
            continue
        try:
            documents.append(_read(root, name))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return tuple(documents)


def _read(root: File, name: str) -> Document:
    try:
        document = yaml_file.read(root / name, "write it, or correct catalogue.files", file=name)
    except ConfigError as error:
        raise ConfigError(base_files.with_name(problem, root / name, name) for problem in error.problems) from None
    content: object = document.tree
    if content is None or content == {} or not isinstance(content, dict):
        what = "is empty" if content is None or content == {} else "is not a mapping"
        raise engine_yaml.mistake(name, what, "write profiles, with a profile by its id below it")
    if engine_yaml.holds_secret(document.tree):
        what = "holds a secret value, which only a stack file can hold"
        raise engine_yaml.mistake(name, what, "put it into an existing Secret and give its name")
    return document
