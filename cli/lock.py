"""Command `lock`: writes the lock of a stack, or lists the sources that have moved.

A source has moved if its content is no longer the content that the lock pins.
The command asks registries, hubs and buckets for the content of sources. Unless `--facts` names a file, it also reads
the cluster of the kubeconfig. It uses the credentials of the user.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from cli import stackfile, stackname
from composition import Given, Live, LockFile, locking
from composition.locking import Locking, Request
from composition.sources import Configuration
from facts import facts_file, platform_file
from models import lock
from models.problems import Problem


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command."""

    stack: str
    """Path of a stack file, or name of a stack."""
    name: str | None = None
    """`project/stack`; None to take the project from `Pulumi.yaml`, and the stack from the name of the stack file."""
    updated: tuple[str, ...] = ()
    """Names of the blocks of the lock that are made anew. Pins in other blocks remain."""
    facts: str | None = None
    """Path of a file with the facts of the cluster; None to read the cluster."""
    platform: str | None = None
    """Path of a file with the outputs of the platform."""
    is_check: bool = False
    """Whether to list the sources that have moved, and write no lock."""
    file: str | None = None
    """Path of the lock, relative to the working directory; None for the default path."""


def run(options: Options) -> int:
    """Write or check a lock, and return the exit code: 1 if a source has moved, or if its content is unknown.

    Raises `ConfigError` with all mistakes of the user.
    """
    path = stackfile.locate(options.stack)
    content, name = stackfile.parse(path), stackname.of(path, options.name)
    target = (
        Live(None, Path.cwd()) if options.facts is None else Given(facts_file.from_option(options.facts, "--facts"))
    )
    outputs = None if options.platform is None else platform_file.read(Path(options.platform))
    file = LockFile(Path.cwd(), options.file, must_exist=options.is_check)

    def work(tree: object) -> Locking:
        request = Request(Configuration(tree), name, target, file, outputs, options.updated)
        return locking.check(request) if options.is_check else locking.make(request)

    result = content.apply(work)
    _print("warning: ", result.warnings)
    _print("", result.problems)
    if not options.is_check:
        place = file.folder / (options.file or lock.file_name(name.stack))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(lock.text(result.lock), encoding="utf-8")
        profiles = f", {len(result.lock.profiles)} profiles" if result.lock.profiles else ""
        print(f"{place.name}: {len(result.lock.pins)} sources{profiles}")
    return 1 if result.problems else 0


def _print(prefix: str, problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        sys.stderr.write(f"{prefix}{problem}\n")
