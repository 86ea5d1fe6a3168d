"""Recorded verdicts of vLLM on the commands that are rendered (`verdicts.yaml`)."""

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from local.vllm import installation
from tests.support.engine.commands import KEY_LENGTH, Command, Trial
from tests.support.engine.listing import VERSION

TABLE = Path(__file__).with_name("verdicts.yaml")
STARTED, CONFIGURED, PARSED, REFUSED, UNJUDGED = "started", "configured", "parsed", "refused", "unjudged"
SHOWN = 3
"""Names of stacks that a row has; their number follows."""
REMEDY = "run make prove-engine"
HEAD = """\
# Verdicts of vLLM on the commands that everything shipped renders to. `make prove-engine` writes them.
#
# started    vLLM parsed the command, made its configuration, loaded a small model, was ready by the container's probes,
#            answered, had its series at /metrics and ended after SIGTERM
# configured vLLM parsed the command and made its configuration; `reason` says why it was not started
# parsed     vLLM parsed the command; `reason` says why it made no configuration and was not started
# unjudged   versions.toml has no row of the version
#
# trial       beginning of a check sum of what the engine got, and of the small model; one start stands for all commands
#             with the same one
# adjustments key of the differences between what the engine got and the command, which are below
"""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one command."""

    version: str
    sha256: str
    verdict: str
    model: str
    origins: tuple[str, ...]
    """Names of the first stacks, and the number of the others."""
    reason: str = ""
    trial: Trial | None = None
    """Command that the engine made a configuration of or started with; None if it did neither."""
    refusals: tuple[str, ...] = ()
    date: str = field(default_factory=lambda: dt.datetime.now(tz=dt.UTC).date().isoformat())


def of(command: Command, verdict: str, **facts: Any) -> Verdict:
    """Return a verdict on a command."""
    return Verdict(command.version, command.sha256, verdict, command.model, _shown(command.origins), **facts)


def renewed(verdict: Verdict, command: Command) -> Verdict:
    """Return a verdict with the model and the stacks that its command has today."""
    return replace(verdict, model=command.model, origins=_shown(command.origins))


def read() -> dict[tuple[str, str], Verdict]:
    """Return the recorded verdicts by version and SHA-256."""
    if not TABLE.exists():
        return {}
    document = yaml.load(TABLE.read_text(encoding="utf-8"), yaml.CSafeLoader)
    adjustments = document["adjustments"]
    verdicts = [_verdict(version, row, adjustments) for version, same in document["verdicts"].items() for row in same]
    return {(row.version, row.sha256): row for row in verdicts}


def write(verdicts: Iterable[Verdict]) -> None:
    """Write verdicts, and the adjustments of their trials."""
    rows = dict[str, list[dict[str, Any]]]()
    adjustments = dict[str, list[str]]()
    for verdict in verdicts:
        rows.setdefault(verdict.version, []).append(_row(verdict))
        if verdict.trial is not None:
            adjustments[_key(verdict.trial.adjustments)] = [*verdict.trial.adjustments]
    document = {"verdicts": rows, "adjustments": dict(sorted(adjustments.items()))}
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
        elif reason := outdated(command, verdict):
            texts.append(f"{name}: {reason}; {REMEDY}")
    for version, sha256 in recorded.keys() - rendered.keys():
        texts.append(f"vLLM {version}, {sha256[:12]}: nothing renders to this command any more; {REMEDY}")
    return texts


def outdated(command: Command, verdict: Verdict) -> str | None:
    """Return why a verdict on a command is not one that today's tables allow; None if it is."""
    if command.version not in installation.versions():
        return None if verdict.verdict == UNJUDGED else f"versions.toml has no build of vLLM {command.version}"
    obstacle = command.obstacle()
    if obstacle is not None:
        same = (verdict.verdict, verdict.reason) == (PARSED, obstacle)
        return None if same else f"the verdict is not: {PARSED}, {obstacle}"
    allowed = {STARTED} if command.version == VERSION.name else {STARTED, CONFIGURED}
    if verdict.verdict not in allowed:
        return f"the verdict {verdict.verdict} is not: {' or '.join(sorted(allowed))}"
    if verdict.trial is None or verdict.trial.key != command.trial.key:
        return "vLLM would get something else, or another small model"
    if verdict.trial.adjustments != command.trial.adjustments:
        return "vLLM would get the command with other adjustments"
    return None


def _shown(origins: Sequence[str]) -> tuple[str, ...]:
    if len(origins) <= SHOWN:
        return tuple(origins)
    return (*origins[:SHOWN], f"{len(origins) - SHOWN} more")


def _key(adjustments: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(adjustments).encode()).hexdigest()[:KEY_LENGTH]


def _row(verdict: Verdict) -> dict[str, Any]:
    row: dict[str, Any] = {"sha256": verdict.sha256, "model": verdict.model, "from": [*verdict.origins]}
    row |= {"verdict": verdict.verdict, "date": verdict.date}
    facts: dict[str, Any] = {"reason": verdict.reason, "refusals": [*verdict.refusals]}
    if verdict.trial is not None:
        facts |= {"trial": verdict.trial.key, "adjustments": _key(verdict.trial.adjustments)}
    return row | {name: value for name, value in facts.items() if value}


def _verdict(version: str, row: Mapping[str, Any], adjustments: Mapping[str, Sequence[str]]) -> Verdict:
    trial = None
    if "trial" in row:
        trial = Trial(row["trial"], tuple(adjustments[row["adjustments"]]))
    return Verdict(
        version,
        row["sha256"],
        row["verdict"],
        row["model"],
        tuple(row["from"]),
        row.get("reason", ""),
        trial,
        tuple(row.get("refusals", ())),
        row["date"],
    )
