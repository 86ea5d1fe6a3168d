"""`python -m tests.support.engine.prove`: vLLM judges the commands of everything shipped, and its verdicts are kept."""

import argparse
import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

from local import files, processes
from local.errors import LocalError
from local.report import Report
from local.tools import cache_directory
from local.vllm import installation
from local.vllm.command import EngineCommand
from local.vllm.installation import Version
from tests.support.engine import mounts, starting, verdicts
from tests.support.engine.commands import ADDRESS, KEY_LENGTH, Command, commands
from tests.support.engine.listing import VERSION
from tests.support.engine.preloaded import Preloaded
from tests.support.engine.verdicts import Verdict

Key = tuple[str, str]
"""Version and SHA-256 of a command."""
SECONDS = 10
"""Expected duration of a start, on two cores."""


class Judge:
    """vLLM of one version, and what it has said so far."""

    def __init__(self, preloaded: Preloaded, directory: Path) -> None:
        self._families = set[str]()
        self._refusals = dict[str, str]()
        self._preloaded = preloaded
        self._directory = directory

    def verdict(self, command: Command) -> Verdict:
        """Return the verdict on a command; a command that differs in nothing that a start sees is started once."""
        root = self._directory / command.family.name
        process = command.process(self._preloaded.version, root, ADDRESS)
        outside = mounts.outside(process, root)
        if outside:
            refusals = tuple(f"the container has no mount with {path}" for path in outside)
            return verdicts.of(command, verdicts.REFUSED, refusals=refusals)
        mounts.fill(process.arguments[2:], command.family, self._preloaded.version, root)
        refusals = self._parse(command, mounts.model(process.arguments[2:], root))
        if not refusals and not command.obstacle():
            refusals = self._preloaded.configure([*process.arguments[2:]], _environment(process))
        if refusals:
            return verdicts.of(command, verdicts.REFUSED, refusals=tuple(refusals))
        if command.obstacle():
            return verdicts.of(command, verdicts.PARSED, reason=command.obstacle())
        trial = command.trial
        if trial.key not in self._refusals and self._is_spared(command):
            reason = f"the family was started with another command; vLLM {VERSION.name} starts all"
            return verdicts.of(command, verdicts.CONFIGURED, reason=reason, trial=trial)
        if trial.key not in self._refusals:
            self._refusals[trial.key] = self._start(command, process)
        if self._refusals[trial.key]:
            return verdicts.of(command, verdicts.REFUSED, trial=trial, refusals=(self._refusals[trial.key],))
        self._families.add(command.family.name)
        return verdicts.of(command, verdicts.STARTED, trial=trial)

    def _is_spared(self, command: Command) -> bool:
        """Return whether a command needs no start, because another version starts all and this one the family."""
        return command.version != VERSION.name and command.family.name in self._families

    def _parse(self, command: Command, model: Path) -> list[str]:
        """Return vLLM's refusals of the container's own command, and probes that ask another port than vLLM's.

        The model is in the directory `model`; everything else is as the container has it.
        """
        arguments, environment = command.resolved(ADDRESS)
        answer = self._preloaded.parse([str(model), *arguments[3:]], environment)
        refusals = [*answer["refusals"]]
        ports = ", ".join(map(str, answer["ports"]))
        for name, port in starting.probe_ports(command.container).items():
            if answer["ports"] and port not in answer["ports"]:
                refusals.append(f"vLLM listens on {ports}, and the {name} asks {port}")
        return refusals

    def _start(self, command: Command, process: EngineCommand) -> str:
        """Start a command, and return why it is refused; empty if it is not."""
        try:
            starting.run(command, process, self._preloaded, ADDRESS, self._directory)
        except starting.Refused as refusal:
            return str(refusal)
        return ""


