"""Strict validation of rendered objects.

The provider drops a misspelt field of a built-in kind without a word, and sends a misspelt field of a custom kind to a
server that prunes it. So every object is checked before it is registered: built-in kinds against the schemas of
kubernetes-validate, custom kinds against the schemas beside this file. A schema is compiled once for its kind.

What a user passed through is the user's mistake and is told in the user's words; anything else is ours. No message has
a value of an environment variable or of an argument.

Exception
└── SchemaError    rendered objects that Kubernetes would not understand
"""

import difflib
import json
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import jsonschema_rs
import yaml

from manifests.objects import Rendered
from models.paths import Path
from models.problems import ConfigError, Problem, echo

_KUBERNETES = "v1.36.0"
_DEFINITIONS = "_definitions.json"
_DEFINITIONS_URI = f"https://kubernetes.io/api/{_DEFINITIONS}"
_NOUNS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "a string",
}


class SchemaError(Exception):
    """Rendered objects that Kubernetes would not understand, in a part that no user wrote."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """The compiled schema of a kind, and the document that it was compiled from."""

    validator: jsonschema_rs.Validator
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Misfit:
    """One thing that does not fit: where in the object, what, and what would."""

    at: Path
    what: str
    remedy: str


def check(rendered: Iterable[Rendered]) -> None:
    """Check every object against its kind's schema.

    Raises `ConfigError` with every misfit in what users passed through (`Rendered.origins`); where there is none,
    `SchemaError` with every other.
    """
    problems, ours = list[Problem](), list[str]()
    for one in rendered:
        name = f"{one.manifest.get('kind', '')} {one.manifest.get('metadata', {}).get('name', '')}"
        kind = _kind(str(one.manifest.get("apiVersion", "")), str(one.manifest.get("kind", "")))
        if kind is None:
            ours.append(f"{name}: no schema is known for {one.manifest.get('apiVersion')}")
            continue
        for misfit in _misfits(kind, one):
            written = _as_written(one.origins, misfit.at)
            if written is None:
                ours.append(f"{name}: {misfit.at or 'the object'}: {misfit.what}")
            else:
                problems.append(Problem(written, f"does not fit Kubernetes' schema ({misfit.what})", misfit.remedy))
    if problems:
        raise ConfigError(problems)
    if ours:
        raise SchemaError("\n".join(ours))


def _as_written(origins: Mapping[Path, Path], at: Path) -> Path | None:
    """Return a place in the user's words, by the longest prefix of it that the user wrote."""
    for length in range(len(at), -1, -1):
        top = Path(*at[:length])
        if top in origins:
            return Path(*origins[top], *at.below(top))
    return None


def _misfits(kind: _Kind, one: Rendered) -> Iterator[_Misfit]:
    for error in kind.validator.iter_errors(one.manifest):
        yield from _told(kind, error)


def _told(kind: _Kind, error: jsonschema_rs.ValidationError) -> Iterator[_Misfit]:
    """Tell one error of the validator, at the key that is unknown or missing rather than at what is around it."""
    at, details = Path(*error.instance_path), error.kind.as_dict()
    shown = echo(at, error.instance)
    match error.kind.name:
        case "additionalProperties":
            for key in details["unexpected"]:
                yield _Misfit(at / key, f"unknown key {key}", _suggestion(key, _neighbours(kind, error)))
        case "required":
            yield _Misfit(at / details["property"], "is missing", "add it")
        case "enum":
            options = ", ".join(str(option) for option in details["options"])
            yield _Misfit(at, f"is not one of {options}{_colon(shown)}", "choose one of them")
        case "type":
            yield _wrong_type(at, error.instance, details["types"])
        case "oneOf" if types := _types(details["context"]):
            yield _wrong_type(at, error.instance, types)
        case _:
            yield _Misfit(at, f"{error.message}{_colon(shown)}", "see Kubernetes' reference for what may stand here")


def _colon(shown: str) -> str:
    """Return a value as the tail of a text that itself is going to stand in parentheses."""
    return f": {shown[2:-1]}" if shown else ""


def _wrong_type(at: Path, value: object, types: Sequence[str]) -> _Misfit:
    wanted = [one for one in dict.fromkeys(types) if one != "null"]
    nouns = " or ".join(_NOUNS[one] for one in wanted)
    is_bare = wanted == ["string"] and isinstance(value, bool | int | float)
    remedy = "write it quoted" if is_bare else f"write {nouns}"
    return _Misfit(at, f"is not {nouns}{_colon(echo(at, value))}", remedy)


def _types(alternatives: Sequence[Sequence[jsonschema_rs.ValidationError]]) -> list[str]:
    """Return the types that alternatives ask for, or nothing where they ask for anything else."""
    errors = [error for alternative in alternatives for error in alternative]
    if any(error.kind.name != "type" for error in errors):
        return []
    return [one for error in errors for one in error.kind.as_dict()["types"]]


def _suggestion(key: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"known here: {', '.join(known)}" if known else "remove it"


def _neighbours(kind: _Kind, error: jsonschema_rs.ValidationError) -> list[str]:
    """Return the keys that the schema knows where it found an unknown one."""
    is_shared = (error.absolute_keyword_location or "").startswith(_DEFINITIONS_URI)
    at: Any = _definitions() if is_shared else kind.document
    for part in error.schema_path[:-1]:
        at = at[part]
    return sorted(at.get("properties", ()))


@cache
def _kind(api: str, kind: str) -> _Kind | None:
    own = files("manifests").joinpath("schemas", f"{kind}-{api.replace('/', '-')}.yaml")
    if own.is_file():
        document = yaml.safe_load(own.read_text(encoding="utf-8"))
        return _Kind(jsonschema_rs.validator_for(document, registry=_registry(), mask="the value"), document)
    group, _, version = api.rpartition("/")
    prefix = f"{group.split('.')[0]}-" if group else ""
    builtin = _builtin_schemas() / f"{kind.lower()}-{prefix}{version}.json"
    is_builtin_group = "." not in group or group.endswith(".k8s.io")
    if not is_builtin_group or not builtin.is_file():
        return None
    document = json.loads(builtin.read_text(encoding="utf-8"))
    uri = f"json-schema:///{builtin.name}"
    registry = _registry()
    return _Kind(jsonschema_rs.validator_for(document, registry=registry, base_uri=uri, mask="the value"), document)


@cache
def _builtin_schemas() -> pathlib.Path:
    """Find the schema files without importing the package, whose own validator costs more than our whole program."""
    spec = find_spec("kubernetes_validate")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("kubernetes-validate is not installed")
    return pathlib.Path(spec.submodule_search_locations[0]) / "kubernetes-json-schema" / f"{_KUBERNETES}-local-strict"


@cache
def _definitions() -> dict[str, Any]:
    return json.loads((_builtin_schemas() / _DEFINITIONS).read_text(encoding="utf-8"))


@cache
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([(_DEFINITIONS_URI, _definitions())])
