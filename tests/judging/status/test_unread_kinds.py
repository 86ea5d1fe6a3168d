"""A kind that could not be read makes a status unknown, or changes nothing: it never makes another verdict."""

import pytest

from judging.status import needs, verdict
from judging.status.verdict import ExitCode
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import (
    AUTOSCALER,
    CLAIM,
    DEPLOYMENT,
    GATEWAY,
    JOB,
    KINDS,
    LEASE,
    POD,
    POOL,
    ROUTE,
    Snapshot,
)
from tests.support.captured_objects import NOW, programmed

SERVICES = ("busy", "chat", "group", "late", "scaled", "stored")


def without(kind, prefix):
    """Return a change that removes the objects of a kind whose names begin with a prefix."""

    def change(objects):
        objects[kind] = [item for item in objects[kind] if not item["metadata"]["name"].startswith(prefix)]

    return change


def changed(kind, prefix, **fields):
    """Return a change that updates the fields of the objects of a kind whose names begin with a prefix."""

    def change(objects):
        for item in objects[kind]:
            if item["metadata"]["name"].startswith(prefix):
                for name, value in fields.items():
                    item[name] = {**item.get(name, {}), **value}

    return change


def condition(name, status, reason, message=""):
    times = {"lastTransitionTime": "2026-11-28T01:50:00Z", "observedGeneration": 1}
    return {"type": name, "status": status, "reason": reason, "message": message, **times}


REFUSED = condition(
    "ReplicaFailure", "True", "FailedCreate", 'pods "x" is forbidden: exceeded quota: gpus, requested: '
)
CRASH = {"name": "vllm", "restartCount": 9, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}
UNREADY = {"conditions": [condition("Ready", "False", "ContainersNotReady")], "containerStatuses": [CRASH]}
OFF = {"conditions": [condition("Programmed", "False", "Invalid"), condition("Accepted", "False", "Invalid")]}
OTHERS = {"matchLabels": {"inference-stacks.io/service": "nobody"}}
CHANGES = {
    "as captured": without(POD, "nothing"),
    "gateway off": changed(GATEWAY, "gateway", status=OFF),
    "gateway missing": without(GATEWAY, "gateway"),
    "route missing": without(ROUTE, "chat"),
    "route missing, and the pool selects nobody": lambda objects: (
        without(ROUTE, "chat")(objects),
        changed(POOL, "chat-c4e12", spec={"selector": OTHERS})(objects),
    ),
    "route and picker missing": lambda objects: (
        without(ROUTE, "chat")(objects),
        without(DEPLOYMENT, "chat-c4e12-epp")(objects),
    ),
    "route missing, and pods crash": lambda objects: (
        without(ROUTE, "chat")(objects),
        changed(POD, "chat-c4e12-decode", status=UNREADY)(objects),
    ),
    "pool missing": without(POOL, "chat"),
    "workload missing": without(DEPLOYMENT, "chat-c4e12-decode"),
    "picker missing": without(DEPLOYMENT, "chat-c4e12-epp"),
    "picker stopped": changed(DEPLOYMENT, "chat-c4e12-epp", spec={"replicas": 0}),
    "pods missing": without(POD, "chat-c4e12-decode"),
    "pods refused": lambda objects: (
        without(POD, "chat-c4e12-decode")(objects),
        changed(DEPLOYMENT, "chat-c4e12-decode", status={"conditions": [REFUSED]})(objects),
    ),
    "pods crash": changed(POD, "chat-c4e12-decode", status=UNREADY),
    "canary's pods crash": changed(POD, "chat-canary-c4e12-decode", status=UNREADY),
    "picker's pods crash": changed(POD, "chat-c4e12-epp", status=UNREADY),
    "claim lost": lambda objects: (
        changed(CLAIM, "stored", status={"phase": "Lost"})(objects),
        changed(POD, "stored-decode", status=UNREADY)(objects),
    ),
    "claim unfilled": lambda objects: (
        changed(JOB, "stored", status={"conditions": [condition("Failed", "True", "BackoffLimitExceeded")]})(objects),
        changed(POD, "stored-decode", status=UNREADY)(objects),
    ),
    "autoscaler blind": changed(
        AUTOSCALER, "busy", status={"conditions": [condition("ScalingActive", "False", "FailedGetPodsMetric")]}
    ),
}


