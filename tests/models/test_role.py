"""Roles: probes that fit their interval, rollouts that replace pods, and pods that are never root."""

import pytest

from models.containers import Resources
from models.health import Health
from models.role import Pod, RollingUpdate
from tests.support.stacks import mistakes, tree


@pytest.mark.parametrize(
    ("service", "message"),
    [
        (
            {"health": {"interval": "5s", "timeout": "6s"}},
            (
                "health: a probe may take longer than the time between two probes (timeout 6s, interval 5s); lower "
                "timeout or raise interval"
            ),
        ),
        (
            {"health": {"timeout": "999ms"}},
            "health: has an interval or timeout of less than a second; write 1s or more",
        ),
        (
            {"rollout": {"type": "RollingUpdate", "maxSurge": 0, "maxUnavailable": 0}},
            "rollout: can never replace a pod (maxSurge 0, maxUnavailable 0); raise one of them",
        ),
        (
            {"pod": {"runAsUser": 0}},
            "pod.runAsUser: is not a whole number from 1 to 2147483647 (0); write a user id above 0; root is refused",
        ),
        (
            {"pod": {"supplementalGroups": [0]}},
            (
                "pod.supplementalGroups[0]: is not a whole number from 1 to 2147483647 (0); write the id of a group "
                "that nodes have, above 0"
            ),
        ),
        (
            {"engine": {"gpuMemoryUtilization": 90}},
            "engine.gpuMemoryUtilization: is not above 0 and at most 1 (90); write a share such as 0.9",
        ),
        (
            {"engine": {"args": ["--a=\0"]}},
            "engine.args[0]: has a NUL character; remove it: no argument of a process may contain NUL",
        ),
        (
            {"resources": {"requests": {"cpu": "four"}}},
            (
                "resources.requests.cpu: is not a Kubernetes quantity (four); write a number with an optional unit, "
                "such as 500m or 16Gi"
            ),
        ),
        (
            {"acceleratorMemory": 160},
            "acceleratorMemory: is 160 bytes; write the number with its unit, such as 16Gi",
        ),
    ],
)
def test_a_mistaken_role_is_refused(service, message):
    assert mistakes(tree(qwen=service)) == [f"services.qwen.{message}"]


@pytest.mark.parametrize(
    "health", [{"interval": "1s", "timeout": "1s"}, {"interval": "1500ms", "timeout": "2000ms"}, {}]
)
def test_a_probe_may_take_the_whole_interval_in_whole_seconds(health):
    assert Health.model_validate(health).explicit_fields == set(health)


def test_a_rollout_replaces_one_replica_after_another_without_further_devices():
    rollout = RollingUpdate.model_validate({"type": "RollingUpdate"})
    assert (rollout.max_surge, rollout.max_unavailable) == (0, 1)
    assert RollingUpdate.model_validate({"type": "RollingUpdate", "maxUnavailable": 0, "maxSurge": 1}).max_surge == 1


def test_pods_have_an_ordinary_user_and_a_quantity_may_be_a_number():
    pod = Pod.model_validate({})
    assert (pod.run_as_user, pod.fs_group, pod.supplemental_groups) == (1000, 1000, None)
    assert Resources.model_validate({"requests": {"cpu": 4}}).requests == {"cpu": "4"}
