"""Strict validation of rendered objects against the schemas of their kinds.

A misspelt field would get lost silently: the provider drops the field from objects of built-in kinds, and the API
server drops it from objects of custom kinds. Every object is therefore checked before its registration. The schemas of
built-in kinds come from the package kubernetes-validate, and the schemas of custom kinds are in `schemas/`. What the
API server demands of single fields beyond these schemas is in `constraints.yaml`.

`judging.admission` and `judging.server_rules` check rules that no schema has. A mistake in what a user wrote, such
as a patch, is reported with its path in the configuration. Any other mistake is an internal error. Messages never
contain values of environment variables or arguments.

Exception
└── SchemaError    rendered objects that do not fit their schemas
"""

import difflib
import json
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, cast

import jsonschema_rs

from judging import admission, server_rules
from manifests.objects import Manifest, Rendered
from models import origins
from models.paths import Path
from models.problems import ConfigError, Problem, echo
from models.trees import EMPTY
from planning.ground import yaml_text
from planning.refusals import sizes

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
_BOUNDS = {
    "int32": {"minimum": -(2**31), "maximum": 2**31 - 1},
    "int64": {"minimum": -(2**63), "maximum": 2**63 - 1},
}
"""Numbers that the API server can read, by the format that the schema names."""


class SchemaError(Exception):
    """Rendered objects do not fit their schemas, in fields that users did not write."""


@dataclass(frozen=True, slots=True)
class _CompiledSchema:
    """The schema of a kind: a compiled validator, and the document from which it was compiled."""

    validator: jsonschema_rs.Validator
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Misfit:
    """A value or key of an object that does not fit the schema: path in the object, reason and remedy."""

    at: Path
    what: str
    remedy: str


def check(objects: Iterable[Rendered], sections: Mapping[str, Path] = EMPTY) -> None:
    """Check every object against the schema of its kind, and by the rules that no schema has.

    `sections` has the path in the configuration of each owner of objects, for objects that are too large.

    Raises `ConfigError` with all mistakes in what users wrote (`Rendered.origins`). If there are only other mistakes,
    raises `SchemaError` with them.
    """
    problems = list[Problem]()
    internal_errors = list[str]()
    every = tuple(objects)
    restricted = admission.restricted_namespaces(rendered.manifest for rendered in every)
    for rendered in every:
        manifest = rendered.manifest
        schema = _compiled_schema(str(manifest.get("apiVersion", "")), str(manifest.get("kind", "")))
        if schema is None:
            internal_errors.append(f"{_name(manifest)}: no schema is known for {manifest.get('apiVersion')}")
            continue
        for misfit in _misfits(schema, rendered):
            config_path = origins.locate(rendered.origins, misfit.at)
            if config_path is None:
                internal_errors.append(f"{_name(manifest)}: {misfit.at or 'the object'}: {misfit.what}")
            else:
                problems.append(Problem(config_path, f"does not fit Kubernetes' schema ({misfit.what})", misfit.remedy))
        too_large = sizes.manifest(manifest)
        if too_large is not None:
            problems.append(Problem(sections.get(rendered.id.owner, Path()), *too_large))
        for problem in (*admission.problems(manifest, restricted), *server_rules.problems(manifest)):
            config_path = origins.locate(rendered.origins, problem.path)
            if config_path is None:
                internal_errors.append(f"{_name(manifest)}: {problem}")
            else:
                problems.append(replace(problem, path=config_path))
    if problems:
        raise ConfigError(problems)
    if internal_errors:
        raise SchemaError("\n".join(internal_errors))


def _name(manifest: Manifest) -> str:
    """Return kind and name of an object. A missing kind or name is left out."""
    return f"{manifest.get('kind', '')} {manifest.get('metadata', {}).get('name', '')}"


def _misfits(schema: _CompiledSchema, rendered: Rendered) -> Iterator[_Misfit]:
    # A verdict takes less time than a list of errors, and nearly no object has errors.
    if schema.validator.is_valid(rendered.manifest):
        return
    for error in schema.validator.iter_errors(rendered.manifest):
        yield from _error_misfits(schema, error)


def _error_misfits(schema: _CompiledSchema, error: jsonschema_rs.ValidationError) -> Iterator[_Misfit]:
    """Yield the misfits of a validation error.

    The path of a misfit ends at the unknown or missing key. The path of jsonschema's error ends at the mapping that
    has or lacks this key.
    """
    at = Path(*error.instance_path)
    details = error.kind.as_dict()
    shown = echo(at, error.instance)
    match error.kind.name:
        case "additionalProperties":
            for key in details["unexpected"]:
                yield _Misfit(at / key, f"unknown key {key}", _suggestion(key, _known_keys(schema, error)))
        case "required":
            yield _Misfit(at / details["property"], "is missing", "add it")
        case "enum":
            options = ", ".join(str(option) for option in details["options"])
            yield _Misfit(at, f"is not one of {options}{_value_tail(shown)}", "choose one of them")
        case "type":
            yield _wrong_type(at, error.instance, details["types"])
        case "minimum":
            yield _Misfit(at, f"is below {details['limit']}{_value_tail(shown)}", f"write {details['limit']} or more")
        case "maximum":
            yield _Misfit(at, f"is above {details['limit']}{_value_tail(shown)}", f"write {details['limit']} or less")
        case "oneOf" if types := _types(details["context"]):
            yield _wrong_type(at, error.instance, types)
        case _:
            yield _Misfit(at, f"{error.message}{_value_tail(shown)}", "see Kubernetes' reference for allowed values")


