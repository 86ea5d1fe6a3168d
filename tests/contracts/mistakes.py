"""The mistakes that users can make: a stack, what is wrong in it, and the exact message.

A section (`errors/<section>.yaml`) has stacks without a mistake (`bases`) and cases: an edit of a base and its message.
An edit is a merge patch (RFC 7386); as such a patch cannot write null, it may also be a list of additions (RFC 6902).
A case may have files beside the stack file. A mistake in how a file is written is a stack file of its own
(`errors/syntax`).
"""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import yaml

from models.config_keys import ROOT

ERRORS = Path("tests/contracts/errors")
SYNTAX = ERRORS / "syntax"


@dataclass(frozen=True)
class Section:
    """One file of bases and cases."""

    path: Path
    bases: Mapping[str, object]
    cases: tuple["Edited", ...]


@dataclass(frozen=True)
class Edited:
    """A mistake that is made by an edit of a base."""

    name: str
    message: str
    file: Path
    """File in which the message is written."""
    base: str
    """Name of the base, which is `default` unless the case says another."""
    stack: object
    files: dict[str, str]
    """Text of other files, by path."""

    @property
    def has_platform(self) -> bool:
        """Return whether one of the files has the outputs of a platform."""
        return "platform.json" in self.files

    def stack_file(self, folder: Path) -> Path:
        """Write the stack into a file. JSON is YAML whose every text is quoted."""
        path = self._folder(folder) / f"{self.name}.yaml"
        tree = {"config": {ROOT: self.stack}}
        path.write_text(json.dumps(tree, ensure_ascii=False), encoding="utf-8")
        return path

    def beside(self, folder: Path) -> contextlib.AbstractContextManager[None]:
        """Write the other files and those of a project, and work in their folder."""
        for name, text in (self.files | {"Pulumi.yaml": "name: inference-stacks"} if self.files else {}).items():
            path = self._folder(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return contextlib.chdir(self._folder(folder)) if self.files else contextlib.nullcontext()

    def _folder(self, folder: Path) -> Path:
        """Return the folder of the stack file, which is its own if it has files beside it."""
        place = folder / self.name if self.files else folder
        place.mkdir(exist_ok=True)
        return place

    def file_with(self, message: str) -> str:
        """Return the section's text with another message of this case."""
        case = rf"- case: '?{re.escape(self.name)}'?\n(?:  .*\n)*?  message: \|\n"
        lines = "".join(f"    {line}" for line in message.splitlines(keepends=True))
        text = self.file.read_text(encoding="utf-8")
        text, count = re.subn(rf"(?m)^({case})(?:(?:    .*)?\n)*", lambda found: found[1] + lines, text)
        assert count == 1, f"{self.file}: {self.name} stands {count} times, as the writer of messages sees it"
        return text


@dataclass(frozen=True)
class Written:
    """A mistake of how a stack file is written."""

    path: Path
    has_platform = False

    @property
    def name(self) -> str:
        """Return the name of the case."""
        return self.path.stem

    @property
    def file(self) -> Path:
        """Return where the message is written."""
        return self.path.with_suffix(".txt")

    @property
    def message(self) -> str:
        """Return the message."""
        return self.file.read_text(encoding="utf-8")

    def stack_file(self, _folder: Path) -> Path:
        """Return the stack file, which is there."""
        return self.path

    def beside(self, _folder: Path) -> contextlib.AbstractContextManager[None]:
        """Work where the test does."""
        return contextlib.nullcontext()

    def file_with(self, message: str) -> str:
        """Return the file's text with another message."""
        return message


def sections() -> Iterator[Section]:
    """Read all sections."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for path in sorted(ERRORS.glob("*.yaml")):
        section = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
        bases, cases = section.pop("bases"), section.pop("cases")
        assert not section, f"{path}: unknown keys {[*section]}"
        yield Section(path, bases, tuple(_case(path, bases, **case) for case in cases))


def _case(
    file: Path,
    bases: Mapping[str, object],
    *,
    case: str,
    edit: Any,
    message: str,
    base: str = "default",
    files: dict[str, str] | None = None,
) -> Edited:
    stack = _merged(bases[base], edit) if isinstance(edit, dict) else reduce(_extended, edit, bases[base])
    return Edited(case, message, file, base, stack, files or {})


def _merged(target: Any, patch: Any) -> Any:
    """Apply a merge patch."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        merged[key] = _merged(merged.get(key), value)
        if value is None:
            del merged[key]
    return merged


def _extended(stack: Any, addition: Mapping[str, Any]) -> Any:
    """Apply an addition."""
    assert addition.keys() == {"op", "path", "value"}, addition
    assert addition["op"] == "add", addition
    return _added(stack, addition["path"].split("/")[1:], addition["value"])


def _added(target: Any, path: list[str], value: object) -> Any:
    """Add a value at a path through mappings."""
    key, *below = path
    return {**target, key: _added(target[key], below, value) if below else value}