def records(objects):
    """Return what is told of each service: exit code, whether it serves, and the culprit."""
    whole = verdict.of(Snapshot(NOW, objects), {})
    return {name: record(whole.only(None, [name])) for name in SERVICES}


def record(status):
    culprits = [
        (service.serves, service.culprit and (service.culprit.state.id, service.culprit.object))
        for service in status.services
    ]
    return status.exit_code, culprits


def test_a_service_only_waits_if_no_kind_that_may_be_to_blame_is_unread():
    objects = programmed()
    changed(GATEWAY, "gateway", status=OFF, metadata={"creationTimestamp": f"{NOW:%Y-%m-%dT%H:%M:%SZ}"})(objects)
    waiting = record(verdict.of(Snapshot(NOW, objects), {}).only(None, ["chat"]))
    assert waiting[0] is ExitCode.DEGRADED
    without(DEPLOYMENT, "chat-c4e12-epp")(objects)
    assert record(verdict.of(Snapshot(NOW, objects), {}).only(None, ["chat"]))[0] is ExitCode.FAILS
    unread = {**objects, DEPLOYMENT: Unknown("it answered 403")}
    assert record(verdict.of(Snapshot(NOW, unread), {}).only(None, ["chat"])) == (ExitCode.UNKNOWN, [(None, None)])


def is_same(verdict_now, whole):
    """Tell whether a verdict is unknown or another one's equal, as an exit code and for every service."""
    code, services = verdict_now
    if code is not ExitCode.UNKNOWN and verdict_now != whole:
        return False
    return all(serves in {None, other} for (serves, _), (other, _) in zip(services, whole[1], strict=True))


def others(change):
    """Return the verdicts of a broken stack, and those that differ with one kind unread without being unknown."""
    objects = programmed()
    change(objects)
    whole = records(objects)
    differing = {
        (kind, name): found
        for kind in KINDS
        for name, found in records({**objects, kind: Unknown("it answered 403")}).items()
        if not is_same(found, whole[name])
    }
    return whole, differing


@pytest.mark.parametrize("name", CHANGES)
def test_without_a_kind_the_verdict_is_the_same_or_unknown(name):
    whole, differing = others(CHANGES[name])
    assert differing == {}
    assert any(code is ExitCode.FAILS for code, _ in whole.values())


def test_a_judgement_that_trusts_what_is_left_would_blame_others(monkeypatch):
    monkeypatch.setattr(needs, "of", lambda *_: ())
    wrong = {name for name, change in CHANGES.items() if others(change)[1]}
    assert len(wrong) > len(CHANGES) / 2


def test_a_kind_without_a_part_in_the_verdict_changes_nothing():
    objects = programmed()
    CHANGES["pods refused"](objects)
    whole = records(objects)["chat"]
    assert whole[0] is ExitCode.FAILS
    assert records({**objects, LEASE: Unknown("it answered 403")})["chat"] == whole
    CHANGES["gateway off"](objects)
    for kind in (POD, LEASE, AUTOSCALER, CLAIM, JOB):
        assert records({**objects, kind: Unknown("it answered 403")})["chat"][0] is ExitCode.FAILS


def test_a_healthy_service_is_unknown_without_any_kind():
    objects = programmed()
    assert records(objects)["chat"][0] is ExitCode.SERVES
    for kind in KINDS:
        assert records({**objects, kind: Unknown("it answered 403")})["chat"][0] is ExitCode.UNKNOWN