@contextlib.contextmanager
def loaded(version: Version, refusal: str | None = None) -> Generator[Judge]:
    """Start the judge of a version. There is one at a time: its engines have an address that is always the same.

    If there is another, this function waits, or raises LocalError with the text `refusal`.
    """
    directory = cache_directory() / "engines" / f"judge-{version.name}"
    with files.lock(directory.with_name("judge.lock"), refusal), Preloaded(version, directory) as preloaded:
        yield Judge(preloaded, directory)


def judge(version: Version, rows: Sequence[Command], report: Report, note: Callable[[Verdict], None]) -> None:
    """Let a version judge commands one after the other, and note each verdict at once."""
    with (
        loaded(version, refusal="another run lets vLLM judge") as engine,
        report.step(f"vLLM {version.name} judges {len(rows)} commands", SECONDS * len(rows)) as step,
    ):
        for index, command in enumerate(rows):
            step.note = f"{index + 1}: {command.origins[0]}"
            verdict = engine.verdict(command)
            for text in verdict.refusals:
                report.say(f"{command.origins[0]}, {command.sha256[:KEY_LENGTH]}: {text}")
            note(verdict)
        step.note = ""


def _environment(process: EngineCommand) -> dict[str, str]:
    return {"PATH": str(Path(process.arguments[0]).parent), **process.environment}


def main(arguments: Sequence[str]) -> int:
    """Judge what has no verdict of today's tables, write the table, and return 1 if a command is refused."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.engine.prove", description=__doc__)
    parser.add_argument("--again", action="store_true", help="judge commands that have a verdict, too")
    parser.add_argument("--versions", nargs="*", choices=installation.versions(), help="judge with these versions only")
    options = parser.parse_args(arguments)
    processes.heed_interrupts()
    report = Report()
    began = time.monotonic()
    versions = options.versions or [*installation.versions()]
    try:
        recorded = prove(report, versions, again=options.again)
    except LocalError as error:
        report.say(f"error: {error}")
        return 1
    counts = Counter(row.verdict for row in recorded)
    texts = (f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    report.say(f"{len(recorded)} commands: {', '.join(texts)} ({(time.monotonic() - began) / 60:.0f} minutes)")
    others = [name for name in installation.versions() if name not in versions]
    if others:
        report.say(f"not asked: vLLM {', '.join(others)}")
    return min(counts[verdicts.REFUSED], 1)


def prove(report: Report, versions: Sequence[str], *, again: bool) -> list[Verdict]:
    """Install versions, let each judge its commands that have no verdict of today's tables, and return all verdicts."""
    rows = {(command.version, command.sha256): command for command in commands()}
    table = {key: verdict for key, verdict in verdicts.read().items() if key in rows}

    def note(verdict: Verdict) -> None:
        table[verdict.version, verdict.sha256] = verdict
        write()

    def write() -> None:
        verdicts.write(verdicts.renewed(table[key], rows[key]) for key in rows if key in table)

    for name in versions:
        installation.install(name, report)
    for key, command in rows.items():
        has_verdict = key in table and table[key].verdict == verdicts.UNJUDGED
        if command.version not in installation.versions() and not has_verdict:
            reason = f"versions.toml has no build of vLLM {command.version}".rstrip()
            table[key] = verdicts.of(command, verdicts.UNJUDGED, reason=reason)
    write()
    for name in versions:
        keys = [key for key in rows if key[0] == name]
        if not again:
            spared = _spared(table, rows)
            keys = [key for key in keys if key not in spared]
        if keys:
            judge(installation.version(name), [rows[key] for key in keys], report, note)
    return [*table.values()]


def _spared(table: Mapping[Key, Verdict], rows: Mapping[Key, Command]) -> set[Key]:
    """Return the commands whose verdicts are of today's tables; those that need a start of their family have one."""
    current = {key: table[key] for key, row in rows.items() if key in table and not verdicts.outdated(row, table[key])}
    started = {(key[0], rows[key].family.name) for key, row in current.items() if row.verdict == verdicts.STARTED}
    return {
        key
        for key, row in current.items()
        if row.verdict != verdicts.CONFIGURED or (key[0], rows[key].family.name) in started
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
