"""Mistakes in what users add to serving pods, at the paths as they wrote them."""

import pytest

from models.problems import ConfigError
from tests.support.stacks import plan, tree

AT = "services.qwen.pod"
IMAGE = {"image": "r.example/tool:v1"}


def problems(**pod):
    """Return the errors of a stack, or else its warnings."""
    try:
        return [str(problem) for problem in plan(tree(qwen={"pod": pod})).warnings]
    except ConfigError as error:
        return [str(problem) for problem in error.problems]


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        (
            {"volumes": {"a": {"type": "empty-dir", "mountPath": "/models/a"}}},
            "volumes.a.mountPath: is the folder of the weights, or below it (/models/a); choose another path",
        ),
        (
            {"volumes": {name: {"type": "empty-dir", "mountPath": "/x"} for name in ("a", "b")}},
            "volumes.b.mountPath: is the path of volume a as well (/x); choose another path",
        ),
        (
            {"containers": {"tool": {**IMAGE, "mounts": {"gone": "/x"}}}},
            (
                "containers.tool.mounts.gone: is no volume of these pods (gone); "
                "name one of pod.volumes (pod.volumes has none)"
            ),
        ),
        *(
            (
                {
                    "volumes": {name: {"type": "empty-dir"} for name in ("a", "b")},
                    field: {"tool": {**IMAGE, "mounts": {"a": "/x", "b": "/x"}}},
                },
                f"{field}.tool.mounts.b: is the path of volume a as well (/x); choose another path",
            )
            for field in ("initContainers", "containers")
        ),
        *(
            (
                {field: {"tool": {**IMAGE, "resources": {"limits": {"nvidia.com/gpu": "1"}}}}},
                (
                    f"{field}.tool.resources.limits: sets a device that parallelism decides (nvidia.com/gpu: 1); "
                    "remove it"
                ),
            )
            for field in ("initContainers", "containers")
        ),
        (
            {"containers": {"tool": {**IMAGE, "resources": {"requests": {"memory": "64"}}}}},
            ("containers.tool.resources.requests.memory: is 64 bytes; write the number with its unit, such as 16Gi"),
        ),
        (
            {"containers": {"tool": {**IMAGE, "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}}},
            "containers.tool.resources.requests.cpu: is above its limit (2, 1); raise the limit",
        ),
        *(
            (
                {"volumes": {"a": {"type": "config-map", "mountPath": "/a", "files": {name: "x"}}}},
                (
                    f"volumes.a.files.{name}: is no name of a file; "
                    "use letters, digits, '-', '_' and '.', such as config.yaml"
                ),
            )
            for name in ("..data", "..", ".")
        ),
        (
            {"volumes": {"a": {"type": "config-map", "mountPath": "/a", "files": {"f" * 190: "x"}}}},
            f"volumes.a.files.{'f' * 190}: is 190 characters long; write at most 189",
        ),
        (
            {"volumes": {"a": {"type": "config-map", "mountPath": "/a", "files": "hunter2"}}},
            "volumes.a.files: is not a mapping; write keys with values below it",
        ),
        *(
            (
                {
                    "volumes": {
                        "a": {
                            "type": "csi",
                            "mountPath": "/a",
                            "source": {"driver": "d", "volumeAttributes": {name: "hunter2-Correct"}},
                        }
                    }
                },
                (
                    f"volumes.a.source.volumeAttributes.{name}: holds a credential in clear; "
                    "put it into an existing Secret, and name the Secret in nodePublishSecretRef beside "
                    "volumeAttributes"
                ),
            )
            for name in ("password", "api-key", "accountKey")
        ),
        (
            {"containers": {"tool": IMAGE}, "initContainers": {"tool": IMAGE}},
            "containers.tool: has the name of one of initContainers (tool); choose another name",
        ),
        (
            {"containers": {"tool": {**IMAGE, "ports": [8000]}}},
            "containers.tool.ports[0]: is taken by the requests of clients (8000; engine.port); choose another port",
        ),
        (
            {"containers": {"tool": {**IMAGE, "runAsUser": 7, "privileges": {"reason": "x", "root": True}}}},
            (
                "containers.tool.runAsUser: is the user of a container that runs as root (7); "
                "remove it, or remove privileges.root"
            ),
        ),
        (
            {"volumes": {"a": {"type": "config-map", "mountPath": "/a", "files": {"f": "x" * (2**20 + 1)}}}},
            (
                "volumes.a.files: makes 1048577 bytes of files for this role, and a ConfigMap holds 1048576; "
                "use a claim or an image for large files"
            ),
        ),
        (
            {"volumes": {"a": {"type": "config-map"}}},
            "volumes.a: needs the name of a ConfigMap, or files, and not both; write one of them",
        ),
    ],
)
def test_a_mistake_is_refused_at_its_path(pod, message):
    assert f"{AT}.{message}" in problems(**pod)


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        (
            {"volumes": {"a": {"type": "empty-dir"}}},
            "volumes.a: is mounted nowhere; write mountPath, or name it in mounts of a container",
        ),
        (
            {"privileges": {"reason": "x", "capabilities": ["IPC_LOCK"]}},
            (
                "privileges.capabilities: has no effect on processes of a user other than root (IPC_LOCK); "
                "set root: true, or remove it"
            ),
        ),
    ],
)
def test_what_has_no_effect_is_warned_of(pod, message):
    assert f"{AT}.{message}" in problems(**pod)


def test_pods_in_the_network_of_the_node_are_warned_of_beside_network_policies():
    def warned(settings, **privileges):
        stack = tree(qwen={"pod": {"privileges": {"reason": "x", **privileges}}}) | settings
        return [str(problem) for problem in plan(stack).warnings if "networkPolicies" in str(problem)]

    guarded = {"networkPolicies": {}}
    assert warned(guarded, hostNetwork=True) == [
        (
            f"{AT}.privileges.hostNetwork: takes the pods out of networkPolicies, whose selectors do not match pods in "
            "the node's network; remove it, or remove networkPolicies"
        )
    ]
    assert warned({}, hostNetwork=True) == []
    assert warned(guarded, hostIPC=True) == []


@pytest.mark.parametrize(
    "pod",
    [
        {
            "volumes": {
                "a": {"type": "config-map", "mountPath": "/a", "files": {".env": "x", "f..": "x", "f" * 189: "x"}}
            }
        },
        {
            "volumes": {name: {"type": "empty-dir"} for name in ("a", "b")},
            "containers": {"tool": {**IMAGE, "mounts": {"a": "/x", "b": "/x/y"}}},
        },
        {"containers": {"tool": {**IMAGE, "resources": {"limits": {"memory": "64Mi", "rdma/ib": "1"}}}}},
        {
            "volumes": {
                "a": {
                    "type": "csi",
                    "mountPath": "/a",
                    "source": {
                        "driver": "d",
                        "nodePublishSecretRef": {"name": "driver-password"},
                        "volumeAttributes": {
                            "secretName": "storage-key",
                            "secretProviderClass": "keys",
                            "bucketName": "b",
                        },
                    },
                }
            }
        },
    ],
)
def test_what_resembles_a_mistake_is_accepted(pod):
    assert [line for line in problems(**pod) if line.startswith(AT)] == []


def test_capabilities_of_root_are_not_warned_of():
    pod = {"privileges": {"reason": "x", "capabilities": ["IPC_LOCK"], "root": True}}
    assert not any("no effect on processes" in line for line in problems(**pod))
