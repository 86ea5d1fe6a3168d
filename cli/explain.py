"""Command `explain`: prints the profile that each service of a stack gets, and the reasons against other profiles.

The command reads the nodes from the kubeconfig's cluster, or from a facts file.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from cli import documents, stackfile, stackname
from cli.documents import Block, Heading, Line, Table
from composition import Given, Live, LockFile, locking, selecting, sources
from composition.selecting import Explanation
from composition.sources import Configuration
from facts import facts_file, platform_file
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from planning.ground.marks import StackName
from planning.selection import explanation
from planning.selection.records import Evaluation

_TITLES = ("profile", "scope", "rank", "stage", "reason", "detail")


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command."""

    stack: str
    """Path of a stack file, or name of a stack."""
    service: str | None = None
    """Key of the service; None for all."""
    name: str | None = None
    """`project/stack`; None to take the project from `Pulumi.yaml`, and the stack from the name of the stack file."""
    facts: str | None = None
    """Path of a file with the facts of the cluster; None to read the cluster."""
    platform: str | None = None
    """Path of a file with the outputs of the platform."""
    is_json: bool = False


def run(options: Options) -> int:
    """Print the tables, and return the exit code: 2 if a service needs a profile and gets none.

    Raises `ConfigError` if the stack cannot be read, or does not have the service.
    """
    path = stackfile.locate(options.stack)
    content, name = stackfile.parse(path), stackname.of(path, options.name)
    explained = content.apply(lambda tree: _explain(tree, name, options))
    print(_json(explained, options) if options.is_json else _text(explained, options), end="")
    problems = [each for each in explained.selection.layers.problems if _is_of(each.path, options)]
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    return 2 if problems else 0


def _explain(tree: object, name: StackName, options: Options) -> Explanation:
    outputs = None if options.platform is None else platform_file.read(Path(options.platform))
    configuration = Configuration(tree)
    given = locking.read(LockFile(Path.cwd()), configuration, name)
    if given.problems:
        raise ConfigError(given.problems)
    files = sources.read(configuration, (), locking.platform(configuration, outputs, given.lock))
    trees = (tree, *(each.tree for each in files.sources))
    keys = sorted({key for each in trees for key in _mapping(_mapping(each).get("services"))})
    if options.service is not None and options.service not in keys:
        what, remedy = f"names no service of the stack ({options.service})", f"known: {', '.join(keys)}"
        raise ConfigError([Problem(ConfigPath("explain"), what, remedy)])
    facts = None if options.facts is None else facts_file.from_option(options.facts, "--facts")
    target = Live(None, Path.cwd()) if facts is None else Given(facts)
    return selecting.explain(tree, files, given.lock, name.stack, target)


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _is_of(path: ConfigPath, options: Options) -> bool:
    """Tell whether a path is shown. If the command names a service, paths of other services are not shown."""
    return options.service is None or path[:1] != ("services",) or path[1] == options.service


def _tables(explained: Explanation, options: Options) -> Iterator[tuple[ConfigPath, Evaluation]]:
    for path, table in sorted(explained.tables.items()):
        if _is_of(path, options):
            yield path, table


def _json(explained: Explanation, options: Options) -> str:
    tables = {
        str(path): explanation.of_table(table, explained.decisions.get(path))
        for path, table in _tables(explained, options)
    }
    return json.dumps({"selections": tables}, indent=2) + "\n"


def _text(explained: Explanation, options: Options) -> str:
    blocks = [block for path, table in _tables(explained, options) for block in _blocks(path, table, explained)]
    if not blocks:
        what = "No service selects a profile." if options.service is None else f"{options.service} selects no profile."
        return f"{what} Each service names source and accelerator itself.\n" if options.service is None else f"{what}\n"
    return documents.text(blocks)


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
