"""Check of objects that exist in the cluster, and not in Pulumi's state.

If another Pulumi stack has them in its state, both stacks could change and delete them. If they have the mark of this
stack, the state lost them: a run was killed, or a refresh led to another cluster. If they have an earlier name of this
stack, and this stack does not plan them either, the name is that of a stack that lives on.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from judging.causes import Cause
from models.paths import Path
from models.problems import Problem, warning
from planning.ground import marks
from planning.ground.api_groups import GATEWAY_GROUP
from planning.ground.cluster_facts import LiveObjects, Place, Routes, Unknown
from planning.ground.marks import NO_MARK, Identity, Mark, Verdict

_AT = Path("formerly")
_ROUTE = "HTTPRoute"
_RUNNING = frozenset({"Deployment", "InferencePool", "LeaderWorkerSet", _ROUTE})
"""Kinds of objects that a stack has while it lives. Objects of other kinds may stay after a stack has ended."""


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


def strangers(
    planned: Collection[Place],
    recorded: Collection[Place],
    live: LiveObjects | Unknown,
    routes: Routes | Unknown,
    identity: Identity,
) -> dict[Place, Mark]:
    """Return the marks of running objects with an earlier name of the stack that are neither planned nor in its state.

    After `pulumi stack rename`, the state has all objects of the earlier stack.
    """
    running = dict[Place, Mark]()
    if not isinstance(live, Unknown):
        contents = {place: live_object.content for place, live_object in live.objects.items() if place[1] in _RUNNING}
        running |= {place: marks.read(content["metadata"]) for place, content in contents.items()}
    if not isinstance(routes, Unknown):
        running |= {(GATEWAY_GROUP, _ROUTE, route.namespace, route.name): route.mark for route in routes.routes}
    return {
        place: mark
        for place, mark in running.items()
        if place not in planned and place not in recorded and _is_of_earlier_name(mark, identity)
    }


def living(others: Mapping[Place, Mark]) -> Iterator[Problem]:
    """Yield an error if there are objects of `strangers`."""
    if others:
        owner = others[min(others)].owner
        whose = "neither this stack nor its state has"
        pronoun = "them"
        if len(others) == 1:
            pronoun = "it"
        what = f"{_words([*others])} with the mark of {owner}, which is another stack: {whose} {pronoun}"
        some = f"write allow: [{Cause.TAKEOVER}] for one run that takes other objects of that stack"
        yield Problem(_AT, what, f"remove {owner} from formerly, or {some}")


def without_living(identity: Identity, others: Mapping[Place, Mark]) -> Identity:
    """Return the identity of a stack without the earlier names that marks of `strangers` have."""
    present = replace(identity, formerly=())
    names = [
        name
        for name in identity.formerly
        if all(replace(present, formerly=(name,)).verdict(mark) is not Verdict.OURS for mark in others.values())
    ]
    return replace(present, formerly=tuple(names))


def _words(places: Sequence[Place]) -> str:
    """Return the first place in words, and the number of the others."""
    (_, kind, *name) = min(places)
    others = len(places) - 1
    first = f"{kind} {'/'.join(filter(None, name))}"
    if not others:
        return f"{first} exists"
    return f"{first} and {others} further object{'' if others == 1 else 's'} exist"


def _is_of_earlier_name(mark: Mark, identity: Identity) -> bool:
    """Tell whether a mark has an earlier name of the stack."""
    return identity.verdict(mark) is Verdict.OURS and mark.owner not in {str(identity.name), identity.name.label}
