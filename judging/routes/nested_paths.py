"""Requests that planned routes take from other routes of the cluster, or lose to them, because paths lie in paths."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from models.problems import Mode, Problem, warning
from planning.ground.marks import Verdict
from planning.routes.nested_paths import ROOT, UNLESS_MEANT, PathIndex, name_list, name_of, taking
from planning.routes.records import RequestClaim

_REMEDY = "use another path or hostname"


@dataclass(frozen=True, slots=True)
class _Loss:
    """Requests that a planned claim loses to other claims."""

    loser: RequestClaim
    takers: dict[str, None] = field(default_factory=dict[str, None])


def judge(
    ours: Iterable[RequestClaim], theirs: Mapping[Verdict, Iterable[RequestClaim]], mode: Mode
) -> Iterator[Problem]:
    """Yield the problems of planned claims inside other claims of the cluster, and of other claims inside planned ones.

    A planned route that takes requests from another stack, or from somebody else, on the same host is an error if
    `mode` is strict. On a host below theirs it is a warning, because whoever names a host means its requests, and so it
    is for a path inside of somebody's `/`, which may be a fallback or a redirection. What others take from planned
    routes is a warning. Unmarked routes may be this stack's own. Routes of this stack that are not planned are skipped,
    because this run removes them.
    """
    lasting = {verdict: claims for verdict, claims in theirs.items() if verdict is not Verdict.OURS}
    for verdict, claims in lasting.items():
        yield from _taken_from_others(ours, PathIndex(claims), verdict, mode)
    yield from _lost_to_others(chain.from_iterable(lasting.values()), PathIndex(ours))


def _taken_from_others(
    ours: Iterable[RequestClaim], index: PathIndex, verdict: Verdict, mode: Mode
) -> Iterator[Problem]:
    """Yield a problem for each planned claim that takes requests from claims of the index.

    `verdict` is the owner of the routes in the index.
    """
    for claim in ours:
        host_names = {host for _, host in claim.parents_and_hosts()}
        refusals = dict[str, None]()
        notes = dict[str, None]()
        for losers in index.losers(claim):
            is_meant = losers.host not in host_names or verdict is Verdict.UNMARKED
            may_be_fallback = verdict is Verdict.FOREIGN and losers.path == ROOT
            if mode == "warn" or is_meant or may_be_fallback:
                notes.update(losers.names)
            else:
                refusals.update(losers.names)
        if refusals:
            yield Problem(claim.at, taking(claim, refusals), _REMEDY)
        if notes:
            yield warning(claim.at, taking(claim, notes), UNLESS_MEANT)


def _lost_to_others(theirs: Iterable[RequestClaim], index: PathIndex) -> Iterator[Problem]:
    """Yield a warning for each path of planned claims in the index from which other claims take requests."""
    losses = dict[int, _Loss]()
    for taker in theirs:
        for losers in index.losers(taker):
            (first,) = losers.claim_set.first_of(losers.members, 1)
            losses.setdefault(id(losers.claim_set), _Loss(first)).takers[name_of(taker)] = None
    for loss in losses.values():
        what = f"loses requests to {name_list(loss.takers)} ({loss.loser.match.path})"
        yield warning(loss.loser.at, what, UNLESS_MEANT)
