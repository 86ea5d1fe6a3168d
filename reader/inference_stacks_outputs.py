"""Reader of the outputs of an Inference Stacks stack. It is one file without dependencies: copy it, or install it.

    import pulumi
    import inference_stacks_outputs as outputs

    async def main():
        models = pulumi.StackReference("organization/inference-stacks/prod")
        details = {name: await models.get_output_details(name) for name in outputs.NAMES}
        prod = outputs.read({name: detail.value for name, detail in details.items()}, "prod")
        return {"path": prod["services"]["qwen"]["paths"][0]}

    pulumi.run(main)

Without the engine: `outputs.read(json.load(file))`, with a file that `pulumi stack output --json` wrote. The types and
meanings of all keys are in schemas/outputs.schema.json of the project Inference
Stacks. Keys may be added within a version, so ignore unknown keys.
"""

from collections.abc import Mapping
from typing import Any

VERSION = 2
"""Version of the contract that this file reads."""
NAMES = ("contractVersion", "release", "factsDigest", "services")
"""Names of the outputs."""


class ContractError(ValueError):
    """Outputs that this file cannot read. The text of the error says what to do."""


def read(outputs: Mapping[str, Any], stack: str = "this stack") -> dict[str, Any]:
    """Return the outputs of a stack, with whole numbers as `int`. `stack` is the name of the stack in error messages.

    Raises ContractError if the outputs do not follow the contract, or follow another version of the contract.
    """
    version = outputs.get("contractVersion")
    if version is None:
        raise ContractError(
            f"{stack} has no output contractVersion; "
            "name a stack of Inference Stacks on which `pulumi up` has succeeded"
        )
    if not isinstance(version, int | float) or isinstance(version, bool):
        raise ContractError(f"{stack} has a contractVersion that is no number; name a stack of Inference Stacks")
    if version < VERSION:
        raise ContractError(
            f"{stack} follows version {version:g} of the contract, but this file reads version {VERSION}; "
            "deploy that stack again with a newer program, or use the older file from the program that deployed it"
        )
    if version > VERSION:
        raise ContractError(
            f"{stack} follows version {version:g} of the contract, but this file reads version {VERSION}; "
            "use the newer file from the program that deploys that stack, and read what has changed"
        )
    missing = [name for name in NAMES if name not in outputs]
    if missing or not isinstance(outputs["services"], Mapping):
        raise ContractError(f"{stack} lacks outputs ({', '.join(missing) or 'services'}); run `pulumi up` on it again")
    return {name: _plain(outputs[name]) for name in NAMES}


def service(outputs: Mapping[str, Any], key: str, stack: str = "this stack") -> dict[str, Any]:
    """Return a service from the outputs that `read` returned. Raises ContractError if there is no such service."""
    services = outputs["services"]
    if key not in services:
        raise ContractError(f"{stack} has no service {key}; it has {', '.join(sorted(services)) or 'none'}")
    return services[key]


def _plain(value: object) -> Any:  # noqa: ANN401, any value of JSON
    """Return a value with `int` for whole numbers, because the engine passes them as `float`."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
