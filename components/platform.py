"""Reader of the outputs of a platform's stack, through Pulumi's engine."""

from typing import cast

import pulumi

from components import program
from composition.sources import Configuration
from models.platform import PlatformOutputs, Reference


async def read_platform(tree: object) -> PlatformOutputs | None:
    """Return the outputs of a stack's platform; None if neither the stack nor a file that it extends has `platform`.

    `tree` is the tree of the stack, or its `Configuration`.
    """
    reference = Configuration.of(tree).platform
    return None if reference is None else await read(reference)


async def read(reference: Reference) -> PlatformOutputs:
    """Return the platform's outputs that `reference` names. Outputs that do not exist are left out."""
    with program.without_positions():
        stack = pulumi.StackReference(reference.stack)
    values = dict[str, object]()
    secrets = set[str]()
    for name in filter(None, (reference.output, reference.kubeconfig)):
        details = await stack.get_output_details(name)
        value = details.value
        if details.secret_value is not None:
            secrets.add(name)
            value = details.secret_value
        if value is not None:
            values[name] = with_whole_numbers(value)
    return PlatformOutputs(values, frozenset(secrets))


def with_whole_numbers(value: object) -> object:
    """Return a value with whole numbers as `int`, because the engine passes all numbers as `float`."""
    if isinstance(value, dict):
        return {key: with_whole_numbers(inner) for key, inner in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [with_whole_numbers(inner) for inner in cast("list[object]", value)]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
