"""Whether a run leads to the cluster in which the objects of the state are, and what is said if not."""

import pytest

from judging.losses import clusters, matching
from judging.losses.clusters import ClusterRelation
from judging.losses.matching import PlannedObject
from planning.ground.cluster_facts import LiveObject, LiveObjects, Unknown
from planning.ground.recorded import ClusterRecord, Recorded, RecordedIdentity, RecordedObject

AT = ("apps", "Deployment", "models", "qwen-decode")
IDENTITY = RecordedIdentity("", "kubernetes:apps/v1:Deployment", "qwen-decode")
MATCHES = matching.match([PlannedObject(IDENTITY, AT)], Recorded((RecordedObject("urn", IDENTITY, AT, "1"),)))
NO_MATCHES = matching.match([], Recorded())
EDGE = ClusterRecord("uid-of-edge", "edge")
STAY = "lead this run to that cluster (KUBECONFIG, cluster.context)"
GO = "`pulumi stack init` makes a stack for this one; to move this stack, write allow: [cluster]"


def live(uid=None, cluster=None, *, listed=True):
    objects = {} if uid is None else {AT: LiveObject({"metadata": {"uid": uid}})}
    return LiveObjects(objects, listed=frozenset({AT[:3]} if listed else ()), cluster=cluster)


@pytest.mark.parametrize(
    ("earlier", "matches", "current", "expected"),
    [
        (None, NO_MATCHES, live(), ClusterRelation.FIRST),
        (None, NO_MATCHES, Unknown("late"), ClusterRelation.FIRST),
        (EDGE, MATCHES, Unknown("late"), ClusterRelation.UNKNOWN),
        (EDGE, MATCHES, live("1", "uid-of-edge"), ClusterRelation.SAME),
        (EDGE, MATCHES, live(None, "uid-of-edge"), ClusterRelation.SAME),
        (EDGE, MATCHES, live("1", "another"), ClusterRelation.ANOTHER),
        (EDGE, NO_MATCHES, live(None, "another"), ClusterRelation.ANOTHER),
        (EDGE, MATCHES, live("1", None), ClusterRelation.SAME),
        (EDGE, MATCHES, live("2", None), ClusterRelation.ANOTHER),
        (None, MATCHES, live("1", "any"), ClusterRelation.SAME),
        (None, MATCHES, live(None, "any"), ClusterRelation.ANOTHER),
        (None, MATCHES, live("2", "any"), ClusterRelation.ANOTHER),
        (None, MATCHES, live(None, "any", listed=False), ClusterRelation.UNKNOWN),
    ],
)
def test_the_uid_of_the_cluster_decides_or_else_those_of_the_objects(earlier, matches, current, expected):
    assert clusters.verdict(earlier, matches, current) is expected


def lines(earlier, matches, current, allowed=()):
    problems = clusters.problems(earlier, matches, current, "prod", allowed)
    return [(problem.severity, str(problem)) for problem in problems]


def test_another_cluster_is_an_error_that_names_both_and_the_word():
    what = (
        "cluster: this run leads to another cluster (prod, kube-system has the UID another) than earlier runs "
        "(edge, kube-system has the UID uid-of-edge, where this stack has 1 object)"
    )
    assert lines(EDGE, MATCHES, live(None, "another"), ["name"]) == [("error", f"{what}; {STAY}; {GO}")]


def test_a_state_without_the_uid_says_the_name_of_the_cluster():
    what = (
        "cluster: this run leads to another cluster (prod, kube-system has the UID another) than earlier runs "
        "(edge, where this stack has 1 object)"
    )
    assert lines(ClusterRecord("", "edge"), MATCHES, live(None, "another")) == [("error", f"{what}; {STAY}; {GO}")]


def test_a_move_on_purpose_needs_a_state_without_the_objects_of_the_earlier_cluster():
    refused = (
        "cluster: 1 object of the state is not in this cluster (prod, kube-system has the UID another), but in an "
        "earlier one (edge, kube-system has the UID uid-of-edge); "
        "run `pulumi refresh` first: it takes them out of the state, and leaves them there"
    )
    assert lines(EDGE, MATCHES, live(None, "another"), ["cluster"]) == [("error", refused)]
    moved = (
        "cluster: this stack moves to another cluster (prod, kube-system has the UID another); its objects in the "
        "earlier one (edge, kube-system has the UID uid-of-edge) stay there"
    )
    assert lines(EDGE, NO_MATCHES, live(None, "another"), ["cluster"]) == [("warning", moved)]


@pytest.mark.parametrize(
    ("current", "reason"),
    [
        (Unknown("the cluster could not be read"), "the cluster could not be read"),
        (live(listed=False), "the API server refused to list the objects"),
    ],
)
def test_a_cluster_that_could_not_be_read_is_a_warning(current, reason):
    text = f"cluster: whether earlier runs deployed to this cluster went unchecked: {reason}"
    assert lines(ClusterRecord("", "edge"), MATCHES, current) == [("warning", text)]


def test_the_same_cluster_and_a_first_run_are_told_nothing():
    assert lines(EDGE, MATCHES, live("1", "uid-of-edge")) == []
    assert lines(ClusterRecord("", ""), NO_MATCHES, live(None, "any")) == []
