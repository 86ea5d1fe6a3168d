"""Autoscalers that controllers have not looked at, or whose status is older than their spec."""

import pytest

from judging.status.records import Link
from planning.ground.snapshot import AUTOSCALER
from tests.support.healthy import THEN, conditions, replaced, service, states

HPA = {"type": "hpa", "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}


def with_status(**status):
    ready = service(autoscaling=HPA)
    (autoscaler,) = ready.of(AUTOSCALER)
    return replaced(ready, **{AUTOSCALER: [autoscaler | {"status": status}]})


def limited(desired):
    (limit,) = conditions(ScalingLimited="TooManyReplicas")
    scaling = {"currentReplicas": desired, "desiredReplicas": desired, "lastScaleTime": THEN}
    return with_status(conditions=[*conditions("AbleToScale", "ScalingActive"), limit], **scaling)


def test_an_autoscaler_without_a_status_has_no_controller():
    off = states(with_status(), Link.SCALING)["autoscaler-off"]
    assert off.words == "does not scale: no controller has looked at it"


@pytest.mark.parametrize(("desired", "ids"), [(4, {"at-maximum"}), (3, set())])
def test_a_limit_counts_only_while_it_is_the_present_maximum(desired, ids):
    assert set(states(limited(desired), Link.SCALING)) == ids


def test_an_autoscaler_that_may_not_scale_says_why():
    (able,) = conditions(AbleToScale="FailedUpdateScale")
    refused = able | {"status": "False", "message": "deployments.apps is forbidden"}
    off = states(with_status(conditions=[refused, *conditions("ScalingActive")]), Link.SCALING)["autoscaler-off"]
    assert off.words == "does not scale: deployments.apps is forbidden"
    assert off.since is not None
