"""Record of the objects that a stack makes, and of the rights that the stack gives to its service accounts."""

from collections.abc import Sequence

from judging import additions, ownership
from judging.rights import Granted, Made
from manifests.assembly import Component, objects


def of_components(components: Sequence[Component]) -> Made:
    """Return the objects that a stack makes, and the rights that the stack gives."""
    items = list(objects(components))
    roles_made = [item for item in items if item.manifest["kind"] in {"Role", "ClusterRole"}]
    names = {item.place[3] for item in roles_made if item.manifest["kind"] == "ClusterRole"}
    refs = (item.manifest["roleRef"] for item in items if "roleRef" in item.manifest)
    asked = frozenset((item.api, item.place[2]) for item in items if item.manifest["kind"] not in ownership.UNASKED)
    return Made(
        objects=frozenset((item.api, item.place[2]) for item in items),
        compared=additions.kinds(components) | asked,
        granted=tuple(Granted(item.place[2], rule) for item in roles_made for rule in item.manifest["rules"]),
        bound=frozenset(ref["name"] for ref in refs if ref["kind"] == "ClusterRole" and ref["name"] not in names),
    )