def _value_tail(shown: str) -> str:
    """Return the end of a text about a value: `: value`, or "" if the value must not be shown.

    `shown` comes from `echo`. Its parentheses are removed, because the message has parentheses around the text.
    """
    if shown:
        return f": {shown[2:-1]}"
    return ""


def _wrong_type(at: Path, value: object, types: Sequence[str]) -> _Misfit:
    expected = [name for name in dict.fromkeys(types) if name != "null"]
    nouns = " or ".join(_NOUNS[name] for name in expected)
    is_bare = expected == ["string"] and isinstance(value, bool | int | float)
    remedy = "write it quoted"
    if not is_bare:
        remedy = f"write {nouns}"
    return _Misfit(at, f"is not {nouns}{_value_tail(echo(at, value))}", remedy)


def _types(alternatives: Sequence[Sequence[jsonschema_rs.ValidationError]]) -> list[str]:
    """Return the types that the alternatives of a `oneOf` require. Empty if an alternative requires anything else."""
    errors = [error for alternative in alternatives for error in alternative]
    if any(error.kind.name != "type" for error in errors):
        return []
    return [name for error in errors for name in error.kind.as_dict()["types"]]


def _suggestion(key: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    if close:
        return f"did you mean {close[0]}?"
    if known:
        return f"known here: {', '.join(known)}"
    return "remove it"


def _known_keys(schema: _CompiledSchema, error: jsonschema_rs.ValidationError) -> list[str]:
    """Return the keys that the schema allows in the mapping that has an unknown key.

    The schema of that mapping is in the kind's document, or in the definitions that built-in kinds share.
    """
    is_shared = (error.absolute_keyword_location or "").startswith(_DEFINITIONS_URI)
    mapping_schema: Any = _definitions() if is_shared else schema.document
    for part in error.schema_path[:-1]:
        mapping_schema = mapping_schema[part]
    return sorted(mapping_schema.get("properties", ()))


@cache
def _compiled_schema(api: str, kind: str) -> _CompiledSchema | None:
    """Return the schema of a kind; None if no schema is known. Each schema is compiled once."""
    custom = files("judging").joinpath("schemas", f"{kind}-{api.replace('/', '-')}.yaml")
    if custom.is_file():
        document = cast("dict[str, Any]", yaml_text.load(custom.read_text(encoding="utf-8")))
        return _CompiledSchema(jsonschema_rs.validator_for(document, registry=_registry(), mask="the value"), document)
    group, _, version = api.rpartition("/")
    prefix = ""
    if group:
        prefix = f"{group.split('.')[0]}-"
    builtin = _builtin_schemas() / f"{kind.lower()}-{prefix}{version}.json"
    is_builtin_group = "." not in group or group.endswith(".k8s.io")
    if not is_builtin_group or not builtin.is_file():
        return None
    document = json.loads(builtin.read_text(encoding="utf-8"))
    uri = f"json-schema:///{builtin.name}"
    registry = _registry()
    return _CompiledSchema(
        jsonschema_rs.validator_for(document, registry=registry, base_uri=uri, mask="the value"), document
    )


@cache
def _builtin_schemas() -> pathlib.Path:
    """Return the folder of the schemas of built-in kinds.

    The package that contains them is not imported, because its import takes longer than all of this program's work.
    """
    spec = find_spec("kubernetes_validate")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("kubernetes-validate is not installed")
    return pathlib.Path(spec.submodule_search_locations[0]) / "kubernetes-json-schema" / f"{_KUBERNETES}-local-strict"


@cache
def _definitions() -> dict[str, Any]:
    """Return the definitions that built-in kinds share, with the constraints that the API server adds."""
    text = (_builtin_schemas() / _DEFINITIONS).read_text(encoding="utf-8")
    definitions = json.loads(text, object_hook=_with_bounds)
    for name, fields in _constraints().items():
        for field, keywords in fields.items():
            definitions["$defs"][name]["properties"][field].update(keywords)
    return definitions


def _with_bounds(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a whole number with the bounds of its format, and any other schema as it is."""
    number_format = schema.get("format")
    bounds = None
    if isinstance(number_format, str):
        bounds = _BOUNDS.get(number_format)
    if bounds is None:
        return schema
    return schema | bounds


def _constraints() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Return keywords of JSON Schema by definition and field."""
    text = files("judging").joinpath("constraints.yaml").read_text(encoding="utf-8")
    return cast("Mapping[str, Mapping[str, Mapping[str, Any]]]", yaml_text.load(text))


@cache
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([(_DEFINITIONS_URI, _definitions())])
