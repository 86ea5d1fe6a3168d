"""Command lines of the endpoint picker, as its flag library reads them (github.com/spf13/pflag).

Arguments without a dash are ignored. If a flag is repeated, its last value counts. Values never appear in problems.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from models.paths import Path
from models.problems import Problem, errors
from planning.picker import go_values, value_combinations, value_shapes
from planning.picker.value_combinations import DemandScope
from planning.picker.value_shapes import Reading
from planning.releases import Release, departures
from planning.releases.picker_facts import PickerFlags

_SHORTHAND = "v"
"""The only flag that can be written with one dash."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The flags of a command line, with the errors and the warnings about it."""

    values: dict[str, object]
    problems: tuple[Problem, ...]


def read(arguments: Sequence[str], release: Release) -> CommandLine:
    """Return the flags of a command line with their values, and the errors and warnings about them."""
    facts = release.picker.flags
    words = {**facts.known, **facts.others}
    values = dict[str, object]()
    problems = list[Problem]()
    for name, text in _flags(arguments, words):
        at = Path(f"--{name}")
        if name not in words:
            problems.append(unknown(at, name, words, release))
            continue
        problems += departures.problems(at, "flag", name, release)
        if text is None:
            problems.append(Problem(at, "has no value", "write the value after an equals sign"))
            continue
        value = typed_value(text, words[name])
        problems += value_shapes.problems(Reading(at), value, words[name])
        values[name] = _with_list(value, words[name])
    return CommandLine(values, (*problems, *_together(values, facts, bool(errors(problems)))))


def unknown(at: Path, name: str, words: Collection[str], release: Release) -> Problem:
    """Return the problem of a flag that the picker of a release lacks. `words` are the flags that it has."""
    remedy = value_shapes.suggestion(name, words) or "remove it"
    problem = Problem(at, f"is no flag of {release.name}'s picker ({name})", remedy)
    return next(departures.problems(at, "flag", name, release), problem)


def typed_value(text: str, description: str) -> object:
    """Return a flag's value in the type that `description` requires; `text` itself if it cannot be converted."""
    readers = {"boolean": go_values.parsed_boolean, "integer": go_values.parsed_integer}
    reader = readers.get(value_shapes.kind(description))
    if reader is None:
        return text
    try:
        return reader(text)
    except ValueError:
        return text


def _with_list(value: object, description: str) -> object:
    """Return the value of a flag. If the flag takes several integers, return a list in place of a text with commas."""
    if value_shapes.kind(description) != "integers" or not value_shapes.fits(value, description):
        return value
    return go_values.integers(value)


def _together(values: dict[str, object], facts: PickerFlags, is_wrong: bool) -> Iterator[Problem]:  # noqa: FBT001
    """Yield the mistakes in combinations of flags, unless a single flag is already wrong."""
    if is_wrong:
        return
    for problem in value_combinations.problems(DemandScope(Path(), values, facts.defaults), facts.rules):
        yield Problem(Path(f"--{problem.path}"), problem.what, problem.remedy)


def _flags(arguments: Sequence[str], words: dict[str, str]) -> Iterator[tuple[str, str | None]]:
    """Yield the name and the value of each flag. The value is None if it is missing."""
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            return
        if not argument.startswith("-") or argument == "-":
            continue
        name, separator, value = argument.removeprefix("-").removeprefix("-").partition("=")
        if not argument.startswith("--") and name.startswith(_SHORTHAND) and name != _SHORTHAND:
            yield _SHORTHAND, name.removeprefix(_SHORTHAND)
        elif separator:
            yield name, value
        elif value_shapes.kind(words.get(name, "boolean")) == "boolean":
            yield name, "true"
        elif rest:
            yield name, rest.pop(0)
        else:
            yield name, None
