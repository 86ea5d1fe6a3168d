"""The stack to which a live object belongs, as a run of that stack sees it."""

from collections.abc import Collection
from dataclasses import dataclass

from judging.status.topology import labels_of, name_of
from models.trees import mapping
from planning.ground import labels, marks
from planning.ground.marks import Identity, Verdict
from planning.ground.snapshot import Manifest

Name = tuple[str, str]
"""Namespace of objects, and the value of their label `app.kubernetes.io/name`."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A stack as the owner of live objects: of those with its mark or with that of an earlier name.

    An earlier version of this program wrote no marks. An object without a mark is the stack's own if the stack plans
    objects of the same name, because a run gives such an object its mark (`judging.ownership`).
    """

    identity: Identity
    names: Collection[Name]
    """Names of the planned objects."""

    def stack_of(self, item: Manifest) -> str:
        """Return the label of the stack for an object of its own; anything else for the objects of others."""
        mark = marks.read(mapping(item.get("metadata")))
        verdict = self.identity.verdict(mark)
        if verdict is Verdict.OURS or (verdict is Verdict.UNMARKED and name(item) in self.names):
            return self.identity.name.label
        # Stacks of two organizations may have the same label. Their annotations differ.
        return mark.owner or ""


def name(item: Manifest) -> Name:
    """Return the name of an object."""
    return name_of(item)[0], labels_of(item).get(labels.NAME, "")
