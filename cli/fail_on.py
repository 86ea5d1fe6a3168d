"""Option `--fail-on` of `summarize`: findings of a report that end the command with an exit code of their own."""

import difflib
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from judging.report import findings
from judging.report.findings import JudgedReport, ReportFinding
from models.paths import Path
from models.problems import ConfigError, Problem

FOUND = 8
"""Exit code of a report with a finding that `--fail-on` names."""
_OPTION = "--fail-on"
_WORDS = tuple(finding.value for finding in ReportFinding)


def add_option(parser: ArgumentParser) -> None:
    """Add the option to the options of a command."""
    words = f"end with {FOUND} if the report has such a finding: {', '.join(_WORDS)}, separated by commas"
    parser.add_argument(_OPTION, metavar="WORDS", action="append", default=[], help=words)


def parse(values: Sequence[str], *, is_drift_alone: bool) -> tuple[ReportFinding, ...]:
    """Return the findings that the values of the option name, each once; none for an empty value.

    Raises `ConfigError` with each unknown word, and if the report is to have nothing but drift.
    """
    words = (word.strip() for value in values for word in value.split(","))
    names = dict.fromkeys(filter(None, words))
    problems = [
        Problem(Path(_OPTION), f"has an unknown word ({name})", _remedy(name)) for name in names if name not in _WORDS
    ]
    if names and is_drift_alone:
        problems.append(Problem(Path(_OPTION), "cannot go with --drift, which ends with 7 by itself", "leave out one"))
    if problems:
        raise ConfigError(problems)
    return tuple(map(ReportFinding, names))


def _remedy(name: str) -> str:
    for close in difflib.get_close_matches(name.lower(), _WORDS, n=1):
        return f"did you mean {close}?"
    return f"known: {', '.join(_WORDS)}"


def exit_code(chosen: Sequence[ReportFinding], report: JudgedReport) -> int:
    """Say on standard error which of the chosen findings a report has, and return the exit code.

    Raises `ConfigError` if the report cannot tell whether it has one of them, and has none of the others.
    """
    present = {finding: text for finding, text in findings.words(report).items() if finding in chosen}
    for finding, text in present.items():
        sys.stderr.write(f"{_OPTION} {finding}: {text}\n")
    if present:
        return FOUND
    problems = [problem for finding in chosen for problem in findings.gaps(finding, report)]
    if problems:
        raise ConfigError(problems)
    return 0
