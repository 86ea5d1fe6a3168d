"""Command `schema`: the JSON schema of a stack file, generated from the specs."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from judging.gates import contract as gate_contract
from judging.status import contract as status_contract
from models import platform
from models.config_keys import KEYS, KUBECONFIG, NAMESPACE, ROOT
from package import descriptions
from package.descriptions import DEFINITIONS
from package.schema import package_schema
from planning.ground import contract

HELP = "print the JSON schema of a kind of file"
_PARTIAL = "Partial"
_BASE = "BaseFile"
"""Name of the definition of a base file."""
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_KUBECONFIG = {
    "type": "object",
    "description": "Kubeconfig of the cluster; absent: the files that KUBECONFIG names, or the default file.",
    "properties": {
        "secure": {"type": "string", "description": "The encrypted text, as `pulumi config set --secret` writes it."}
    },
    "required": ["secure"],
}
"""Schema of the secret with the kubeconfig."""
_LAYERS = frozenset({"defaults", "services"})
_VERBATIM = frozenset({"default", "description", "enum", "examples", "title"})
"""Keywords whose values are not schemas."""


def schema() -> dict[str, Any]:
    """Return the schema of a stack file. Keys other than `config` are allowed, because Pulumi writes some of them."""
    tree = descriptions.of_stack()
    definitions = tree.pop("$defs")
    definitions |= _partials(tree, definitions)
    partial = _partial(tree)["properties"]
    _allow_partial_layers(tree, definitions)
    base = _base(tree, partial)
    _allow_base_files(tree, base)
    return {
        "$schema": _DIALECT,
        "title": "Inference Stacks stack file",
        "type": "object",
        "properties": {"config": _config(tree)},
        "required": ["config"],
        "$defs": dict(sorted((definitions | {_BASE: base}).items())),
    }


def of_base_files() -> dict[str, Any]:
    """Return the schema of a base file: the keys of a stack, all of which may be absent or null."""
    return {
        "$schema": _DIALECT,
        "title": "Inference Stacks base file",
        "$ref": f"stack.schema.json{DEFINITIONS}{_BASE}",
    }


def _config(tree: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the key `config`; `tree` is the schema of a stack. Keys of other namespaces are allowed."""
    names = "|".join(key.removeprefix(f"{NAMESPACE}:") for key in KEYS)
    return {
        "type": "object",
        "description": "The configuration of Pulumi. This program reads the keys of the namespace inference-stacks.",
        "properties": {
            ROOT: tree,
            KUBECONFIG: _KUBECONFIG,
        },
        "patternProperties": {f"^{NAMESPACE}:(?!({names})$)": False},
        "required": [ROOT],
    }


def of_platforms() -> dict[str, Any]:
    """Return the schema of the outputs of a platform."""
    base = f"stack.schema.json{DEFINITIONS}{_BASE}/properties"
    version = {"const": platform.CONTRACT_VERSION, "description": "Version of this contract."}
    return {
        "$schema": _DIALECT,
        "title": "Output inferencePlatform of a platform's stack",
        "type": "object",
        "properties": {"contractVersion": version, **{key: {"$ref": f"{base}/{key}"} for key in platform.KEYS}},
        "required": ["contractVersion"],
        "additionalProperties": False,
    }


def of_outputs() -> dict[str, Any]:
    """Return the schema of the outputs of a stack."""
    return _of_types(contract.Outputs, "Outputs of a stack")


def of_status() -> dict[str, Any]:
    """Return the schema of the status that `python -m cli status --json` prints."""
    return _of_types(status_contract.StatusDocument, "Status of services")


def of_gate() -> dict[str, Any]:
    """Return the schema of the verdicts that `python -m cli gate --format json` prints."""
    return _of_types(gate_contract.GateDocument, "Verdicts on canaries")


def _of_types(kind: type, title: str) -> dict[str, Any]:
    """Return the schema of a TypedDict of a contract, whose module has all types in it."""
    tree = descriptions.of_type(kind)
    definitions = tree.pop("$defs")
    return {"$schema": _DIALECT, **tree, "title": title, "$defs": definitions}


KINDS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "stack": schema,
    "base": of_base_files,
    "platform": of_platforms,
    "outputs": of_outputs,
    "status": of_status,
    "gate": of_gate,
    "package": package_schema,
}
"""Schemas by kind of file."""


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("kind", nargs="?", choices=KINDS, default="stack", help="absent: a stack file")


def run(options: Namespace) -> int:
    """Print a schema, and return the exit code."""
    sys.stdout.write(text(options.kind))
    return 0


def text(kind: str = "stack") -> str:
    """Return the schema of a kind of file as the text of `schemas/<kind>.schema.json`."""
    return json.dumps(KINDS[kind](), indent=2, ensure_ascii=False) + "\n"


_INHERITING = (
    ("Decode", "sets"),
    ("Prefill", "sets"),
    ("Service", "prefill"),
    ("Service", "encode"),
    ("Service", "canary"),
    ("Canary", "prefill"),
    ("Canary", "encode"),
)
"""Definitions and keys of the layers that inherit keys from the definition."""


