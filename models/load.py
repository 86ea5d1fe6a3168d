"""Loader that turns the tree of a configuration into a `Stack`, or reports every problem in it at once.

It merges the layers of the tree and validates the result. A problem is reported at the path where the user wrote the
value. If several services inherit the value, the problem is reported once. A tree with mistakes is repaired: a wrong
value is replaced by its field's default or example. The checks that need a whole stack can then run as well, and all
problems are reported together.
"""

import copy
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from models import cleartext, config_keys, effective_keys, fields
from models.base import Spec
from models.layers import Layer, Place, Source
from models.paths import Path
from models.problems import ConfigError, Problem, echo, warning
from models.profile import ChosenProfile
from models.service import Service
from models.stack import Stack
from models.stack_layers import merge_stack
from models.trees import mapping, sequence, without_none

_MOST_NAMES = 4
"""Maximum number of services that a message lists."""
_NOUNS = {
    "string_type": ("a string", "write text"),
    "int_type": ("a whole number", "write a number without a fraction"),
    "int_from_float": ("a whole number", "write a number without a fraction"),
    "bool_type": ("true or false", "write true or false"),
    "tuple_type": ("a list", "write a list: [a, b]"),
    "dict_type": ("a mapping", "write keys with values below it"),
    "model_type": ("a mapping", "write keys with values below it"),
    "model_attributes_type": ("a mapping", "write keys with values below it"),
}
"""Noun for the expected value, and the remedy, by pydantic's error type."""
_NOUNS_OF_VALUES = (((bool,), "a boolean"), ((int, float), "a number"), ((dict,), "a mapping"), ((list,), "a list"))
"""Noun for a value that is no text, by its type."""
_INCOMPLETE = frozenset({"missing", "union_tag_not_found"})
"""Pydantic's types of errors of values that lack something."""


@dataclass(frozen=True, slots=True)
class ProfileLayers:
    """Profiles that were selected for services, canaries and prefills, by path."""

    by_path: Mapping[Path, Layer] = field(default_factory=dict[Path, Layer])
    """Layers with the keys of a service that the profiles decide."""
    problems: tuple[Problem, ...] = ()
    """Problems of services for which no profile could be selected."""
    repaired: tuple[Path, ...] = ()
    """Paths of placeholder values, which replace the values of profiles that could not be selected."""
    profiles: Mapping[Path, ChosenProfile] = field(default_factory=dict[Path, ChosenProfile])
    merged: Layer | None = None
    """The merged tree of the stack, which `load` reuses; None if a profile changes the tree."""


NO_LAYERS = ProfileLayers()


