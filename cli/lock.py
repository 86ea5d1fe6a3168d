"""Command `lock`: writes the lock of a stack, or lists the sources that have moved.

A source has moved if its content is no longer the content that the lock pins.
The command asks registries, hubs and buckets for the content of sources. Unless `--facts` names a file, it also reads
the cluster of the kubeconfig. It uses the credentials of the user.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from pathlib import Path

from cli import named_stack
from composition import LockFile, locking
from composition.locking import LockOrder, LockReport
from composition.sources import Configuration
from models import lock
from models.problems import Problem

HELP = "write the lock of a stack, which pins the content of each source"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    named_stack.add_stack(parser)
    named_stack.add_name(parser)
    block = "a block of the lock to make anew: key of a service, caches.NAME or cluster"
    parser.add_argument("--update", metavar="SERVICE", action="append", default=[], help=block)
    images = "pin the images of all containers by digest, too; without it, pins of images stay that pods still have"
    parser.add_argument("--images", action="store_true", help=images)
    check = "write nothing; list sources that have moved, and end with 1 if there are any"
    parser.add_argument("--check", action="store_true", help=check)
    path = "the lock that a program passes to InferenceStack; absent: the lock of the stack"
    parser.add_argument("--file", metavar="PATH", help=path)
    named_stack.add_facts(parser)


def run(options: Namespace) -> int:
    """Write or check a lock, and return the exit code: 1 if a source has moved, or if its content is unknown.

    Raises `ConfigError` with all mistakes of the user.
    """
    stack = named_stack.of(options)
    file = LockFile(Path.cwd(), options.file, must_exist=options.check)

    def work(tree: object) -> LockReport:
        updated = tuple(options.update)
        configuration = Configuration(tree)
        request = LockOrder(configuration, stack.name, stack.target, file, stack.outputs, updated, options.images)
        if options.check:
            return locking.check(request)
        return locking.make(request)

    result = stack.file.apply(work)
    _print("warning: ", result.warnings)
    _print("", result.problems)
    if not options.check:
        path = file.folder / (options.file or lock.file_name(stack.name.stack))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(lock.text(result.lock), encoding="utf-8")
        profiles = f", {len(result.lock.profiles)} profiles" if result.lock.profiles else ""
        images = f", {len(result.lock.images)} images" if result.lock.images else ""
        print(f"{path.name}: {len(result.lock.pins)} sources{profiles}{images}")
    if result.problems:
        return 1
    return 0


def _print(prefix: str, problems: Iterable[Problem]) -> None:
    sys.stderr.writelines(f"{prefix}{problem}\n" for problem in problems)
