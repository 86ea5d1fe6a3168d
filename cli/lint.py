"""Command `lint`: judges the configuration and the command line of an endpoint picker, without a stack.

Without `--release`, the pickers of all releases judge, the newest first, and the newest decides the exit code.

The verdict is that of the picker: a configuration is refused if the picker of the release would not start with it, or
would never become ready. Settings that no author can intend are also refused; docs/picker-lint.md lists the reasons.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from facts import regular_files
from facts.regular_files import LARGEST_YAML, UnreadableError
from models import cleartext
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem, errors, warning, warnings
from planning.picker import command_line, lint, yaml_reader
from planning.picker.lint import ConfigFinding
from planning.picker.start_mistakes import LoaderSetting
from planning.releases import Release, channel, channels, departures, known_channels

HELP = "judge the configuration of an endpoint picker by the rules of a release's picker"
FINDINGS = 1
"""Exit code for a configuration or a command line with mistakes."""


@dataclass(frozen=True, slots=True)
class ConfigVerdict:
    """The result of judging a configuration and a command line."""

    findings: tuple[ConfigFinding, ...]
    warnings: tuple[Problem, ...]


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    parser.epilog = "Arguments after -- are the picker's command line, which is judged, too."
    parser.add_argument("file", nargs="?", metavar="FILE", help="an EndpointPickerConfig; absent: the default")
    parser.add_argument("--release", metavar="R", help="the release, such as llm-d-0.10; absent: all releases")
    parser.add_argument("--app-protocol", metavar="P", help="the pool's appProtocol; parsers must accept it")


def run(options: Namespace) -> int:
    """Run the command of parsed options, and return its exit code."""
    if options.release is None:
        return print_verdicts(options.file, options.app_protocol, options.picker_arguments)
    return print_verdict(options.file, options.release, options.app_protocol, options.picker_arguments)


def print_verdict(file: str | None, release: str, app_protocol: str | None, arguments: Sequence[str]) -> int:
    """Print the verdict on a file and on `arguments`, and return the exit code: 0, or 1 if there are findings.

    Raises `ConfigError` if the file cannot be read or parsed, or if there is no such release.
    """
    if release not in known_channels():
        raise ConfigError([Problem(ConfigPath("--release"), "is no release", f"choose one: {', '.join(channels())}")])
    (verdict,) = _verdicts(file, [release], app_protocol, arguments)
    for problem in verdict.warnings:
        sys.stderr.write(f"warning: {problem}\n")
    for finding in verdict.findings:
        sys.stdout.write(f"{_line(finding)}\n")
    return _exit_code(verdict)


def print_verdicts(file: str | None, app_protocol: str | None, arguments: Sequence[str]) -> int:
    """Print the verdict of each release, the newest first, and return the exit code for the newest release.

    An older picker rarely knows all that a newer one knows, so its refusal is no mistake in the file. Raises
    `ConfigError` if the file cannot be read or parsed.
    """
    newest_first = departures.by_age()[::-1]
    verdicts = _verdicts(file, newest_first, app_protocol, arguments)
    for release, verdict in zip(newest_first, verdicts, strict=True):
        word = "accepted"
        if verdict.findings:
            word = "refused"
        sys.stdout.write(f"{release}: {word}\n")
        for finding in verdict.findings:
            sys.stdout.write(f"  {_line(finding)}\n")
        for problem in verdict.warnings:
            sys.stdout.write(f"  warning: {problem}\n")
    return _exit_code(verdicts[0])


def _verdicts(
    file: str | None, releases: Sequence[str], app_protocol: str | None, arguments: Sequence[str]
) -> list[ConfigVerdict]:
    """Return the verdict of each release on a file and on arguments."""
    text = None
    if file is not None:
        text = _text(file)
    try:
        return [judge(text, channel(release), app_protocol, arguments or None) for release in releases]
    except ValueError as error:
        raise ConfigError([Problem(ConfigPath(file or ""), str(error))]) from error


def _line(finding: ConfigFinding) -> str:
    if finding.reason is None:
        return str(finding.problem)
    return f"{finding.problem} [{finding.reason}]"


def _exit_code(verdict: ConfigVerdict) -> int:
    if verdict.findings:
        return FINDINGS
    return 0


def judge(
    text: str | None, release: Release, app_protocol: str | None = None, arguments: Sequence[str] | None = None
) -> ConfigVerdict:
    """Return the verdict on a configuration and a command line.

    If `text` is None, the picker uses its default configuration, and only the command line is judged. If `arguments` is
    None, alpha plugins are permitted. Raises `ValueError` if the text is neither YAML nor JSON.
    """
    line = command_line.CommandLine({}, ()) if arguments is None else command_line.read(arguments, release)
    refused = [ConfigFinding(problem, None) for problem in errors(line.problems)]
    warned = warnings(line.problems)
    file = yaml_reader.File(None, ()) if text is None else yaml_reader.read(text)
    refused += [ConfigFinding(problem, None) for problem in file.problems]
    if file.value is None:
        return ConfigVerdict(tuple(refused), tuple(warned))
    config = file.value
    if not isinstance(config, dict):
        problem = Problem(ConfigPath(), "the file holds no mapping", "write plugins and schedulingProfiles as keys")
        return ConfigVerdict((*refused, ConfigFinding(problem, None)), tuple(warned))
    flag = (release.picker.flags.experimental or "").removeprefix("--")
    is_allowed = arguments is None or line.values.get(flag) is True
    setting = LoaderSetting(release, allows_experimental=is_allowed, app_protocol=app_protocol)
    tree = cast("dict[str, Any]", config)
    findings = list(lint.findings(tree, setting))
    refused += [finding for finding in findings if finding.problem.severity == "error"]
    warned += warnings(finding.problem for finding in findings)
    return ConfigVerdict(tuple(refused), (*warned, *_credentials(tree)))


def _credentials(tree: dict[str, Any]) -> Iterator[Problem]:
    """Yield a warning for each credential, which the picker would take, but a stack refuses."""
    for path in cleartext.paths_in_settings(tree):
        yield warning(path, "holds a credential in clear", "remove it; the configuration is a ConfigMap")


def _text(file: str) -> str:
    try:
        return regular_files.text(Path(file), LARGEST_YAML, pipe=True)
    except UnreadableError as error:
        raise ConfigError([Problem(ConfigPath(file), str(error), error.remedy or "name a file in UTF-8")]) from error
