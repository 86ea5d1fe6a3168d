"""Command `affected`: prints the stacks that a change of files touches.

A stack is touched by its own file, by the files that it extends, by its file of cluster facts, by the table of its
release channel, and by every other file of the program. Documents, tests and other commands touch no stack.
"""

import posixpath
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from cli import stackfile
from facts import base_files
from models.layers import Source, merge_stack
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from models.stack import Stack
from planning.releases import channels

_FILES = frozenset({"__main__.py", "Pulumi.yaml", "requirements.txt"})
_FOLDERS = frozenset({"models", "planning", "manifests", "facts", "composition", "components"})
_CHANNELS = "planning/releases"


def since(ref: str) -> list[str]:
    """Return the names of the stacks in the working directory that have changed since a commit, sorted.

    What is not committed counts, too. Raises `ConfigError` if there is no such commit.
    """
    changed = _changed_files(ref)
    return [stack for stack, file in _stacks() if _touching(file, changed)]


def _stacks() -> Iterator[tuple[str, Path]]:
    """Yield the name and the file of every stack."""
    for path in sorted(Path().glob("Pulumi.*.yaml")):
        yield path.stem.removeprefix("Pulumi."), path


def _touching(file: Path, changed: Iterable[str]) -> set[str]:
    """Return the changed files that touch the stack of a file."""
    tree = _tree(file)
    files = {posixpath.normpath(file.as_posix()), *base_files.names(tree, Path())}
    release, facts = _read_values(tree)
    channel_tables = {f"{_CHANNELS}/{name}.yaml" for name in channels() if release is not None and name != release}
    return {
        name
        for name in changed
        if name in files or name == facts or (name not in channel_tables and _is_of_program(name))
    }


def _is_of_program(name: str) -> bool:
    return name in _FILES or name.partition("/")[0] in _FOLDERS


def _tree(file: Path) -> Mapping[str, Any]:
    """Return the tree of a stack file; empty if it cannot be read."""
    try:
        tree = stackfile.parse(file).tree
    except ConfigError:
        return {}
    return cast("dict[str, Any]", tree) if isinstance(tree, dict) else {}


def _read_values(tree: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the release of a stack and the path of its facts; None for a release that cannot be read, or no file."""
    try:
        documents = base_files.read(tree, Path())
    except ConfigError:
        return None, None
    sources = [Source(document.file, base_files.tree(document)) for document in documents]
    merged = merge_stack(tree, sources).tree
    facts = _below(_below(merged, "cluster"), "facts").get("path")
    return merged.get("release", Stack.model_fields["release"].default), _path(facts)


def _path(value: object) -> str | None:
    return posixpath.normpath(value) if isinstance(value, str) else None


def _below(tree: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = tree.get(key)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _changed_files(ref: str) -> frozenset[str]:
    """Return the changed files, relative to the working directory.

    What has happened on the other branch since both branches parted is no change.
    """
    base = [] if ref.startswith("-") else _git("merge-base", ref, "HEAD")
    if not base:
        raise ConfigError(
            [
                Problem(
                    ConfigPath("--since"), f"names no commit with a common history ({ref})", "fetch it, or name another"
                )
            ]
        )
    differing = _git("diff", "--name-only", "--no-renames", "--relative", "-z", base[0].strip())
    above = _git("diff", "--name-only", "--no-renames", "-z", base[0].strip())
    return frozenset([*differing, *_outside(above), *_git("ls-files", "--others", "--exclude-standard", "-z")])


def _outside(names: Iterable[str]) -> Iterator[str]:
    """Yield the paths of files outside of the working directory as seen from there."""
    top = "".join(_git("rev-parse", "--show-prefix")).strip() or "."
    for name in names:
        relative = posixpath.relpath(name, top)
        if relative.startswith("../"):
            yield relative


def _git(*arguments: str) -> list[str]:
    """Return what git prints, split at null characters; empty if it fails."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return []
    return [name for name in done.stdout.split("\0") if name] if done.returncode == 0 else []
