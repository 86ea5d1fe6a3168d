"""Schema of the component package, from which Pulumi makes SDKs: its resources, their inputs and outputs, all types.

The inputs are made from the specs, like the schema of stack files, and the outputs from their contract. Inputs are
plain, because everything is decided before the run: a program cannot give an Output where a value must be known.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from models.layers import REPLACED_WHOLE
from models.service import Canary, Service
from models.stack import Stack
from package import descriptions
from package.inputs import SETTINGS, ComponentSetting
from package.json_schema import ANY, Node, Types, closure
from planning.ground import contract

NAME = "inference-stacks"
"""Name of the package."""
_DEPLOYED = "Deployed"
"""Begin of the names of types of outputs, some of which are called like types of inputs."""
_LANGUAGE: Mapping[str, Node] = {
    "csharp": {"respectSchemaVersion": True},
    # Without extra types, the generator leaves out types of plain inputs (pulumi 3.230, codegen/go/gen.go).
    "go": {
        "generateExtraInputTypes": True,
        "importBasePath": "inference-stacks.io/sdk/go/inferencestacks",
        "respectSchemaVersion": True,
    },
    "java": {"respectSchemaVersion": True},
    "nodejs": {"packageName": "@inference-stacks/pulumi", "respectSchemaVersion": True},
    "python": {"packageName": "pulumi_inference_stacks", "pyproject": {"enabled": True}, "respectSchemaVersion": True},
}
"""Settings of the SDK of each language."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A component of the package."""

    name: str
    description: str
    inputs: Node
    """Inputs: an object type of the package."""
    outputs: Node
    """Outputs: an object type of the package."""


def package_schema(version: str | None = None) -> dict[str, Any]:
    """Return the schema of the package. The committed schema has no version, so that a release does not change it."""
    types: dict[str, Node] = {}
    resources = [_inference_stack(types)]
    schema: Node = {
        "name": NAME,
        "displayName": "Inference Stacks",
        "description": "Inference of large language models on Kubernetes.",
        "keywords": ["category/ai", "kind/component", "inference", "kubernetes"],
        "license": "Apache-2.0",
        "meta": {"supportPack": True},
        "language": dict(_LANGUAGE),
        "resources": {f"{NAME}:index:{resource.name}": _resource(resource) for resource in resources},
        "types": dict(sorted(types.items())),
    }
    if version is not None:
        schema["version"] = version
    return schema


def _inference_stack(types: dict[str, Node]) -> Resource:
    """Return the component that makes all that a stack describes. The types in it are added to `types`."""
    stack = descriptions.of_stack()
    defaults = stack["properties"]["defaults"]
    stack["properties"]["defaults"] = {
        "$ref": f"{descriptions.DEFINITIONS}{Service.__name__}",
        "description": defaults["description"],
    }
    inputs = Types(NAME, stack["$defs"], are_inputs=True, required=_required_keys(stack["$defs"]), by_token=types)
    outputs = descriptions.of_type(contract.Outputs)
    deployed = Types(NAME, outputs["$defs"], are_inputs=False, prefix=_DEPLOYED, by_token=types)
    keys = inputs.object_type(Stack.__name__, stack)
    settings = {setting.name: _setting(setting) for setting in SETTINGS}
    return Resource(
        "InferenceStack",
        "All objects that one configuration describes: services, endpoint pickers, routes, and the objects they need.",
        {**keys, "properties": {**keys["properties"], **settings}},
        deployed.object_type(contract.Outputs.__name__, outputs),
    )


def _required_keys(definitions: Mapping[str, Node]) -> Mapping[str, Collection[str]]:
    """Return the required keys of the definitions in a service, as far as they differ from those of the JSON schema.

    `defaults`, a profile and the service itself can set the keys of a service, so each of them may leave out any key.
    Keys of values that a layer replaces whole stay required. Only a service can have a canary, so each canary has its
    weight.
    """
    layered = closure(definitions, Service.__name__, without=REPLACED_WHOLE)
    return {**dict.fromkeys(layered, ()), Canary.__name__: ("weight",)}


def _setting(setting: ComponentSetting) -> Node:
    """Return the input of a setting. Secrets and outputs of other stacks may be Outputs; other values are plain."""
    spec: Node = {"description": setting.description, "type": setting.type}
    if setting.type == "object":
        return {**spec, "additionalProperties": {"$ref": ANY}}
    if setting.secret:
        return {**spec, "secret": True}
    return {**spec, "plain": True}


def _resource(resource: Resource) -> Node:
    """Return the component as the schema of a package has it."""
    return {
        "description": resource.description,
        "isComponent": True,
        "type": "object",
        "inputProperties": resource.inputs["properties"],
        "requiredInputs": resource.inputs["required"],
        "properties": resource.outputs["properties"],
        "required": resource.outputs["required"],
    }
