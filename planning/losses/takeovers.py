"""Check of objects that another Pulumi stack has in its state: both stacks could change and delete them."""

from collections.abc import Collection, Iterable, Iterator

from models.paths import Path
from models.problems import Problem
from planning.ground.cluster_facts import LiveObjects, Place, Unknown
from planning.ground.marks import Identity, Mark, Verdict
from planning.losses.causes import Cause

_AT = Path("formerly")


def problems(
    places: Iterable[Place],
    recorded: Collection[Place],
    live: LiveObjects | Unknown,
    identity: Identity,
) -> Iterator[Problem]:
    """Yield an error if objects have an earlier name of the stack in their mark, and are not in the stack's state.

    `places` are the planned objects, and `recorded` those of the state. After `pulumi stack rename` the state has the
    objects. Without it, they are in the state of the earlier stack.
    """
    if isinstance(live, Unknown):
        return
    owners = {
        place: mark.owner
        for place in places
        if place not in recorded and (mark := live.marks.get(place)) is not None and _is_of_earlier_name(mark, identity)
    }
    if owners:
        place, owner = next(iter(sorted(owners.items(), key=str)))
        further = f" and {len(owners) - 1} further objects" if len(owners) > 1 else ""
        first = f"{place[1]} {'/'.join(filter(None, place[2:]))}"
        what = f"{first}{further} are in the state of {owner}, which can delete them"
        remedy = (
            f"rename that stack (pulumi stack rename {identity.name}), or write allow: [{Cause.TAKEOVER}] for one run"
        )
        yield Problem(_AT, what, remedy)


def _is_of_earlier_name(mark: Mark, identity: Identity) -> bool:
    """Tell whether a mark has an earlier name of the stack."""
    return identity.verdict(mark) is Verdict.OURS and mark.owner not in {str(identity.name), identity.name.label}
