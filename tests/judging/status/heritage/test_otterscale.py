"""The status in the words of OtterScale's model-operator, as the table of its status derivation has them."""

import pytest

from judging.status.heritage import otterscale
from judging.status.records import Link
from tests.support.statuses import component, finding, service, workload

STARTING = ("Running", "False", "PodsStarting", "Waiting for serving pods to become ready")


def condition(status):
    document = otterscale.of(status)
    return document["phase"], document["ready"], document["reason"], document["message"]


@pytest.mark.parametrize(
    ("workloads", "expected"),
    [
        pytest.param(
            [],
            ("Pending", "False", "DeploymentNotFound", "Decode Deployment has not been created yet"),
            id="decode Deployment missing",
        ),
        pytest.param([workload(0, 2)], STARTING, id="none of two ready"),
        pytest.param([workload(0, 2), workload(0, 1, role="prefill")], STARTING, id="none of both roles ready"),
        pytest.param([workload(1, 2)], ("Running", "False", "PartiallyReady", "1/2 replicas ready"), id="one of two"),
        pytest.param(
            [workload(2, 2), workload(0, 3, role="prefill")],
            ("Running", "False", "PartiallyReady", "2/5 replicas ready"),
            id="prefill counts",
        ),
        pytest.param(
            [workload(2, 2)],
            ("Ready", "True", "AllReplicasReady", "All 2 replicas are ready"),
            id="all without prefill",
        ),
        pytest.param(
            [workload(2, 2), workload(3, 3, role="prefill")],
            ("Ready", "True", "AllReplicasReady", "All 5 replicas are ready"),
            id="all of both roles",
        ),
    ],
)
def test_each_row_of_the_derivation_holds(workloads, expected):
    """See otterscale 5.4."""
    assert condition(service(component(Link.ROUTE), *workloads)) == expected


def test_decode_is_missing_even_if_prefill_is_there():
    """See otterscale 5.4."""
    assert condition(service(workload(1, 1, role="prefill")))[2] == "DeploymentNotFound"


def test_ready_and_desired_replicas_are_counted_by_role():
    """See otterscale 5.4."""
    document = otterscale.of(service(workload(1, 2), workload(2, 3, role="prefill"), workload(7, 7, variant="canary")))
    counts = [document[key] for key in ("decodeReady", "decodeReplicas", "prefillReady", "prefillReplicas")]
    assert counts == [1, 2, 2, 3]
    assert otterscale.of(service(workload(1, 2)))["prefillReplicas"] == 0


def test_sets_of_prefill_count_as_prefill_and_encode_pods_do_not():
    """See otterscale 5.4."""
    sets = [workload(1, 2, role="prefill-long"), workload(3, 4, role="prefill-short"), workload(1, 1, role="encode")]
    document = otterscale.of(service(workload(1, 1), *sets))
    assert [document[key] for key in ("prefillReady", "prefillReplicas")] == [4, 6]


def test_sets_of_decode_count_as_decode():
    """See otterscale 5.4."""
    document = otterscale.of(service(workload(1, 2, role="decode-amd"), workload(3, 4, role="decode-nvidia")))
    assert [document[key] for key in ("decodeReady", "decodeReplicas")] == [4, 6]


def test_no_replicas_are_asleep_where_theirs_are_ready():
    """See otterscale 5.4."""
    expected = ("Running", "False", "Asleep", "No replicas are asked for")
    assert condition(service(workload(0, 0), serves=False)) == expected


def test_a_service_whose_picker_or_route_fails_is_not_ready_where_theirs_is():
    """See otterscale 5.4, C4."""
    culprit = finding("picker-waits", kind="Deployment")
    broken = service(component(Link.PICKER, culprit), workload(2, 2), serves=False, culprit=culprit)
    assert condition(broken) == ("Running", "False", "NotServing", "Deployment team/x is in the state picker-waits")


def test_what_cannot_be_told_is_neither_ready_nor_unready():
    """See otterscale 5.4."""
    assert condition(service(workload(2, 2), serves=None))[:3] == ("Running", "Unknown", "Unread")
    assert condition(service(serves=None))[:3] == ("Pending", "Unknown", "Unread")
