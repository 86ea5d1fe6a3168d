"""Messages of the scheduler in all their forms. Those of Kubernetes 1.36 are made in tests/real/status."""

import pytest

from judging.status import node_fit, scheduling

USELESS = "preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling."
VICTIMS = (
    "preemption: 0/5 nodes are available: 2 No preemption victims found for incoming pod, 3 Preemption is not helpful."
)
FORMS = [
    (
        (
            "0/5 nodes are available: 2 Insufficient nvidia.com/gpu, 3 node(s) didn't match Pod's node "
            f"affinity/selector. no new claims to deallocate, {VICTIMS}"
        ),
        "5 nodes: 2 without enough nvidia.com/gpu, 3 with other labels",
    ),
    (
        (
            "0/3 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }, "
            f"2 Insufficient cpu. {USELESS}"
        ),
        "3 nodes: 1 tainted, 2 without enough cpu",
    ),
    (
        "0/4 nodes are available: 1 Too many pods, 3 node(s) were unschedulable.",
        "4 nodes: 1 with too many pods, 3 cordoned",
    ),
    ('persistentvolumeclaim "weights" not found', 'persistentvolumeclaim "weights" not found'),
    (
        '0/5 nodes are available: persistentvolumeclaim "weights" not found. not found',
        'persistentvolumeclaim "weights" not found',
    ),
    (
        f"0/5 nodes are available: pod has unbound immediate PersistentVolumeClaims. {USELESS}",
        "pod has unbound immediate PersistentVolumeClaims",
    ),
    ("0/2 nodes are available: 2 something new.", "2 nodes: 2 something new"),
    ("0/0 nodes are available: ", "the cluster has no node"),
    ("", ""),
]


@pytest.mark.parametrize(("message", "words"), FORMS, ids=range(len(FORMS)))
def test_a_message_of_the_scheduler_is_said_in_words(message, words):
    assert scheduling.refusal(message).words == words


def test_requests_are_those_of_the_scheduler():
    """Init containers run one after another, sidecars and main containers at once."""

    def container(**requests):
        return {
            "resources": {"requests": {name.replace("gpu", "nvidia.com/gpu"): text for name, text in requests.items()}}
        }

    sidecar = {**container(cpu="500m"), "restartPolicy": "Always"}
    spec = {
        "initContainers": [container(cpu="4"), sidecar],
        "containers": [container(cpu="1", gpu="2"), container(cpu="1")],
    }
    requested = node_fit.requests({"spec": spec})
    assert {name: float(number) for name, number in requested.items()} == {"cpu": 4.0, "nvidia.com/gpu": 2.0}


REPELLING = ["nvidia.com/gpu=present:NoSchedule"]
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
TOLERATIONS = {
    "none": ([], REPELLING),
    "exists": ([{"key": "nvidia.com/gpu", "operator": "Exists"}], []),
    "all": ([{"operator": "Exists"}], []),
    "other effect": (
        [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}],
        ["nvidia.com/gpu=present:NoSchedule"],
    ),
    "other value": ([{"key": "nvidia.com/gpu", "value": "absent"}], REPELLING),
    "same value": ([{"key": "nvidia.com/gpu", "value": "present"}], []),
}


@pytest.mark.parametrize("name", TOLERATIONS)
def test_taints_that_keep_a_pod_away_are_those_that_it_does_not_tolerate(name):
    tolerations, taints = TOLERATIONS[name]
    node = {"spec": {"taints": [TAINT, {"key": "soft", "effect": "PreferNoSchedule"}]}}
    assert [*node_fit.repelling_taints({"spec": {"tolerations": tolerations}}, node)] == taints
