"""Words for what happens to pods: every row of the table, and minutes from bytes."""

import pytest

from judging.report import growth, running, words
from judging.report.words import fate
from planning.hardware import accelerators
from tests.support.stacks import exactly, plan, rendered, tree

HPA = {"type": "hpa", "minReplicas": 2, "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
SURGE = {"rollout": {"type": "RollingUpdate", "maxSurge": 1, "maxUnavailable": 0}}
SURGE_AND_LESS = {"rollout": {"type": "RollingUpdate", "maxSurge": 1, "maxUnavailable": 1}}
RECREATE = {"rollout": {"type": "Recreate"}}
NO_WORDS = "maxSurge: 1 with maxUnavailable: 0 avoids it"


def service(size="140Gi", **keys):
    return {"model": {"name": "org/model", "source": "kit://registry.example/org/model:v1", "size": size}, **keys}


def change(before, after, *, restarts=True):
    """Return the change of a workload; `before` is the service that runs, or none."""
    (planned,) = growth.changes(plan(tree(qwen=after)), {}, {})
    if before is None:
        return planned
    manifest = exactly(rendered(tree(qwen=before)), planned.place[1], planned.place[3])
    old = running.of_object(planned.place[1], manifest, accelerators.classes({}))
    (found,) = growth.changes(plan(tree(qwen=after)), {planned.place: old}, {planned.place: restarts})
    return found


ROWS = [
    ("delete", None, {}, {"beside": True}, "ends when the new generation is ready", None),
    ("delete", None, {}, {}, "removed", None),
    (
        "replace", {}, {}, {"beside": True},
        "replaced under another name · the old pods end when the new ones are ready · about 16 min", None,
    ),
    ("replace", {}, {}, {}, "replaced · **unavailable for about 18 min**", 18),
    (
        "create", None, {}, {"beside": True},
        "new generation beside the old · requests move when it is ready · about 16 min", None,
    ),
    ("create", None, {}, {}, "new · ready in about 16 min", None),
    ("update", {"replicas": 0}, {"replicas": 2}, {}, "starts 2 replicas · ready in about 16 min", None),
    ("update", {"replicas": 0}, {"replicas": 0}, {}, "nothing runs, so nothing restarts", None),
    ("update", {"replicas": 1}, {"replicas": 3}, {"restarts": False}, "replicas 1 → 3 · nothing restarts", None),
    ("update", {"replicas": 1}, {"replicas": 1}, {"restarts": False}, "nothing restarts", None),
    (
        "update", {"replicas": 3}, {"replicas": 3, **RECREATE}, {},
        "all end before the first starts · **unavailable for about 18 min**", 18,
    ),
    ("update", {}, {}, {}, "no replica stays ready · **unavailable for about 18 min**", 18),
    ("update", {"replicas": 4}, {"replicas": 4}, {}, "restarts 1 by 1 · at least 3 of 4 ready · about 69 min", None),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "before", "after", "more", "text", "outage"), ROWS)
def test_each_row_of_the_table(operation, before, after, more, text, outage):
    old = None if before is None else service(**before)
    found = change(old, service(**after), restarts=more.get("restarts", True))
    verdict = fate(operation, found, "140Gi", beside=more.get("beside", False))
    assert (verdict.text, verdict.outage) == (text, outage)


def test_every_row_has_a_case():
    begun = [row.words.partition("{")[0] for row in words.rows()]
    assert len(words.rows()) == len(ROWS)
    assert all(any(text.startswith(start) for *_, text, _ in ROWS) for start in begun)


@pytest.mark.parametrize(
    ("before", "after", "ready"),
    [
        ({"replicas": 1}, {"replicas": 1}, 0),
        ({"replicas": 1}, {"replicas": 2}, 1),
        ({"replicas": 2}, {"replicas": 2}, 1),
        ({"replicas": 4}, {"replicas": 2}, 1),
        ({"replicas": 1}, {"replicas": 1, **SURGE}, 1),
        ({"replicas": 1}, {"replicas": 1, **SURGE_AND_LESS}, 0),
        ({"replicas": 3}, {"replicas": 3, **RECREATE}, 0),
        ({"autoscaling": HPA}, {"autoscaling": HPA}, 1),
        ({"autoscaling": {**HPA, "minReplicas": 1}}, {"autoscaling": {**HPA, "minReplicas": 1}}, 0),
    ],
)
def test_replicas_that_stay_ready_are_those_of_the_rollout(before, after, ready):
    assert words.ready(change(service(**before), service(**after))) == ready


def test_an_outage_has_advice_that_avoids_it():
    assert fate("update", change(service(), service()), "1Gi").remedy == f"replicas: 2, or {NO_WORDS}"
    for better in ({"replicas": 2}, SURGE):
        assert fate("update", change(service(), service(**better)), "1Gi").outage is None


def test_minutes_follow_from_bytes_and_end_at_the_deadline():
    found = change(service(), service())
    minutes = [fate("update", found, size).outage for size in ("1Gi", "140Gi", "700Gi", None)]
    assert minutes == [4, 18, 74, 124]
    assert fate("update", found, None).text == "no replica stays ready · **unavailable for up to 124 min**"


def test_weights_on_a_claim_are_not_fetched_by_pods():
    stored = service(storage={"type": "dedicated"})
    assert fate("create", change(None, stored), "140Gi").text == "new · ready in about 7 min"


def test_a_surge_starts_while_old_pods_drain():
    small = service(drainTimeout="10m")
    waiting = fate("update", change(small, {**small, "replicas": 1}), "1Gi").outage
    surging = fate("update", change(small, {**small, **SURGE_AND_LESS}), "1Gi").outage
    assert (waiting, surging) == (13, 3)
