"""Lists of the leaves of others' schemas, with which tests prove that tables of fields are complete.

    python -m upstream.leaves crd FILE VERSION       leaves of a CustomResourceDefinition; a pod's spec is one
    python -m upstream.leaves pod FILE VERSION       leaves of the first pod's spec in a CustomResourceDefinition
    python -m upstream.leaves chart FOLDER           leaves of a chart's values.schema.json, and values of its templates

A path names keys, with `[]` for the items of a list and `.*` for the values of a map. The list goes to the standard
output as YAML: paths and types, without any description.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import yaml

POD_SPEC = "PodSpec"
CONTAINER = "Container"
"""Types of leaves that stand for a spec of Kubernetes, whose leaves are a list of their own."""
_Schema = Mapping[str, Any]
_KUBERNETES = {
    POD_SPEC: frozenset({"containers", "nodeSelector", "tolerations"}),
    CONTAINER: frozenset({"image", "envFrom", "volumeMounts"}),
}
"""Properties by which specs of Kubernetes are recognised."""
_VALUE = re.compile(r"\.Values\.([A-Za-z][A-Za-z.]*[A-Za-z])")
_OF_ROLE = re.compile(r"\.pdSpec\.([A-Za-z]+)")
_OF_CONTAINER = re.compile(r"\.container\.([A-Za-z]+)")
_OF_PROXY = re.compile(r"\.proxy\.([A-Za-z]+)")
_OF_CLAIM = re.compile(r"\$config\.([a-z]+)|hasKey \$config \"([a-z]+)\"")
_ROLES = ("decode", "prefill")
"""Parts of the chart's values that its helpers read as `.pdSpec`."""


def of_crd(definition: _Schema, version: str) -> dict[str, str]:
    """Return type by path of the leaves of one version. Raises `ValueError` if there is no such version."""
    return dict(_leaves(_schema(definition, version), "", whole=False))


def of_pod(definition: _Schema, version: str) -> dict[str, str]:
    """Return type by path of the leaves of the first pod's spec. Raises `ValueError` if there is none."""
    for pod in _pods(_schema(definition, version)):
        return dict(_leaves(pod, "", whole=True))
    raise ValueError("no object of the schema is a pod's spec")


def of_chart(schema: _Schema, templates: Iterable[str]) -> dict[str, str]:
    """Return type by path of the leaves of a schema, and of the values that only the templates read."""
    known = dict(_leaves(schema, "", whole=False))
    read = set[str]()
    for template in templates:
        read.update(_VALUE.findall(template))
        read.update(f"{role}.{name}" for role in _ROLES for name in _OF_ROLE.findall(template))
        read.update(f"{role}.containers[].{name}" for role in _ROLES for name in _OF_CONTAINER.findall(template))
        read.update(f"routing.proxy.{name}" for name in _OF_PROXY.findall(template))
        for names in _OF_CLAIM.findall(template):
            read.add(f"accelerator.resourceClaimTemplates.*.{''.join(names)}")
    for role in _ROLES:
        known.pop(f"{role}.containers[]", None)
    inner = {path for path in read if any(_is_below(other, path) for other in (*known, *read))}
    return dict(sorted((known | dict.fromkeys(read - inner - set(known), "any")).items()))


def _is_below(path: str, top: str) -> bool:
    return path.startswith((f"{top}.", f"{top}["))


def _schema(definition: _Schema, version: str) -> _Schema:
    for entry in definition["spec"]["versions"]:
        if entry["name"] == version:
            return cast("_Schema", entry["schema"]["openAPIV3Schema"])
    raise ValueError(f"the definition has no version {version}")


def _pods(schema: _Schema) -> Iterator[_Schema]:
    if _kind(schema) == POD_SPEC:
        yield schema
        return
    for inner in _inner(schema).values():
        yield from _pods(inner)


def _inner(schema: _Schema) -> Mapping[str, _Schema]:
    """Return the schemas directly below one, by the end of their path."""
    properties = schema.get("properties")
    if properties:
        return {f".{name}": inner for name, inner in properties.items()}
    items = schema.get("items")
    if items:
        return {"[]": items}
    additional = schema.get("additionalProperties")
    return {".*": cast("_Schema", additional)} if isinstance(additional, Mapping) else {}


def _kind(schema: _Schema) -> str | None:
    """Return the name of Kubernetes' spec that a schema is; None for any other schema."""
    properties = set(schema.get("properties", ()))
    return next((kind for kind, names in _KUBERNETES.items() if names <= properties), None)


def _leaves(schema: _Schema, path: str, *, whole: bool) -> Iterator[tuple[str, str]]:
    if "$ref" in schema:
        yield path, str(schema["$ref"]).rpartition(".")[2]
        return
    inner = _inner(schema)
    kind = _kind(schema)
    if kind is not None and not whole:
        yield path, kind
    elif inner:
        for end, below in inner.items():
            yield from _leaves(below, f"{path}{end}".removeprefix("."), whole=whole)
    else:
        yield path, _type(schema)


def _type(schema: _Schema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    stated = schema.get("type", "any")
    return stated if isinstance(stated, str) else "-or-".join(stated)


def main(arguments: list[str]) -> None:
    """Print a list."""
    command, place, *rest = arguments
    if command == "chart":
        folder = Path(place)
        schema = json.loads((folder / "values.schema.json").read_text(encoding="utf-8"))
        templates = [path.read_text(encoding="utf-8") for path in sorted((folder / "templates").iterdir())]
        leaves = of_chart(schema, templates)
    else:
        definition = yaml.load(Path(place).read_text(encoding="utf-8"), yaml.CSafeLoader)
        leaves = {"crd": of_crd, "pod": of_pod}[command](definition, *rest)
    print("leaves:")
    for path, kind in leaves.items():
        print(f"  {path}: {kind}")


if __name__ == "__main__":
    main(sys.argv[1:])
