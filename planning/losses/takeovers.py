"""Check of objects that exist in the cluster, and not in Pulumi's state.

If another Pulumi stack has them in its state, both stacks could change and delete them. If they have the mark of this
stack, the state lost them: a run was killed, or a refresh led to another cluster.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from models.paths import Path
from models.problems import Problem, warning
from planning.ground.cluster_facts import LiveObjects, Place, Unknown
from planning.ground.marks import NO_MARK, Identity, Mark, Verdict
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
        owner = owners[min(owners)]
        what = f"{_words([*owners])} with the mark of {owner}, whose state has them, too, and can delete them"
        remedy = (
            f"rename that stack (pulumi stack rename {identity.name}), or write allow: [{Cause.TAKEOVER}] for one run"
        )
        yield Problem(_AT, what, remedy)


def returns(
    places: Iterable[Place], recorded: Collection[Place], live: LiveObjects | Unknown, identity: Identity
) -> Iterator[Problem]:
    """Yield a warning if objects have the mark of this stack, and are not in the stack's state."""
    if isinstance(live, Unknown):
        return
    names = {str(identity.name), identity.name.label}
    lost = [place for place in places if place not in recorded and live.marks.get(place, NO_MARK).owner in names]
    if lost:
        what = f"{_words(lost)} in the cluster, but not in the state; this run takes them back as they are"
        yield warning(Path(), what)


def _words(places: Sequence[Place]) -> str:
    """Return the first place in words, and the number of the others."""
    (_, kind, *name), others = min(places), len(places) - 1
    first = f"{kind} {'/'.join(filter(None, name))}"
    if not others:
        return f"{first} exists"
    return f"{first} and {others} further object{'' if others == 1 else 's'} exist"


def _is_of_earlier_name(mark: Mark, identity: Identity) -> bool:
    """Tell whether a mark has an earlier name of the stack."""
    return identity.verdict(mark) is Verdict.OURS and mark.owner not in {str(identity.name), identity.name.label}