@dataclass(frozen=True, slots=True)
class Loaded:
    """A stack that later checks can read, the problems found so far, and the paths of repaired values."""

    stack: Stack
    problems: tuple[Problem, ...]
    repaired: tuple[Path, ...]
    """Paths of repaired values, in the merged tree and in the files that the user wrote.

    A credential that is written as text counts as repaired.
    """
    merged: Layer
    """Merged tree of the stack, with the origin of each value."""
    profiles: Mapping[Path, ChosenProfile] = field(default_factory=dict[Path, ChosenProfile])
    """Selected profiles by the path of the service, canary or prefill."""
    warnings: tuple[Problem, ...] = ()
    """Warnings about wrong values in `defaults` that no service inherits."""

    def finish(self, further: Sequence[Problem] = ()) -> Stack:
        """Return the stack, or raise `ConfigError` with all problems that do not depend on a repaired value.

        `further` are the problems of later checks. Their paths are those of the merged tree, such as
        `services.qwen.prefill.engine.args[0]`.
        """
        valid = [
            problem
            for problem in further
            if not any(_is_repaired(path, self.repaired) for path in (problem.path, *problem.depends_on))
        ]
        relocated = list(self._relocate(valid))
        if self.problems or relocated:
            raise ConfigError(_distinct((*self.problems, *relocated)))
        return self.stack

    def is_repaired(self, path: Path) -> bool:
        """Return whether the value at a path of the merged tree is repaired, or is in or around a repaired value."""
        return _overlaps_repaired(path, self.repaired)

    def locate(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return distinct problems, each with the place at which its value was written, for example in `defaults`."""
        return tuple(_distinct(map(self._at_origin, problems)))

    def _at_origin(self, problem: Problem) -> Problem:
        if not self.merged.holds(problem.path):
            return problem
        path, file = self.merged.locate(problem.path, absent=False)
        return replace(problem, path=path, file=file)

    def _relocate(self, problems: Sequence[Problem]) -> Iterator[Problem]:
        """Yield problems with the paths at which their values were written.

        Problems marked `explicit_only` are dropped if the value is inherited. A canary may have a problem with a value
        that it inherits from its service. If the service has the same problem, the value itself is wrong, and the
        problem gets the path at which the value was written. If not, the value is wrong only together with other values
        of the canary, and the problem keeps its path in the canary.
        """
        located = list(map(self._locate, problems))
        service_problems = {(origin, problem.what) for problem, origin, canary in located if not canary}
        places = dict[tuple[Path, Place, str], Place]()
        services = self._affected_services(located)
        for problem, origin, canary in located:
            if problem.explicit_only and origin != Place(problem.path):
                continue
            is_at_origin = not canary or (origin, problem.what) in service_problems or origin.path.is_within(canary)
            place = origin if is_at_origin else Place(problem.path)
            path, file = places.setdefault((canary, origin, problem.what), place)
            what = f"{problem.what}{services.get((path, problem.what), '')}"
            yield replace(problem, path=path, what=what, file=file)

    def _affected_services(self, located: Iterable[tuple[Problem, Place, Path]]) -> dict[tuple[Path, str], str]:
        """Return texts to append to messages about `defaults`, by path and message.

        The text names the services with the problem. There is no text if all services have the problem, or if the
        message itself names a service with the problem.
        """
        affected = dict[tuple[Path, str], dict[str, None]]()
        for problem, origin, _ in located:
            if origin.path[:1] == ("defaults",) and not problem.names_service:
                affected.setdefault((origin.path, problem.what), {})[str(Path(*problem.path[:2]))] = None
        return {
            key: f", for {_enumeration(list(services))}"
            for key, services in affected.items()
            if len(services) < len(self.stack.services)
        }

    def _locate(self, problem: Problem) -> tuple[Problem, Place, Path]:
        """Return a problem, the place at which its value was written, and the path of the canary that has the problem.

        The path is empty if the problem is not in a canary. A problem with another wording for inherited values is
        replaced if the value is inherited.
        """
        path = problem.path
        canary = Path(*path[:3]) if path[:1] == ("services",) and path[2:3] == ("canary",) else Path()
        place = self.merged.locate(path, absent=not self.merged.holds(path))
        if problem.when_inherited is not None and place.path != path:
            return replace(problem.when_inherited, explicit_only=problem.explicit_only), place, canary
        return problem, place, canary


def load(
    tree: object,
    earlier: Sequence[Problem] = (),
    sources: Sequence[Source] = (),
    profiles: ProfileLayers = NO_LAYERS,
) -> Loaded:
    """Read a configuration tree of plain values. `earlier` are problems that are reported as well.

    The tree lacks the values of `earlier` problems of the kind `unread`; nothing else is reported about them.
    `sources` are the files below the stack file, the lowest first; `profiles` has the profiles, which are layers below
    the services. Raises `ConfigError` if the tree cannot be repaired, for example because it has no services.
    """
    if not isinstance(tree, dict) or not tree:
        raise ConfigError([*earlier, config_keys.missing(config_keys.NAMESPACE)])
    merged = profiles.merged or merge_stack(cast("dict[str, Any]", tree), sources, profiles.by_path)
    in_clear = _credentials(merged)
    of_defaults = tuple(_problems_of_defaults(merged))
    # The values of `defaults` are validated again in the services that inherit them, together with other values.
    defaults = merged.tree.pop("defaults", {})
    without_effect = tuple(effective_keys.take_others(merged))
    unread = [path for problem in earlier if problem.kind == "unread" for path in _heirs(problem.path, merged.tree)]
    problems = [*earlier, *merged.problems, *_of_complete_services(profiles.problems, unread), *without_effect]
    repaired = [*unread, *(problem.path for problem in merged.problems), *profiles.repaired]
    while True:
        try:
            stack = Stack.model_validate(merged.tree).model_copy(update={"defaults": defaults})
            problems += [problem for path, problem in in_clear.items() if path not in repaired]
            in_all = (*repaired, *in_clear)
            known = [problem.path for problem in problems]
            warnings = tuple(problem for problem in of_defaults if not _overlaps_repaired(problem.path, known))
            return Loaded(stack, tuple(_distinct(problems)), in_all, merged, profiles.profiles, warnings)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        refused = [_problem(merged, details) for details in errors]
        misspelt = _misspelt_keys(merged, errors)
        new = [(path, problem) for path, problem in refused if path not in misspelt]
        problems += [problem for path, problem in new if not _overlaps_repaired(path, repaired)]
        before = copy.deepcopy(merged.tree)
        for path, problem in refused:
            repaired += [problem.path, path, _repair(merged.tree, path)]
        if merged.tree == before or not merged.tree.get("services"):
            raise ConfigError(_distinct([*problems, *in_clear.values()]))


def _heirs(path: Path, tree: Mapping[str, Any]) -> Iterator[Path]:
    """Yield a path, and the paths of the services that inherit the value if the path is in `defaults`."""
    yield path
    if path[:1] == ("defaults",):
        yield from (Path("services", key, *path[1:]) for key in mapping(tree.get("services")))


def _of_complete_services(problems: Iterable[Problem], unread: Sequence[Path]) -> Iterator[Problem]:
    """Yield the problems of selections, without those of services that lack a value: a selection reads all values."""
    for problem in problems:
        service = Path(*problem.path[:2])
        if not any(path.is_within(service) for path in unread):
            yield problem


def _misspelt_keys(merged: Layer, errors: Sequence[ErrorDetails]) -> set[Path]:
    """Return the paths of missing keys that are there, but misspelt."""
    missing = {error_path(merged.tree, details) for details in errors if details["type"] == "missing"}
    unknown = [details for details in errors if details["type"] == "extra_forbidden"]
    return missing & {_intended_path(merged.tree, details) for details in unknown}


def _problems_of_defaults(merged: Layer) -> Iterator[Problem]:
    """Yield warnings about single values in `defaults` that are wrong; for a service that inherits one, it is an error.

    What is missing is no problem: services add it. Nor is a combination of values, which a service may change.
    """
    values = _without_null(mapping(merged.tree.get("defaults")))
    values.pop("canary", None)
    try:
        Service.model_validate(values)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            is_combination = details["type"] == "problem" and isinstance(details["input"], dict | Spec)
            if not is_combination and details["type"] not in _INCOMPLETE:
                path = error_path(values, details)
                at, file = merged.locate(Path("defaults", *path), absent=False)
                what, remedy = _verdict(Path("services", "", *path), details)
                yield replace(warning(at, f"{what}, unnoticed because no service inherits it", remedy), file=file)


def _without_null(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping without nulls, which remove inherited values."""
    values = without_none(tree)
    for key, value in values.items():
        if isinstance(value, dict):
            values[key] = _without_null(cast("Mapping[str, Any]", value))
    return values


def _credentials(merged: Layer) -> dict[Path, Problem]:
    """Return the problems of credentials that are written as text, by their paths in the merged tree."""
    refused = {problem.path: problem for problem in cleartext.problems(merged.tree)}
    places = {path: merged.locate(path, absent=False) for path in refused}
    return {path: replace(refused[path], path=place.path, file=place.file) for path, place in places.items()}


def _distinct(problems: Iterable[Problem]) -> list[Problem]:
    """Drop repeated problems, which come from values that several services inherit."""
    return list({(problem.path, problem.what, problem.remedy, problem.file): problem for problem in problems}.values())


def _enumeration(names: Sequence[str]) -> str:
    """Return names as text. If there are many, the text has only the first names and the number of the others."""
    if len(names) > _MOST_NAMES:
        shown = names[: _MOST_NAMES - 1]
        names = [*shown, f"{len(names) - len(shown)} more"]
    *others, last = names
    if not others:
        return last
    return f"{', '.join(others)} and {last}"


def _is_repaired(path: Path, repaired: Sequence[Path]) -> bool:
    """Return whether `path` or a path above it was repaired."""
    return any(path.is_within(other) for other in repaired)


def _overlaps_repaired(path: Path, repaired: Sequence[Path]) -> bool:
    """Return whether the value at `path` is inside a repaired value, or contains one."""
    return _is_repaired(path, repaired) or any(other.is_within(path) for other in repaired)


def validation_problems(tree: object, error: ValidationError, top: Path, file: str) -> list[Problem]:
    """Return the problems of a file that was validated separately.

    The file has the keys that a stack has below the path `top`. The problems have paths in the file, not in the stack.
    """
    paths = ((error_path(tree, details), details) for details in error.errors(include_url=False))
    return [Problem(path, *_verdict(Path(*top, *path), details), file=file) for path, details in paths]


def _problem(merged: Layer, details: ErrorDetails) -> tuple[Path, Problem]:
    """Return a validation error as a path and a problem.

    The path is in the merged tree. The problem has the path at which the user wrote the value.
    """
    path = error_path(merged.tree, details)
    at, file = merged.locate(path, absent=details["type"] == "missing")
    return path, Problem(at or Path(config_keys.ROOT), *_verdict(path, details), file=file)


def error_path(tree: object, details: ErrorDetails) -> Path:
    """Return the path of a validation error: pydantic's location without union tags and `[key]` markers."""
    node = tree
    path = list[str | int]()
    location = [part for part in details["loc"] if part != "[key]"]
    for index, part in enumerate(location):
        is_last = index == len(location) - 1
        is_absent = isinstance(node, dict) and part not in node
        if is_absent and not (is_last and details["type"] in {"missing", "extra_forbidden"}):
            continue
        path.append(part)
        if isinstance(node, dict):
            node = mapping(cast("object", node)).get(str(part))
        elif isinstance(part, int):
            node = next(iter(sequence(node)[part:]), node)
    return Path(*path)


def _verdict(path: Path, details: ErrorDetails) -> tuple[str, str]:
    """Return the message and the remedy for a validation error."""
    kind = details["type"]
    value = details["input"]
    context = details.get("ctx", {})
    shown = echo(path, value)
    match kind:
        case "problem":
            what = context["what"]
            if context["echoed"]:
                what += shown
            verdict = what, context["remedy"]
        case "extra_forbidden":
            verdict = f"unknown key ({path[-1]})", _suggestion(path, details["loc"][-2:-1])
        case "missing":
            verdict = "is missing", f"add it{_such_as(_example(path))}"
        case "literal_error":
            expected = context["expected"].replace("'", "")
            verdict = f"is not one of {expected}{shown}", "choose one of them"
        case "union_tag_invalid":
            tags = context["expected_tags"].replace("'", "")
            verdict = f"has an unknown type{echo(path, mapping(value).get('type'))}", f"set type to one of {tags}"
        case "union_tag_not_found":
            tags = ", ".join(tag for spec in fields.specs_at(path) for tag in fields.type_tags(spec))
            verdict = "has no type", f"set type to one of {tags}"
        case "too_long" | "too_short":
            remedy = f"write at least {context.get('min_length')}"
            if kind == "too_long":
                remedy = f"write at most {context['max_length']}"
            verdict = f"has {context['actual_length']} entries", remedy
        case _:
            verdict = _wrong_type(path, kind, value, shown)
    return verdict


def _text_remedy(path: Path, value: object) -> str:
    """Return the advice for a value that should be text, but is a mapping or a list.

    The advice has an example: the `type` in the mapping, or else the example of the field.
    """
    example = ""
    kind = mapping(value).get("type")
    if isinstance(kind, str):
        example = echo(path, kind)[2:-1]
    example = example or _example(path)
    if not example or not isinstance(path[-1], str):
        return "write text"
    return f"write text{_such_as(f'{path[-1]}: {example}')}"


def _such_as(example: str) -> str:
    """Return the end of an advice, with an example if there is one."""
    if not example:
        return ""
    return f", such as {example}"


def _wrong_type(path: Path, kind: str, value: object, shown: str) -> tuple[str, str]:
    """Return message and remedy for a value of the wrong type."""
    noun, remedy = _NOUNS.get(kind, ("valid", "see the schema for what may stand here"))
    noun_of_value = next((text for kinds, text in _NOUNS_OF_VALUES if isinstance(value, kinds)), "")
    if kind == "string_type" and isinstance(value, dict | list):
        return f"is {noun_of_value} and not text", _text_remedy(path, cast("object", value))
    if kind == "string_type" and noun_of_value and shown:
        return f"is {noun_of_value}{shown}", f'write it quoted: "{shown.strip(" ()")}"'
    if kind == "string_type" and noun_of_value:
        return f"is {noun_of_value}", "write it quoted"
    if kind == "int_type" and isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]+", value):
        return f"is text{shown}", "write the number without quotes"
    return f"is not {noun}{shown}", remedy


