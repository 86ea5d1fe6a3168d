"""Recorded verdicts of vLLM on the commands that are rendered (`verdicts.yaml`)."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.engine.commands import Command

TABLE = Path(__file__).with_name("verdicts.yaml")
STARTED, CONFIGURED, PARSED, REFUSED, UNJUDGED = "started", "configured", "parsed", "refused", "unjudged"
SHOWN = 3
"""Names of stacks that a row has; their number follows."""
REMEDY = "run make prove-engine"
HEAD = """\
# Verdicts of vLLM on the commands that everything shipped renders to. `make prove-engine` writes them.
#
# started    vLLM parsed the command, made its configuration, loaded a small model, was ready by the container's probes,
#            answered, had its series at /metrics and ended after SIGTERM, with the adjustments of `start`
# configured vLLM parsed the command and made its configuration; `reason` says why it was not started
# parsed     vLLM parsed the command; `reason` says why it was not started
# unjudged   no build of the version can be installed here
"""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one command."""

    version: str
    sha256: str
    verdict: str
    model: str
    origins: tuple[str, ...]
    reason: str = ""
    start: str = ""
    """Beginning of the key of the start that stands for this command."""
    refusals: tuple[str, ...] = ()
    date: str = field(default_factory=lambda: dt.datetime.now(tz=dt.UTC).date().isoformat())


def of(command: Command, verdict: str, **facts: Any) -> Verdict:
    """Return a verdict on a command."""
    return Verdict(command.version, command.sha256, verdict, command.model, command.origins, **facts)


def read() -> dict[tuple[str, str], Verdict]:
    """Return the recorded verdicts by version and SHA-256."""
    if not TABLE.exists():
        return {}
    rows = yaml.load(TABLE.read_text(encoding="utf-8"), yaml.CSafeLoader)["verdicts"]
    verdicts = [_verdict(version, row) for version, same in rows.items() for row in same]
    return {(row.version, row.sha256): row for row in verdicts}


def adjustments() -> dict[str, list[str]]:
    """Return the recorded adjustments of each start."""
    if not TABLE.exists():
        return {}
    return yaml.load(TABLE.read_text(encoding="utf-8"), yaml.CSafeLoader)["starts"]


def write(verdicts: Iterable[Verdict], starts: Mapping[str, list[str]]) -> None:
    """Write verdicts, and the adjustments of their starts."""
    rows = dict[str, list[dict[str, Any]]]()
    for verdict in verdicts:
        rows.setdefault(verdict.version, []).append(_row(verdict))
    used = {row["start"] for same in rows.values() for row in same if "start" in row}
    document = {"verdicts": rows, "starts": {key: starts[key] for key in sorted(used)}}
    text = yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, width=200, default_flow_style=False)
    TABLE.write_text(f"{HEAD}{text}", encoding="utf-8")


def problems(commands: Iterable[Command], recorded: Mapping[tuple[str, str], Verdict]) -> list[str]:
    """Return what differs between the commands that are rendered and the verdicts on them."""
    rendered = {(command.version, command.sha256): command for command in commands}
    texts = list[str]()
    for key, command in rendered.items():
        name = f"vLLM {command.version}, {command.origins[0]}, {command.sha256[:12]}"
        verdict = recorded.get(key)
        if verdict is None:
            texts.append(f"{name}: no verdict; {REMEDY}")
        elif verdict.verdict == REFUSED:
            texts.append(f"{name}: refused: {'; '.join(verdict.refusals)}")
    for version, sha256 in recorded.keys() - rendered.keys():
        texts.append(f"vLLM {version}, {sha256[:12]}: nothing renders to this command any more; {REMEDY}")
    return texts


def _row(verdict: Verdict) -> dict[str, Any]:
    row: dict[str, Any] = {"sha256": verdict.sha256, "model": verdict.model, "from": [*verdict.origins[:SHOWN]]}
    if len(verdict.origins) > SHOWN:
        row["from"].append(f"{len(verdict.origins) - SHOWN} more")
    row |= {"verdict": verdict.verdict, "date": verdict.date}
    facts = {"reason": verdict.reason, "start": verdict.start, "refusals": [*verdict.refusals]}
    return row | {name: value for name, value in facts.items() if value}


def _verdict(version: str, row: Mapping[str, Any]) -> Verdict:
    facts = {name: row[name] for name in ("reason", "start") if name in row}
    refusals = tuple(row.get("refusals", ()))
    return Verdict(
        version, row["sha256"], row["verdict"], row["model"], tuple(row["from"]), **facts, refusals=refusals,
        date=row["date"],
    )  # fmt: skip
