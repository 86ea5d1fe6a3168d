"""Command `affected`: prints the stacks that a change of files touches.

A stack is touched by its own file, by the files that it extends, by the files of its catalogue, by its lock, by its
facts file, and by every file of the program except the tables of release channels that it does not use. A file of
shipped profiles touches every stack that may select a shipped profile. Documents, tests and the commands in `cli/`
touch no stack.
"""

import posixpath
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cli import stackfile
from facts import base_files
from models import lock
from models.layers import Source
from models.outline import Outline
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from models.stack import Stack
from models.stack_layers import merge_stack
from models.trees import EMPTY, at, mapping, sequence
from planning.releases import channels, former_channels, present_name
from planning.selection.seats import may_need_profiles

HELP = "print the stacks that a change of files touches"
_FILES = frozenset({"__main__.py", "Pulumi.yaml", "requirements.txt"})
_FOLDERS = frozenset({"models", "planning", "manifests", "judging", "facts", "composition", "components"})
_CHANNELS = "planning/releases"
_SHIPPED = "catalogue/"
"""Folder of the shipped profiles."""


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    commit = "the commit before the change, such as origin/main"
    parser.add_argument("--since", dest="ref", metavar="REF", required=True, help=commit)


def run(options: Namespace) -> int:
    """Print the stacks that a change touches, and return the exit code. Raises `ConfigError` as `since` does."""
    sys.stdout.writelines(f"{stack}\n" for stack in since(options.ref))
    return 0


def since(ref: str) -> list[str]:
    """Return the sorted names of the stacks that the changes since a commit touch.

    The stacks are those of the working directory. Uncommitted changes count. Raises `ConfigError` if there is no such
    commit.
    """
    changed = _changed_files(ref)
    return [stack for stack, file in _stacks() if _touching(file, changed)]


def _stacks() -> Iterator[tuple[str, Path]]:
    """Yield the name and the file of every stack."""
    for path in sorted(Path().glob("Pulumi.*.yaml")):
        yield path.stem.removeprefix("Pulumi."), path


def _touching(file: Path, changed: Iterable[str]) -> set[str]:
    """Return the changed files that touch the stack whose stack file is `file`."""
    tree = _tree(file)
    locks = {lock.file_name(name) for name in (file.stem.removeprefix("Pulumi."), *_earlier_names(tree))}
    files = {posixpath.normpath(file.as_posix()), *base_files.names(tree, Path()), *locks}
    named, facts, profiles = _read_values(tree)
    releases = {*named, *_bases(named)}
    unused = {f"{_CHANNELS}/{name}.yaml" for name in channels() if name not in releases}
    return {
        name
        for name in changed
        if name in files
        or name == facts
        or name in profiles
        or (name not in unused and _is_of_program(name))
        or (_SHIPPED in profiles and name.startswith(_SHIPPED) and name.endswith(".yaml"))
    }


def _bases(names: Iterable[str]) -> Iterator[str]:
    """Yield the channels whose tables former channels use: those of the names, and those that the names once were."""
    former = former_channels()
    for name in names:
        for present in {name, present_name(name)} & former.keys():
            yield former[present].base


def _is_of_program(name: str) -> bool:
    return name in _FILES or name.partition("/")[0] in _FOLDERS


def _tree(file: Path) -> Mapping[str, Any]:
    """Return the tree of a stack file; an empty tree if the file cannot be read."""
    try:
        return mapping(stackfile.parse(file).tree)
    except ConfigError:
        return EMPTY


def _read_values(tree: Mapping[str, Any]) -> tuple[frozenset[str], str | None, frozenset[str]]:
    """Return the release channels of a stack, the path of its facts file, and the files from which it selects profiles.

    The channels are all channels if a base file cannot be read. The path is None in this case, and if the stack has no
    facts file. `_SHIPPED` stands for all shipped files.
    """
    try:
        documents = base_files.read(tree, Path())
    except ConfigError:
        return frozenset(channels()), None, frozenset({_SHIPPED})
    sources = [Source(document.file, base_files.tree(document)) for document in documents]
    merged = merge_stack(tree, sources).tree
    facts = at(merged, "cluster", "facts", "path")
    if isinstance(facts, str):
        facts = posixpath.normpath(facts)
    else:
        facts = None
    profiles = frozenset[str]()
    if may_need_profiles(Outline.of(merged).stack):
        profiles = frozenset(_profiles(mapping(merged.get("catalogue"))))
    return frozenset(_releases(merged)), facts, profiles


def _releases(merged: Mapping[str, Any]) -> Iterator[str]:
    """Yield the release channels of a stack, of its services and of their canaries."""
    yield str(merged.get("release", Stack.model_fields["release"].default))
    for service in mapping(merged.get("services")).values():
        for variant in (mapping(service), mapping(at(service, "canary"))):
            if variant.get("release") is not None:
                yield str(variant["release"])


def _profiles(catalogue: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files of a catalogue. `_SHIPPED` stands for the shipped files."""
    for name in sequence(catalogue.get("files")):
        yield posixpath.normpath(str(name))
    if catalogue.get("shipped") is not False:
        yield _SHIPPED


def _earlier_names(tree: Mapping[str, Any]) -> Iterator[str]:
    """Yield the earlier names of a stack, without the project. The file of the lock may still have an earlier name."""
    for name in sequence(tree.get("formerly")):
        yield str(name).rpartition("/")[2]


def _changed_files(ref: str) -> frozenset[str]:
    """Return the changed files and the untracked files, as paths relative to the working directory.

    Changes that `ref` has since its common ancestor with HEAD do not count.
    """
    base = list[str]()
    if not ref.startswith("-"):
        base = _git("merge-base", ref, "HEAD")
    if not base:
        what = f"names no commit that shares history with HEAD ({ref})"
        raise ConfigError([Problem(ConfigPath("--since"), what, "fetch the commit, or name another commit")])
    differing = _git("diff", "--name-only", "--no-renames", "--relative", "-z", base[0].strip())
    above = _git("diff", "--name-only", "--no-renames", "-z", base[0].strip())
    return frozenset([*differing, *_outside(above), *_git("ls-files", "--others", "--exclude-standard", "-z")])


def _outside(names: Iterable[str]) -> Iterator[str]:
    """Yield those of the files `names` that are outside of the working directory, as paths relative to it.

    `names` are paths relative to the root of the repository.
    """
    top = "".join(_git("rev-parse", "--show-prefix")).strip() or "."
    for name in names:
        relative = posixpath.relpath(name, top)
        if relative.startswith("../"):
            yield relative


def _git(*arguments: str) -> list[str]:
    """Return the output of a git command, split at null characters; an empty list if the command fails."""
    try:
        output = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return [name for name in output.split("\0") if name]
