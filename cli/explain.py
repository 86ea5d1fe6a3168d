"""Command `explain`: prints the profile that each service of a stack gets, and the reasons against other profiles.

The command reads the nodes from the kubeconfig's cluster, or from a facts file.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cli import documents, named_stack
from cli.documents import Block, Heading, Line, Table
from cli.named_stack import NamedStack
from composition import LockFile, locking, selecting, sources
from composition.selecting import Explanation
from composition.sources import Configuration
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from models.trees import at, mapping
from planning.selection import explanation
from planning.selection.records import Evaluation

HELP = "print the profile of each service, and the reasons against other profiles"
_TITLES = ("profile", "scope", "rank", "stage", "reason", "detail")


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    named_stack.add_stack(parser)
    parser.add_argument("service", metavar="SERVICE", nargs="?", help="key of a service; absent: all of them")
    named_stack.add_name(parser)
    named_stack.add_facts(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document with all tables")


def run(options: Namespace) -> int:
    """Print the tables, and return the exit code: 2 if a service needs a profile and gets none.

    Raises `ConfigError` if the stack cannot be read, or does not have the service.
    """
    stack = named_stack.of(options)
    service: str | None = options.service
    explained = stack.file.apply(lambda tree: _explain(tree, stack, service))
    print(_FORMATS[options.json](explained, service), end="")
    problems = [problem for problem in explained.selection.layers.problems if _is_of(problem.path, service)]
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    if problems:
        return 2
    return 0


def _explain(tree: object, stack: NamedStack, service: str | None) -> Explanation:
    configuration = Configuration(tree)
    lock = locking.read(LockFile(Path.cwd()), configuration, stack.name)
    if lock.problems:
        raise ConfigError(lock.problems)
    files = sources.read(configuration, (), locking.platform(configuration, stack.outputs, lock.lock))
    trees = (tree, *(source.tree for source in files.sources))
    keys = sorted({key for layer in trees for key in mapping(at(layer, "services"))})
    if service is not None and service not in keys:
        what = f"names no service of the stack ({service})"
        raise ConfigError([Problem(ConfigPath("explain"), what, f"known: {', '.join(keys)}")])
    return selecting.explain(tree, files, lock.lock, stack.name.stack, stack.target)


def _is_of(path: ConfigPath, service: str | None) -> bool:
    """Tell whether a path is shown. If the command names a service, paths of other services are not shown."""
    return service is None or path[:1] != ("services",) or path[1] == service


def _tables(explained: Explanation, service: str | None) -> Iterator[tuple[ConfigPath, Evaluation]]:
    for path, table in sorted(explained.tables.items()):
        if _is_of(path, service):
            yield path, table


def _json(explained: Explanation, service: str | None) -> str:
    tables = {
        str(path): explanation.of_table(table, explained.decisions.get(path))
        for path, table in _tables(explained, service)
    }
    return json.dumps({"selections": tables}, indent=2) + "\n"


def _text(explained: Explanation, service: str | None) -> str:
    blocks = [block for path, table in _tables(explained, service) for block in _blocks(path, table, explained)]
    if not blocks:
        if service is not None:
            return f"{service} selects no profile.\n"
        return "No service selects a profile. Each service names source and accelerator itself.\n"
    return documents.text(blocks)


_FORMATS = {True: _json, False: _text}
"""Writers of a selection, by whether the output is JSON."""


def _blocks(path: ConfigPath, table: Evaluation, explained: Explanation) -> Iterator[Block]:
    """Yield the heading, the decision and the table of candidates for one service, canary or prefill."""
    decision = explained.decisions.get(path)
    yield Heading(f"{path}: {table.question.model}")
    if decision is not None:
        why = "locked" if decision.locked is not None else "selected"
        yield Line(f"{why}: {decision.chosen.text}")
    if table.rows:
        yield Table(_TITLES, [_row(row) for row in explanation.of_table(table, decision)["candidates"]])
    if table.unchecked:
        yield Line(f"nodes were not considered: {table.unchecked}")


def _row(row: dict[str, Any]) -> Sequence[str]:
    rank = "" if row["rank"] is None else str(row["rank"])
    replaced = f"replaces that of {', '.join(row['replaces'])}" if row["replaces"] else ""
    detail = "; ".join(filter(None, (row["detail"], replaced)))
    return row["id"], row["file"] or row["scope"], rank, row["stage"], row["reason"], detail
