"""Pods of workloads that are not there, or could not be read."""

from judging.status import verdict
from judging.status.records import Link
from judging.status.states import Level
from planning.ground.snapshot import POD
from tests.support.healthy import replaced, service, states, with_replicas


def test_a_number_that_an_autoscaler_has_set_a_moment_ago_leaves_time_to_make_the_pods():
    change = with_replicas(3, "kube-controller-manager", scale=True)
    assert states(service(change))["pods-awaited"].level is Level.NORMAL


def test_a_number_that_was_set_long_ago_and_whose_pods_are_not_made_is_wrong():
    change = with_replicas(3, "pulumi-kubernetes")
    assert states(service(change))["pods-not-made"].words == "lacks 2 of 3 pods, which its controller has not made"


def test_a_pod_that_is_gone_is_made_anew_in_a_moment():
    assert "pods-awaited" in states(replaced(service(), **{POD: []}))


def test_without_pods_a_workload_is_unknown():
    (status,) = verdict.of(service(unread=[POD]), {}).services
    (workload,) = [part for part in status.components if part.link is Link.WORKLOAD]
    assert (workload.is_broken, workload.ready, workload.findings) == (None, None, ())
