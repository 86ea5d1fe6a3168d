"""Properties of a selection, for random profiles, clusters and wishes."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from planning.selection.records import Reason, Scope
from tests.support.examples import share
from tests.support.stacks.profiles import MODEL, catalogue, cluster, profile, question, selection

CLASSES = ["amd-mi300x", "nvidia-l40s", "amd", "nvidia-h100-80gb", "cpu"]
WISHES = st.fixed_dictionaries(
    {},
    optional={
        "metric": st.sampled_from(["latency", "throughput"]),
        "precision": st.sampled_from(["auto", "fp8"]),
        "minimumType": st.sampled_from(["general", "unoptimized"]),
        "deviceCount": st.sampled_from([1, 2]),
        "minDeviceMemory": st.just("64Gi"),
        "accelerators": st.sampled_from([["amd"], ["nvidia-l40s", "amd"]]),
        "profile": st.sampled_from(["p0", "p1"]),
    },
)
PROFILES = st.lists(
    st.fixed_dictionaries(
        {
            "accelerator": st.sampled_from(CLASSES),
            "count": st.sampled_from([1, 2, 16]),
            "type": st.sampled_from(["optimized", "general", "unoptimized"]),
            "default": st.booleans(),
        },
        optional={"metric": st.sampled_from(["latency", "throughput"]), "precision": st.sampled_from(["auto", "fp8"])},
    ),
    max_size=7,
)
CLUSTERS = st.lists(st.sampled_from(["amd-mi300x", "nvidia-l40s", "nvidia-h100-80gb"]), unique=True)
SCOPES = st.lists(st.sampled_from([*Scope]), min_size=8, max_size=8)


def candidates(drawn, scopes):
    named = {f"p{index}": profile(**item) for index, item in enumerate(drawn)}
    return catalogue(named, dict(zip(named, scopes, strict=False))).candidates(MODEL)


@settings(max_examples=share(60))
@given(PROFILES, SCOPES, CLUSTERS, WISHES, st.randoms(use_true_random=False))
def test_the_order_of_candidates_changes_nothing(drawn, scopes, classes, criteria, order: random.Random):
    found = list(candidates(drawn, scopes))
    known = cluster(*classes)
    expected = selection(found, question(**criteria), known)
    order.shuffle(found)
    assert selection(found, question(**criteria), known) == expected


@settings(max_examples=share(60))
@given(PROFILES, SCOPES, CLUSTERS, WISHES)
def test_each_candidate_is_in_the_table_once_and_one_or_none_is_chosen(drawn, scopes, classes, criteria):
    found = candidates(drawn, scopes)
    table = selection(found, question(**criteria), cluster(*classes))
    assert sorted(row.candidate.id for row in table.rows) == sorted(each.id for each in found)
    best = [row for row in table.rows if row.reason is Reason.BEST]
    assert len(best) == (0 if table.chosen is None else 1)
    tied = [row for row in table.rows if row.reason is Reason.TIE and row.rank == 1]
    assert len(tied) == len(table.tied) != 1
    assert not (best and tied)
    assert {row.rank for row in best} <= {1}


@settings(max_examples=share(60))
@given(PROFILES, SCOPES, CLUSTERS, WISHES, st.sampled_from(CLASSES))
def test_a_worse_candidate_changes_nothing(drawn, scopes, classes, criteria, accelerator):
    """A profile of the last type, of the farthest scope, is behind every one of another type."""
    known, asked = cluster(*classes), question(**criteria)
    better = candidates([each | {"type": each["type"].replace("unoptimized", "general")} for each in drawn], scopes)
    before = selection(better, asked, known)
    worst = catalogue({"worst": profile(accelerator, type="unoptimized")}, {"worst": Scope.SHIPPED}).candidates(MODEL)
    after = selection([*better, *worst], asked, known)
    if before.remaining["nodes"]:
        assert (after.chosen, after.tied) == (before.chosen, before.tied)
    rows = {row.candidate.id: (row.stage, row.reason, row.rank) for row in after.rows if row.candidate.id != "worst"}
    assert rows == {row.candidate.id: (row.stage, row.reason, row.rank) for row in before.rows}
