"""Strict validation of rendered objects.

The provider drops a misspelt field of a built-in kind without a word, and sends a misspelt field of a custom kind to a
server that prunes it. So every object is checked before it is registered: built-in kinds against the schemas of
kubernetes-validate, custom kinds against the schemas beside this file. A schema is compiled once for its kind.
"""

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import jsonschema_rs
import yaml

from manifests.objects import Manifest

_KUBERNETES = "v1.36.0"
_DEFINITIONS = "_definitions.json"


class SchemaError(Exception):
    """Rendered objects that Kubernetes would not understand: our mistake, or that of a field we passed through."""


def check(manifests: Iterable[Manifest]) -> None:
    """Raise `SchemaError` with every object and field that does not fit its kind's schema."""
    found = [problem for manifest in manifests for problem in _problems(manifest)]
    if found:
        raise SchemaError("\n".join(found))


def _problems(manifest: Manifest) -> list[str]:
    api, kind = str(manifest.get("apiVersion", "")), str(manifest.get("kind", ""))
    name = f"{kind} {manifest.get('metadata', {}).get('name', '')}"
    validator = _validator(api, kind)
    if validator is None:
        return [f"{name}: no schema is known for {api}/{kind}"]
    return [f"{name}: {_at(error)}: {error.message}" for error in validator.iter_errors(manifest)]


def _at(error: jsonschema_rs.ValidationError) -> str:
    return ".".join(str(part) for part in error.instance_path) or "the object"


@cache
def _validator(api: str, kind: str) -> jsonschema_rs.Validator | None:
    own = files("manifests").joinpath("schemas", f"{kind}-{api.replace('/', '-')}.yaml")
    if own.is_file():
        return jsonschema_rs.validator_for(yaml.safe_load(own.read_text(encoding="utf-8")))
    group, _, version = api.rpartition("/")
    prefix = f"{group.split('.')[0]}-" if group else ""
    builtin = _builtin_schemas() / f"{kind.lower()}-{prefix}{version}.json"
    is_builtin_group = "." not in group or group.endswith(".k8s.io")
    if not is_builtin_group or not builtin.is_file():
        return None
    schema = json.loads(builtin.read_text(encoding="utf-8"))
    return jsonschema_rs.validator_for(schema, registry=_definitions(), base_uri=f"json-schema:///{builtin.name}")


@cache
def _builtin_schemas() -> Path:
    """Find the schema files without importing the package, whose own validator costs more than our whole program."""
    spec = find_spec("kubernetes_validate")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("kubernetes-validate is not installed")
    return Path(spec.submodule_search_locations[0]) / "kubernetes-json-schema" / f"{_KUBERNETES}-local-strict"


@cache
def _definitions() -> jsonschema_rs.Registry:
    text = (_builtin_schemas() / _DEFINITIONS).read_text(encoding="utf-8")
    return jsonschema_rs.Registry([(f"https://kubernetes.io/api/{_DEFINITIONS}", json.loads(text))])
