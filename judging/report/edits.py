"""Edits of a workload's pods, as texts for reviewers: image, flags, names of variables.

Values may be credentials. A flag's value is shown only if this value is a number, or a word of a fixed list. Values of
variables and annotations are never shown.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from judging.report import running
from models import credentials
from models.trees import EMPTY

_ENGINES = ("vllm", "engine")
_SHOWN = re.compile(
    r"\d{1,9}(\.\d{1,6})?(Ki|Mi|Gi|Ti|K|M|G|T|s|m|h|%)?|true|false|auto|none|(b?float|f[pl]|int)\d+(_e\dm\d)?"
)
"""Values of flags that are shown: short numbers, and words from the help of vLLM."""
_MOST_NAMES = 4
"""Maximum number of flags or of variables that are listed."""


def edits(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the differences between the pods of two workload objects, as texts."""
    before, after = (running.template(kind, workload) for workload in (old, new))
    first, second = (engine(template) for template in (before, after))
    differences = [
        *_image_edits(first.get("image", ""), second.get("image", "")),
        *_first(list(_flag_edits(first.get("args") or (), second.get("args") or ())), "flags"),
        *_variable_edits(first, second),
    ]
    differences += [] if first.get("resources") == second.get("resources") else ["resources"]
    others = ("initContainers", "volumes", "nodeSelector", "tolerations", "affinity", "securityContext")
    spec = before.get("spec", EMPTY)
    other_spec = after.get("spec", EMPTY)
    differences += [_titles.get(name, name) for name in others if spec.get(name) != other_spec.get(name)]
    metadata = (before.get("metadata", EMPTY), after.get("metadata", EMPTY))
    differences += [
        f"{name} of pods" for name in ("labels", "annotations") if metadata[0].get(name) != metadata[1].get(name)
    ]
    if not differences and before != after:
        differences.append("pods")
    return tuple(differences)


_titles: Mapping[str, str] = {"initContainers": "init containers", "securityContext": "security context"}


def engine(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the container of the engine in a pod template, or else the first container."""
    containers = template.get("spec", EMPTY).get("containers") or (EMPTY,)
    return next((container for container in containers if container.get("name") in _ENGINES), containers[0])


def _image_edits(old: str, new: str) -> Iterator[str]:
    if old == new:
        return
    before, after = (_reference(image) for image in (old, new))
    if before == after:
        yield f"image {before[1]}{_digest(old)} → {after[1]}{_digest(new)}"
        return
    is_same = before[0] == after[0]
    yield f"image {before[1]} → {after[1]}" if is_same else f"image {_short(old)} → {_short(new)}"


def _digest(image: str) -> str:
    """Return the beginning of the digest of an image, after an `@`; empty if it has none."""
    _, at, digest = image.partition("@")
    return f"{at}{digest[:19]}"


def _reference(image: str) -> tuple[str, str]:
    """Return the repository of an image, and its version: the tag, else the beginning of the digest."""
    name, _, digest = image.partition("@")
    repository, _, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "")
    return repository, tag or digest[:19]


def _short(image: str) -> str:
    return image.partition("@")[0]


def _flag_edits(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    before = flags(old)
    after = flags(new)
    for flag in dict.fromkeys((*before, *after)):
        if flag not in before:
            yield f"{flag} {value} is added" if (value := _harmless_value(flag, after[flag])) else f"{flag} is added"
        elif flag not in after:
            yield f"{flag} is removed"
        elif before[flag] != after[flag]:
            values = [_harmless_value(flag, values_of[flag]) for values_of in (before, after)]
            yield f"{flag} {values[0]} → {values[1]}" if all(values) else f"{flag} changes"


def flags(arguments: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each flag of a command line. Words before the first flag have an empty key."""
    values = dict[str, tuple[str, ...]]()
    flag = ""
    for argument in arguments:
        if argument.startswith("--"):
            flag, separator, value = argument.partition("=")
            values[flag] = (*values.get(flag, ()), *((value,) if separator else ()))
        else:
            values[flag] = (*values.get(flag, ()), argument)
    return values


def _harmless_value(flag: str, values: Sequence[str]) -> str:
    """Return the value of a flag if it cannot be a credential, else an empty text."""
    is_harmless = len(values) == 1 and _SHOWN.fullmatch(values[0]) and not credentials.is_credential(flag, values[0])
    if is_harmless:
        return values[0]
    return ""


def _variables(container: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of a container by name."""
    return {variable.get("name", ""): variable for variable in container.get("env") or ()}


def _variable_edits(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = (_variables(container) for container in (old, new))
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    if names:
        more = ""
        if len(names) > _MOST_NAMES:
            more = f" and {len(names) - _MOST_NAMES} more"
        yield f"variable{'' if len(names) == 1 else 's'} {', '.join(names[:_MOST_NAMES])}{more}"


def _first(names: list[str], what: str) -> list[str]:
    if len(names) <= _MOST_NAMES:
        return names
    return [*names[:_MOST_NAMES], f"{len(names) - _MOST_NAMES} more {what}"]


def sensitive(content: Mapping[str, Any]) -> frozenset[str]:
    """Return the texts that no report may repeat: an object's values of variables, arguments and annotations."""
    return frozenset(text for text in _texts(content) if len(text) >= _SHORTEST and not _SHOWN.fullmatch(text))


_SHORTEST = 6
"""Length of the shortest value that is hidden in messages. Shorter values occur within common words."""


def _texts(content: object) -> Iterator[str]:
    """Yield the values of variables, arguments and annotations at any depth."""
    if isinstance(content, Mapping):
        for key, value in cast("Mapping[str, object]", content).items():
            if key == "annotations" and isinstance(value, Mapping):
                yield from _strings(cast("Mapping[str, object]", value).values())
            elif key in {"args", "command"} and isinstance(value, list):
                yield from _argument_texts(list(_strings(cast("list[object]", value))))
            elif key == "env" and isinstance(value, list):
                yield from _strings(_value(variable) for variable in cast("list[object]", value))
            else:
                yield from _texts(value)
    elif isinstance(content, list):
        for item in cast("list[object]", content):
            yield from _texts(item)


def _value(variable: object) -> object:
    if isinstance(variable, Mapping):
        return cast("Mapping[str, object]", variable).get("value")
    return None


def _strings(values: Iterable[object]) -> Iterator[str]:
    """Yield those values that are texts. The API server takes no others as arguments, variables and annotations."""
    return (value for value in values if isinstance(value, str))


def _argument_texts(arguments: list[str]) -> Iterator[str]:
    yield from (argument for argument in arguments if not argument.startswith("--"))
    yield from (value for argument in arguments if (value := argument.partition("=")[2]) and argument.startswith("--"))