def _intended_path(tree: object, details: ErrorDetails) -> Path:
    """Return the path of the known key that an unknown key resembles.

    If the known key is missing, its absence is not reported, because the unknown key is reported already.
    """
    path = error_path(tree, details)
    return Path(*path[:-1], *_closest_name(path, _known_keys(path, details["loc"][-2:-1])))


def _closest_name(path: Path, names: Sequence[str]) -> list[str]:
    """Return the name that is most similar to the last key of a path; empty if none is similar."""
    return difflib.get_close_matches(str(path[-1]), names, n=1)


def _known_keys(path: Path, tag: tuple[str | int, ...]) -> list[str]:
    """Return the keys that are valid in place of an unknown one.

    If `tag` selects a spec of a union, only the keys of this spec are returned.
    """
    specs = fields.specs_at(path.parent)
    selected = [spec for spec in specs if set(tag) & set(fields.type_tags(spec))] or specs
    return [field.alias or name for spec in selected for name, field in spec.model_fields.items()]


def _suggestion(path: Path, tag: tuple[str | int, ...]) -> str:
    names = _known_keys(path, tag)
    close = _closest_name(path, names)
    if close:
        return f"did you mean {close[0]}?"
    return f"known here: {', '.join(names)}"


def _example(path: Path) -> str:
    """Return the field's example as YAML on one line, or "" if the field has no example."""
    field = fields.field_at(path)
    if field is None or not field.examples:
        return ""
    return _flow_yaml(field.examples[0])


def _flow_yaml(value: object) -> str:
    """Return a value as YAML on one line."""
    if isinstance(value, dict):
        entries = (f"{key}: {_flow_yaml(inner)}" for key, inner in cast("dict[str, object]", value).items())
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow_yaml, cast("list[object]", value))) + "]"
    return str(value)


def _repair(tree: dict[str, Any], path: Path) -> Path:
    """Repair the value at a path and return the path of the repaired value.

    A required value is replaced by its field's example; any other value is removed. If the path leads into a list, the
    whole list is repaired, because removing one item would change the indices of the others.
    """
    first_index = next((index for index, part in enumerate(path) if isinstance(part, int)), len(path))
    path = Path(*path[:first_index])
    node: Any = tree
    for part in path[:-1]:
        if not isinstance(node, dict) or part not in node:
            return path
        node = cast("dict[Any, Any]", node)[part]
    field = fields.field_at(path)
    if field is not None and field.is_required() and field.examples:
        node[path[-1]] = copy.deepcopy(field.examples[0])
    elif isinstance(node, dict) and path:
        cast("dict[Any, Any]", node).pop(path[-1], None)
    return path
