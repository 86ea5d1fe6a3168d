"""Validation that a configuration holds no credential as text.

Every value of a configuration may end up in an object of the cluster, in a preview and in Pulumi's state, where other
people can read it. A credential therefore belongs in a Secret, to which the configuration refers.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from models import credentials, flags
from models.credentials import Naming
from models.flags import Flag
from models.paths import Path
from models.problems import Problem

_IN_CLEAR = "holds a credential in clear"
_SECRET_KEY_REF = "{secretKeyRef: {name: ..., key: ...}}"  # noqa: S105, the form of a reference
_TO_VARIABLE = f"put it into an existing Secret and write {_SECRET_KEY_REF}"
_TO_SECRET = (
    f"put it into an existing Secret, and refer to the Secret by model.secrets, or by a variable with {_SECRET_KEY_REF}"
)
_TO_NOWHERE = "remove it; labels and annotations cannot refer to a Secret"
_TO_TRIGGER = "put it into an existing Secret, and name a TriggerAuthentication in authenticationRef"
_TO_DRIVER = "put it into an existing Secret, and name the Secret in nodePublishSecretRef beside volumeAttributes"
_FROM_SIDECAR = "remove it; the sidecar's flags cannot refer to a Secret"
_REMEDIES = {
    "env": _TO_VARIABLE,
    "flags": "remove it; a picker's flags cannot refer to a Secret",
    "headers": "remove it; a route cannot refer to a Secret",
    "setHeaders": "remove it; a route cannot refer to a Secret",
}
"""Remedies for a credential in a mapping of variables, flags or headers, by the key that has the mapping as value."""
_OBJECTS = frozenset(
    {"affinity", "behavior", "config", "patch", "spec", "topologySpreadConstraints", "volumeAttributes"}
)
"""Keys whose values have the form of Kubernetes objects or of settings of plugins. Kubernetes or the plugins define the
keys inside these values; this program does not."""
_LABELS = frozenset({"annotations", "labels", "matchLabels", "nodeSelector"})
"""Keys whose values are mappings. The value of a key such as `token` in them is often the name of a Secret."""
_ARGUMENTS = frozenset({"args", "command"})

_QUOTES = "\"'();&|"
"""Characters around a word of a script that do not belong to it."""
_EXPANSIONS = ("$", "`")
"""Beginnings of words in place of which a shell puts something else."""

_Keys: TypeAlias = "tuple[_Keys, str | int] | None"
"""Keys on the way to a value, as nested pairs: the keys above, then the value's key. None is the root of the tree.

A pair is made faster than a `Path`, and only problems need a `Path`.
"""


def problems(tree: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each credential in the tree of a stack, whether the credential is a value or a key.

    No problem shows any part of a credential.
    """
    yield from _below(tree, None, in_object=False)


