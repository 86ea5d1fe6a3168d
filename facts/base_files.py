"""Reader of base files: the files that a stack extends, directly or through other files."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any, cast

from facts import repository, yaml_file
from models import engine_yaml
from models.engine_yaml import Document
from models.paths import Path
from models.problems import ConfigError, Problem, echo

_KEY = "extends"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_RELATIVE = "write the path of a file, relative to the folder of Pulumi.yaml"


def read(stack: Mapping[str, Any], root: File) -> tuple[Document, ...]:
    """Read the base files of a stack, the lowest layer first. Paths of files are relative to `root`.

    `root` is the folder of the program. A file that several files extend is only one layer, at the lowest of its
    places. Raises `ConfigError` with the problems of files that cannot be read as base files. If `extends` of the stack
    is no list of text, no file is read, and the validation of the stack reports the mistake.
    """
    reader = _Reader(root)
    reader.read_all(_texts(stack.get(_KEY)), ())
    if reader.problems:
        raise ConfigError(reader.problems)
    return tuple(reader.documents.values())


def tree(document: Document) -> Mapping[str, Any]:
    """Return the tree of a base file, without the key `extends`."""
    mapping = cast("dict[str, Any]", document.tree)
    return {key: value for key, value in mapping.items() if key != _KEY}


@dataclass(slots=True)
class _Reader:
    root: File
    documents: dict[str, Document] = field(default_factory=dict[str, Document])
    """Base files by name, the lowest layer first."""
    problems: list[Problem] = field(default_factory=list[Problem])

    def read_all(self, paths: Sequence[str], above: tuple[str, ...]) -> None:
        """Read files, each after the files that it extends. `above` is the chain of files that leads to `paths`."""
        file = above[-1] if above else ""
        for index, text in enumerate(paths):
            at = Path(_KEY, index)
            name = posixpath.normpath(text)
            mistake = path_mistake(at, text, self.root) or _circle(at, name, above)
            if mistake is not None:
                self.problems.append(Problem(*mistake, file=file))
            elif name not in self.documents:
                self._read(name, above)

    def _read(self, name: str, above: tuple[str, ...]) -> None:
        """Read a file after the files that it extends."""
        try:
            document = yaml_file.read(self.root / name, f"add this file, or correct {_KEY}", file=name)
            content = _content(document)
        except ConfigError as error:
            self.problems += error.problems
            return
        self.read_all(_texts(content.get(_KEY)), (*above, name))
        self.documents[name] = document


def _content(document: Document) -> Mapping[str, Any]:
    """Return the tree of a document. Raises `ConfigError` if the document cannot be a base file."""
    name = document.file
    content = document.tree
    if not isinstance(content, dict) or not content:
        what = "is empty" if content is None or content == {} else "is not a mapping"
        raise engine_yaml.mistake(name, what, "write keys of a stack, such as namespace and services")
    if engine_yaml.holds_secret(cast("object", content)):
        what = "holds a secret value, which only a stack file can hold"
        raise engine_yaml.mistake(name, what, "put a credential into an existing Secret and name the Secret here")
    mapping = cast("dict[str, Any]", content)
    if "config" in mapping:
        what = "has the key config, which only a stack file has"
        raise engine_yaml.mistake(name, what, "write the keys of inference-stacks:stack at the top level of the file")
    if mapping.get(_KEY) is not None and not _is_list_of_text(mapping[_KEY]):
        raise ConfigError([Problem(Path(_KEY), "is not a list of text", "write a list: [a, b]", file=name)])
    return mapping


def path_mistake(at: Path, text: str, root: File) -> tuple[Path, str, str] | None:
    """Return what is wrong with `text`, which is the path of a file relative to `root`; None if nothing is.

    The result has the place in the configuration (`at`), the mistake and the remedy.
    """
    if _URL.match(text):
        return at, f"is a URL{echo(at, text)}", "copy the file into this repository and write its path"
    if posixpath.isabs(text) or text.startswith("~"):
        return at, f"is not relative{echo(at, text)}", _RELATIVE
    if not text.strip():
        return at, "is empty", _RELATIVE
    if not repository.contains(root, root / text):
        return at, f"leads out of the repository{echo(at, text)}", repository.REMEDY
    return None


def _circle(at: Path, name: str, above: tuple[str, ...]) -> tuple[Path, str, str] | None:
    """Return the problem of a file that extends itself, directly or through other files; None for any other file.

    `above` is the chain of files that leads to the file `name`.
    """
    if name not in above:
        return None
    circle = " extends ".join((*above[above.index(name) :], name))
    return at, f"leads to a circle ({circle})", "remove one of these entries"


def _texts(value: object) -> Sequence[str]:
    if _is_list_of_text(value):
        return cast("list[str]", value)
    return ()


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value))


def names(stack: Mapping[str, Any], root: File) -> Iterator[str]:
    """Yield the paths of all base files of a stack, relative to `root`, including files that cannot be read."""
    seen = set[str]()
    open_names = list(_texts(stack.get(_KEY)))
    while open_names:
        name = posixpath.normpath(open_names.pop())
        if name in seen or path_mistake(Path(), name, root) is not None:
            continue
        seen.add(name)
        yield name
        try:
            inner = yaml_file.read(root / name, "").tree
        except ConfigError:
            continue
        if isinstance(inner, dict):
            open_names += _texts(cast("dict[str, Any]", inner).get(_KEY))
