"""Check of the cluster: whether a run leads to the cluster in which the objects of Pulumi's state are.

The name and the address of a cluster are no identity: each workstation may have its own. The identity is the UID of the
namespace kube-system. If the state lacks it, the UIDs of the objects in the state show the cluster.
"""

from collections.abc import Collection
from enum import Enum

from judging.causes import Cause
from judging.losses.matching import Matches, is_live
from models.paths import Path
from models.problems import Problem, gap, warning
from planning.ground.cluster_facts import LiveObjects, Unknown
from planning.ground.recorded import ClusterRecord, RecordedObject

_AT = Path("cluster")
_CHECK = "whether earlier runs deployed to this cluster"
_STAY = "lead this run to that cluster (KUBECONFIG, cluster.context)"
_GO = "`pulumi stack init` makes a stack for this one; to move this stack, write allow: [cluster]"


class ClusterRelation(Enum):
    """Relation of a cluster to the cluster of earlier runs."""

    FIRST = "first"
    """There was no earlier run."""
    SAME = "same"
    ANOTHER = "another"
    UNKNOWN = "unknown"


def verdict(earlier: ClusterRecord | None, matches: Matches, live: LiveObjects | Unknown) -> ClusterRelation:
    """Return the relation of the cluster with the objects `live` to the cluster of earlier runs.

    `earlier` is that cluster, as the state has it; None if the state lacks it.
    """
    if earlier is None and not matches.by_identity:
        return ClusterRelation.FIRST
    if isinstance(live, Unknown):
        return ClusterRelation.UNKNOWN
    is_known = earlier is not None and live.cluster is not None
    is_same = any(is_live(state_object, live) for state_object in matches.by_identity.values())
    if earlier is not None and live.cluster is not None:
        is_same = earlier.uid == live.cluster
    if is_same:
        return ClusterRelation.SAME
    if is_known or _absent(matches, live):
        return ClusterRelation.ANOTHER
    return ClusterRelation.UNKNOWN


def problems(
    earlier: ClusterRecord, matches: Matches, live: LiveObjects | Unknown, name: str, allowed: Collection[str]
) -> list[Problem]:
    """Return an error if a run leads to another cluster, and a warning if that is unknown or allowed.

    `name` is the name of the cluster to which the run leads. The UID of `earlier` is empty if it is unknown.
    """
    known = earlier if earlier.uid else None
    match verdict(known, matches, live):
        case ClusterRelation.FIRST | ClusterRelation.SAME:
            return []
        case ClusterRelation.UNKNOWN:
            reason = "the API server refused to list the objects"
            if isinstance(live, Unknown):
                reason = live.reason
            return [gap(_AT, _CHECK, reason)]
        case ClusterRelation.ANOTHER:
            assert not isinstance(live, Unknown)  # noqa: S101, an unknown cluster has the verdict UNKNOWN
            return [_another(earlier, matches, live, name, allowed)]


def _another(
    earlier: ClusterRecord, matches: Matches, live: LiveObjects, name: str, allowed: Collection[str]
) -> Problem:
    here = _words(ClusterRecord(live.cluster or "", name))
    there = _words(earlier)
    absent = _absent(matches, live)
    if Cause.CLUSTER not in allowed:
        number = len(matches.by_identity)
        objects = ""
        if number:
            objects = f", where this stack has {_count(number)}"
        what = f"this run leads to another cluster ({here}) than earlier runs ({there}{objects})"
        return Problem(_AT, what, f"{_STAY}; {_GO}")
    if absent:
        verb = "are"
        if len(absent) == 1:
            verb = "is"
        what = (
            f"{_count(len(absent))} of the state {verb} not in this cluster ({here}), but in an earlier one ({there})"
        )
        return Problem(_AT, what, "run `pulumi refresh` first: it takes them out of the state, and leaves them there")
    what = f"this stack moves to another cluster ({here}); its objects in the earlier one ({there}) stay there"
    return warning(_AT, what)


def _absent(matches: Matches, live: LiveObjects) -> list[RecordedObject]:
    """Return the objects of the state that do not exist in the cluster, among those whose kinds were listed there."""
    return [
        state_object
        for state_object in matches.by_identity.values()
        if state_object.place[:3] in live.listed and not is_live(state_object, live)
    ]


def _words(cluster: ClusterRecord) -> str:
    uid = ""
    if cluster.uid:
        uid = f"kube-system has the UID {cluster.uid}"
    return ", ".join(filter(None, (cluster.name, uid))) or "unknown"


def _count(number: int) -> str:
    return f"{number} object{'' if number == 1 else 's'}"