def paths_in_settings(tree: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the path of each credential in settings that are no stack, such as the configuration of a picker."""
    yield from (problem.path for problem in _below(tree, None, in_object=True))


def _below(value: object, at: _Keys, *, in_object: bool) -> Iterator[Problem]:
    """Yield the problems of a value. `in_object` is true inside the values of the keys in `_OBJECTS`."""
    if isinstance(value, dict):
        mapping = cast("dict[Any, Any]", value)
        # One search in all keys and texts takes less time than one search for each key and text.
        texts = [text for item in mapping.items() for text in item if isinstance(text, str)]
        may_have_shape = credentials.may_have_shape("\n".join(texts))
        if may_have_shape and any(credentials.has_shape(key) for key in mapping if isinstance(key, str)):
            yield Problem(_path(at), "has a credential as a key", _TO_SECRET)
        if "name" in mapping and _is_variable_in_clear(mapping):
            yield Problem(_path(at), _IN_CLEAR, _TO_VARIABLE)
            return
        is_checked = may_have_shape or _naming(at, in_object=in_object) is not None
        for key, inner in mapping.items():
            if isinstance(inner, str):
                if is_checked:
                    yield from _text(inner, (at, key), in_object=in_object)
            else:
                yield from _below(inner, (at, key), in_object=in_object or key in _OBJECTS)
    elif isinstance(value, list):
        yield from _list(cast("list[Any]", value), at, in_object=in_object)


def _is_variable_in_clear(mapping: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is a Kubernetes variable, `{name: …, value: …}`, whose value is a credential."""
    name = mapping.get("name")
    value = mapping.get("value")
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    return credentials.is_credential(name, value) or _flag_in_clear(value) is not None


def _list(items: Sequence[Any], at: _Keys, *, in_object: bool) -> Iterator[Problem]:
    if at is not None and at[1] in _ARGUMENTS and not any(isinstance(item, dict | list) for item in items):
        yield from _arguments([str(item) for item in items], at)
        return
    for index, item in enumerate(items):
        if isinstance(item, str):
            yield from _text(item, (at, index), in_object=in_object)
        else:
            yield from _below(item, (at, index), in_object=in_object)


def _text(text: str, at: tuple[_Keys, str | int], *, in_object: bool) -> Iterator[Problem]:
    """Check a text by its shape and, if `_naming` says that the key tells what the text is, also by its key."""
    above = at[0]
    name = str(at[1])
    naming = _naming(above, in_object=in_object)
    if naming is None:
        is_credential = credentials.has_shape(text)
    else:
        is_credential = credentials.is_credential(name, text, naming) or _flag_in_clear(text) is not None
    if is_credential:
        path = _path(at)
        yield Problem(path, _IN_CLEAR, _remedy(path, naming))


def _remedy(path: Path, naming: Naming | None) -> str:
    """Return the advice for a credential at a path."""
    if "autoscaling" in path:
        return _TO_TRIGGER
    if "volumeAttributes" in path:
        return _TO_DRIVER
    if naming is Naming.LABELS:
        return _TO_NOWHERE
    if path.parent[-2:] == ("sidecar", "flags"):
        return _FROM_SIDECAR
    remedies = (_REMEDIES[key] for key in path.parent[-1:] if key in _REMEDIES)
    return next(remedies, _TO_SECRET)


def _naming(above: _Keys, *, in_object: bool) -> Naming | None:
    """Return what the keys of a mapping tell of their values; None if they tell nothing of credentials.

    `above` has the keys on the way to the mapping.
    """
    parent = _last(above)
    if parent in _REMEDIES:
        return Naming.VARIABLES
    if parent in _LABELS:
        return Naming.LABELS
    return Naming.OBJECT if in_object else None


def _last(keys: _Keys) -> str | int:
    return "" if keys is None else keys[1]


def _arguments(tokens: Sequence[str], at: _Keys) -> Iterator[Problem]:
    """Check the arguments of a container: flags by their names, JSON values by their keys, texts by their shape."""
    for flag in flags.parse(tokens):
        name = flag.name
        value = flag.value
        if _is_json_with_credential(flag):
            yield Problem(_path((at, flag.value_index)), _IN_CLEAR, _argument_remedy("TOKEN", "$(TOKEN)"))
        elif value is not None and name and credentials.is_credential(name, value):
            yield Problem(_path((at, flag.value_index)), f"{_IN_CLEAR} ({name})", _flag_remedy(flag))
        elif (inner := _first_in_clear(flag.tokens)) is not None:
            yield Problem(_path((at, flag.value_index)), f"{_IN_CLEAR} ({inner.name})", _flag_remedy(inner))
        elif any(credentials.has_shape(token) for token in flag.tokens):
            yield Problem(_path((at, flag.value_index)), _IN_CLEAR, _argument_remedy("TOKEN", "$(TOKEN)"))


def _first_in_clear(tokens: Sequence[str]) -> Flag | None:
    flags_in_clear = (_flag_in_clear(token) for token in tokens if " " in token or "\n" in token)
    return next((flag for flag in flags_in_clear if flag is not None), None)


def _flag_in_clear(text: str) -> Flag | None:
    """Return a flag with a credential of a text that is a command line, such as a script; None if there is none."""
    if "--" not in text:
        return None
    words = [word.strip(_QUOTES) for word in text.replace("\\\n", " ").split()]
    return next((flag for flag in flags.parse(words) if _is_in_clear(flag)), None)


def _is_in_clear(flag: Flag) -> bool:
    """Return whether the first value of a flag is a credential, and not what a shell puts in place of a word."""
    value = (flag.value or "").partition(" ")[0]
    return bool(flag.name) and not value.startswith(_EXPANSIONS) and credentials.is_credential(flag.name, value)


def _is_json_with_credential(flag: Flag) -> bool:
    value = flags.json_object(flag)
    return value is not None and any(True for _ in _below(value, None, in_object=True))


def _flag_remedy(flag: Flag) -> str:
    variable = credentials.variable_name(flag.name)
    return _argument_remedy(variable, f"{flag.name}=$({variable})")


def _argument_remedy(variable: str, argument: str) -> str:
    reference = argument
    if " " in argument:
        reference = json.dumps(argument)
    return f"put it into an existing Secret, add {variable}: {_SECRET_KEY_REF} to env, and write {reference}"


def _path(at: _Keys) -> Path:
    """Return nested keys as a `Path`."""
    keys = list[str | int]()
    while at is not None:
        at, key = at
        keys.append(key)
    return Path(*reversed(keys))
