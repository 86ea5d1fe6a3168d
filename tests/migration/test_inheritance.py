"""Sections that inherit: what has to be stated."""

from typing import Any

import pytest

from migration import inheritance

LIMITS = {"limits": {"cpu": "8", "memory": "1Gi"}}
RECREATE = {"type": "Recreate"}
ROLLING = {"type": "RollingUpdate", "maxSurge": 1}
SECRET = {"secretKeyRef": {"name": "a", "key": "b"}}


@pytest.mark.parametrize(
    ("inherited", "target", "stated"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        ({"a": 1}, {}, {"a": None}),
        ({"a": None}, {}, {}),
        ({"resources": LIMITS}, {}, {"resources": {"limits": {"cpu": None, "memory": None}}}),
        ({"resources": LIMITS}, {"resources": {"limits": {"cpu": "8"}}}, {"resources": {"limits": {"memory": None}}}),
        ({"replicas": 3, "autoscaling": {"type": "hpa"}}, {}, {}),
        ({"replicas": 3}, {"replicas": 3}, {"replicas": 3}),
        ({"rollout": RECREATE}, {}, {"rollout": None}),
        ({"rollout": RECREATE}, {"rollout": ROLLING}, {"rollout": ROLLING}),
        ({"pod": {"affinity": {"nodeAffinity": {}}}}, {}, {"pod": {"affinity": None}}),
        ({"prefill": {"replicas": 2}}, {}, {"prefill": None}),
        ({"pod": {"privileges": {"reason": "r", "root": True}}}, {}, {"pod": {"privileges": None}}),
        (
            {"engine": {"env": {"A": SECRET}}},
            {"engine": {"env": {"B": "1"}}},
            {"engine": {"env": {"B": "1", "A": None}}},
        ),
        ({"env": {"A": SECRET}}, {"env": {"A": {"fieldRef": {}}}}, {"env": {"A": {"fieldRef": {}}}}),
        ({"engine": {"args": ["--a"]}}, {"engine": {}}, {"engine": {"args": None}}),
        (
            {"engine": {"args": ["--a", "--b=1"]}},
            {"engine": {"args": ["--b=2"]}},
            {"engine": {"args": ["--b=2"], "withoutArgs": ["--a"]}},
        ),
    ],
)
def test_only_what_differs_is_stated(inherited: dict[str, Any], target: dict[str, Any], stated: dict[str, Any]) -> None:
    """Equal values are inherited, others are stated, and null removes what is not target."""
    assert inheritance.differing(inherited, target) == stated
