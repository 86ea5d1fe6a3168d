"""Collisions of planned routes with other routes in the cluster: requests that either of two routes may receive."""

from collections.abc import Iterable, Iterator, Mapping

from models.problems import SEVERITIES, Mode, Problem, warning
from planning.ground.marks import Verdict
from planning.routes.collisions import REMEDY, ClaimIndex
from planning.routes.records import RequestClaim

_OLDER_WINS = "keep only one of the two routes; while both exist, the older route gets the requests"
_UNTIL_REMOVED = "this run removes that route; until then the older route gets the requests"


def judge(
    ours: Iterable[RequestClaim], theirs: Mapping[Verdict, Iterable[RequestClaim]], mode: Mode
) -> Iterator[Problem]:
    """Yield the collisions of planned claims with other claims, by the owners of the other routes.

    A collision with a route of another stack or of somebody else is an error if `mode` is strict. A collision with a
    route of this stack is a warning, because this run removes that route. A collision with an unmarked route is a
    warning, too.
    """
    indices = dict[Verdict, ClaimIndex]()
    for verdict in Verdict:
        indices[verdict] = ClaimIndex()
        for claim in theirs.get(verdict, ()):
            indices[verdict].add(claim)
    for verdict in (Verdict.ANOTHER, Verdict.FOREIGN):
        for collision in indices[verdict].collisions(ours):
            yield Problem(collision.at, collision.what, REMEDY, severity=SEVERITIES[mode])
    for verdict, remedy in ((Verdict.UNMARKED, _OLDER_WINS), (Verdict.OURS, _UNTIL_REMOVED)):
        for collision in indices[verdict].collisions(ours):
            yield warning(collision.at, collision.what, remedy)