def _allow_partial_layers(tree: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Let `defaults`, further roles, sets and `canary` leave out required keys, except the `weight` of a canary.

    In a stack with `defaults`, services may leave out required keys, too. Every service may leave out `accelerator`,
    because a profile may name the accelerator.
    """
    properties = tree["properties"]
    if "accelerator" in definitions.get("Service", {}).get("required", ()):
        definitions["Service"]["required"].remove("accelerator")
    annotations = {key: properties["defaults"][key] for key in _VERBATIM & properties["defaults"].keys()}
    properties["defaults"] = {"$ref": f"{DEFINITIONS}{_PARTIAL}Service"} | dict(sorted(annotations.items()))
    services = properties["services"]
    properties["services"] = _partial(services)
    tree["if"] = {"required": ["defaults"]}
    tree["else"] = {"properties": {"services": {"patternProperties": services["patternProperties"]}}}
    for name, layer in _INHERITING:
        if layer in definitions.get(name, {"properties": {}})["properties"]:
            fields = definitions[name]["properties"]
            fields[layer] = _partial(fields[layer])
            if layer == "canary":
                fields[layer]["required"] = ["weight"]
    if f"{_PARTIAL}Canary" in definitions:
        properties["defaults"]["properties"] = {"canary": False}
        del definitions["Canary"]


def _base(tree: dict[str, Any], partial: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a base file.

    No key is required at the top level. In `defaults`, in `services` and in `gateway`, the same keys are required as in
    a stack file. In the values of the other keys, no key is required; `partial` has the schemas of these values.
    """
    properties = {key: _or_null(node) for key, node in partial.items()}
    whole = {key: _or_null(tree["properties"][key]) for key in ("defaults", "services", "gateway")}
    return {
        "title": _BASE,
        "type": "object",
        "description": "The keys of a stack. Each of them may be absent. A null removes the value of a lower file.",
        "properties": {key: whole.get(key, properties[key]) for key in tree["properties"]},
        "additionalProperties": False,
    }


def _allow_base_files(tree: dict[str, Any], base: dict[str, Any]) -> None:
    """Let a stack file with `extends` leave out the keys that a base file may leave out."""
    complete = {
        key: {name: inner for name, inner in node.items() if name not in _VERBATIM}
        for key, node in tree["properties"].items()
        if key not in _LAYERS and any(_references(node))
    }
    # A null removes the value of a lower layer. Without base files, the platform's layer is the only lower layer, so
    # only keys that a platform can set may be null.
    null = {"type": "null"}
    for key in tree["properties"]:
        is_below = key in platform.KEYS or key == "extends"
        if not is_below and (key not in complete or null in complete[key].get("anyOf", ())):
            complete.setdefault(key, {})["not"] = null
    tree["else"] = {
        "required": tree.pop("required"),
        "properties": complete,
        "if": tree["if"],
        "else": tree["else"],
    }
    tree["if"] = {"required": ["extends"]}
    tree["properties"] = base["properties"]


def _partials(tree: object, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a partial copy of `Service`, and of each definition that a schema refers to, directly or through others.

    `_partial` says what a partial copy is.
    """
    names = ["Service", *_references(tree)]
    twins = dict[str, Any]()
    for name in names:
        if f"{_PARTIAL}{name}" not in twins:
            twins[f"{_PARTIAL}{name}"] = _partial(definitions[name]) | {"title": f"{_PARTIAL}{name}"}
            names += _references(definitions[name])
    return twins


def _references(node: object) -> Iterator[str]:
    """Yield the names of the definitions that a schema refers to."""
    if isinstance(node, dict):
        for key, value in cast("dict[str, Any]", node).items():
            if key == "$ref":
                yield value.removeprefix(DEFINITIONS)
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _references(item)


def _partial(node: dict[str, Any]) -> dict[str, Any]:
    """Return a partial copy of a schema: at every depth, keys may be absent or null.

    Where `type` selects an alternative in the schema, `type` may be absent from the value. The value may then fit
    several alternatives, so the copy has `anyOf` and no discriminator.
    """
    twin = dict[str, Any]()
    for key, value in node.items():
        match key:
            case "required" | "discriminator":
                continue
            case "$ref":
                twin[key] = f"{DEFINITIONS}{_PARTIAL}{value.removeprefix(DEFINITIONS)}"
            case "oneOf" | "anyOf":
                twin["anyOf"] = [_partial(alternative) for alternative in value]
            case "properties" | "patternProperties":
                twin[key] = {name: _or_null(_partial(inner)) for name, inner in value.items()}
            case _ if isinstance(value, dict) and key not in _VERBATIM:
                twin[key] = _partial(cast("dict[str, Any]", value))
            case _:
                twin[key] = value
    return twin


def _or_null(node: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that also allows null. A null removes the value of a lower layer."""
    null = {"type": "null"}
    if null in node.get("anyOf", ()) or node in ({}, False):
        return node
    annotations = {key: value for key, value in node.items() if key in _VERBATIM}
    inner = {key: value for key, value in node.items() if key not in _VERBATIM or key == "enum"}
    alternatives = [inner]
    if inner.keys() == {"anyOf"}:
        alternatives = inner["anyOf"]
    return {key: value for key, value in annotations.items() if key != "enum"} | {"anyOf": [*alternatives, null]}
