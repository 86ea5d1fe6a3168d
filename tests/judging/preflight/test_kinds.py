"""Kinds that the cluster has to serve: what is an error, what is a warning, and what is skipped."""

from judging.preflight.kinds import kinds
from planning.ground.cluster_facts import ClusterFacts, Served, Unknown
from tests.support.stacks import lines

NEEDED = ["inference.networking.k8s.io/v1/InferencePool", "v1/Service"]


def test_a_missing_kind_is_an_error_with_its_bundle_version_and_command():
    verdict = kinds(NEEDED, ClusterFacts(Served(frozenset({"v1/Service"}))), "strict")
    (error,) = lines(verdict, "error")
    assert "inference.networking.k8s.io/v1/InferencePool" in error
    assert "Gateway API Inference Extension v1.5.0: kubectl apply" in error


def test_a_failed_read_is_a_warning_that_says_what_went_unchecked_whatever_the_mode():
    verdict = kinds(NEEDED, ClusterFacts(Unknown("no answer")), "strict")
    assert lines(verdict, "error") == []
    assert lines(verdict, "warning") == [f"whether the cluster serves {', '.join(NEEDED)} went unchecked: no answer"]


def test_the_modes_of_the_check():
    facts = ClusterFacts(Served(frozenset({"v1/Service"})))
    assert len(lines(kinds(NEEDED, facts, "warn"), "warning")) == 1
    assert kinds(NEEDED, facts, "skip") == kinds([], facts, "strict")
