"""Reader of the files that a stack names as its catalogue: files with serving profiles."""

from collections.abc import Iterable
from pathlib import Path as File

from facts import base_files, yaml_file
from models import engine_yaml
from models.engine_yaml import Document
from models.paths import Path
from models.problems import ConfigError, Problem

_FILES = Path("catalogue", "files")


def read(names: Iterable[str], root: File) -> tuple[Document, ...]:
    """Read the files that a stack names. Their paths are relative to `root`, the folder of the program.

    Raises `ConfigError` with the problems of files that cannot be read as files with profiles.
    """
    problems = list[Problem]()
    documents = list[Document]()
    for index, name in enumerate(names):
        mistake = base_files.path_mistake(_FILES / index, name, root)
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
    document = yaml_file.read(root / name, "add this file, or correct catalogue.files", file=name)
    content: object = document.tree
    if content is None or content == {} or not isinstance(content, dict):
        what = "is empty" if content is None or content == {} else "is not a mapping"
        raise engine_yaml.mistake(name, what, "write the key `profiles`, with profiles by their ids")
    if engine_yaml.holds_secret(document.tree):
        what = "holds a secret value, which only a stack file can hold"
        raise engine_yaml.mistake(name, what, "put a credential into an existing Secret and name the Secret here")
    return document
