"""Properties of resources as Pulumi's engine sends them, as plain trees with `UNKNOWN` for unknown values."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from policy.rules import contracts
from policy.rules.records import DeployedObject, ReadContract, View
from policy.rules.trees import UNKNOWN, Tree

_SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key of values that JSON does not have, such as secrets (pulumi, sdk/go/common/resource/sig/sig.go)."""
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105, the mark of a secret rather than a secret
_UNKNOWN = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
"""Texts that stand for unknown values (pulumi, sdk/go/common/resource/plugin/rpc.go)."""
_KUBERNETES = "kubernetes:"
_PATCH = "Patch"
_COMPONENT = ":InferenceStack"


def plain(value: object) -> Any:  # noqa: ANN401, any value of JSON
    """Return a value of the engine without marks: secrets as their values, whole numbers as `int`."""
    if isinstance(value, str):
        return UNKNOWN if value in _UNKNOWN else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [plain(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        tree = cast("dict[str, Any]", value)
        if tree.get(_SIGNATURE) == _SECRET:
            return plain(tree.get("value"))
        return {key: plain(inner) for key, inner in tree.items()}
    return value


def kubernetes_object(kind: str, urn: str, properties: Tree) -> DeployedObject | None:
    """Return the Kubernetes object of a resource; None if it has none, or patches an object of others.

    `kind` is the type token of the resource.
    """
    if not kind.startswith(_KUBERNETES) or kind.endswith(_PATCH) or "kind" not in properties:
        return None
    return DeployedObject(properties, urn)


def view(resources: Iterable[tuple[str, str, Tree]]) -> View:
    """Return all that some resources deploy. A resource is its type token, its URN and its properties."""
    objects = list[DeployedObject]()
    components = list[ReadContract]()
    for kind, urn, properties in resources:
        item = kubernetes_object(kind, urn, properties)
        if item is not None:
            objects.append(item)
        elif kind.endswith(_COMPONENT):
            components.append(_contract(urn, properties))
    return View(tuple(objects), tuple(components))


def _contract(urn: str, outputs: Mapping[str, Any]) -> ReadContract:
    """Return the contract of a component. Outputs that are unknown as a whole make a contract with a mistake."""
    unknown = [name for name, value in outputs.items() if value is UNKNOWN]
    if unknown:
        return ReadContract({}, urn, f"its outputs are unknown before the run ({', '.join(sorted(unknown))})")
    return contracts.read(outputs, urn)
