"""No value at any place of an object makes the judgement of a status fail."""

import json
import math

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from judging.status import document, verdict
from judging.status.verdict import ExitCode
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import DEPLOYMENT, GATEWAY, KINDS, LEADER_WORKER_SET, POD, ROUTE, SCALED_OBJECT
from tests.support.captured_objects import lists, mutated, places, snapshot

STRANGE = (None, True, 0, -1, 2**70, 1.5, math.nan, "", "x", "2026-13-45T99:99:99Z", "{0}{x!r}\x1b[31m", [], [None])
STRANGE_TREES = (["a", 1, {}], {}, {"a": None}, {"": [[]]}, [[]], [{"name": {}}])
LABEL = ("metadata", "labels", "inference-stacks.io/stack")


def judged(whole):
    """Return the exit code of a status, and all that is said of it."""
    status = verdict.of(whole, {})
    return status.exit_code, json.dumps(document.of(status, status.exit_code), ensure_ascii=False)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(places()), st.sampled_from((*STRANGE, *STRANGE_TREES)))
@example((DEPLOYMENT, 0, LABEL), ["a", 1, {}])
@example((DEPLOYMENT, 0, ("metadata", "annotations")), True)
@example((POD, 0, ("metadata", "labels")), "x")
@example((SCALED_OBJECT, 0, ("spec", "minReplicaCount")), [None])
@example((LEADER_WORKER_SET, 0, ("spec", "replicas")), 2**70)
@example((ROUTE, 0, ("spec", "parentRefs", 0, "group")), [])
@example((GATEWAY, 0, ("spec", "listeners", 0, "protocol")), {})
def test_a_strange_value_makes_no_judgement_fail(place, value):
    code, text = judged(mutated(*place, value))
    assert f'"exitCode": {code.value}' in text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objects", [[{}], [{"metadata": None}], [{"metadata": {}, "spec": [], "status": "x"}]])
def test_objects_without_content_make_no_judgement_fail(kind, objects):
    assert judged(snapshot(**{kind: objects}))[0] in ExitCode


def test_what_a_status_says_of_the_objects_themselves_depends_on_them():
    status = verdict.of(snapshot(), {})
    assert [service.view.name for service in status.services] == ["busy", "chat", "group", "late", "scaled", "stored"]
    assert verdict.of(snapshot(**{kind: [] for kind in lists()}), {}).services == ()


@pytest.mark.parametrize("kind", KINDS)
def test_an_unread_kind_is_never_a_service_that_serves_as_configured(kind):
    status = verdict.of(snapshot(**{kind: Unknown("it answered 403")}), {})
    assert status.exit_code in {ExitCode.UNKNOWN, ExitCode.FAILS}
    assert status.unread == {kind: "it answered 403"}
