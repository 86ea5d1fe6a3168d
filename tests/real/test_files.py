"""ConfigMaps with files of volumes, which run beside each other until no pod needs the former one."""

import pytest

from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.leader import WAITING, is_ready

pytestmark = pytest.mark.real

QUICK = {"health": {"startupTimeout": "10s"}, "drainTimeout": "1s", "replicas": 2}


def stack(namespace, text, volume="settings", annotations=None):
    files = {"type": "config-map", "mountPath": "/etc/engine", "files": {"engine.yaml": text}}
    pod = {"volumes": {volume: files}, "annotations": annotations or {}}
    return in_namespace(namespace, qwen={**QUICK, "pod": pod})


def maps(deployed, namespace):
    """Return the ConfigMaps with files, by name."""
    return {
        name: item["data"]
        for name, item in deployed.named("configmaps", namespace).items()
        if name.startswith("qwen-decode")
    }


def decode_pods(deployed, namespace):
    """Return the decode pods, by name, with the ConfigMap that each one mounts and whether it is ready."""
    return {
        name: (volume["configMap"]["name"], is_ready(pod))
        for name, pod in deployed.named("pods", namespace).items()
        for volume in pod["spec"]["volumes"]
        if name.startswith("qwen-decode") and "configMap" in volume and "deletionTimestamp" not in pod["metadata"]
    }


def test_other_files_come_before_their_pods_and_the_former_ones_go_after_theirs(deploy):
    name = "files"
    deployed = deploy(stack(name, "a: 1\n"))
    deployed.up()
    deployed.assert_unchanged()
    (former,) = maps(deployed, name)
    deployed.write(stack(name, "a: 1\n", volume="renamed"))
    operations = deployed.operate()
    (new,) = maps(deployed, name)
    assert operations.done == {new: "create", "qwen-decode": "update", former: "delete"}
    operations.assert_order({new}, {"qwen-decode"}, {former})
    assert maps(deployed, name) == {new: {"renamed.engine.yaml": "a: 1\n"}}
    assert list(decode_pods(deployed, name).values()) == [(new, True)] * 2
    deployed.assert_unchanged()


def test_a_failed_rollout_leaves_the_former_files_to_the_pods_that_serve_on(deploy):
    name = "stuck-files"
    deployed = deploy(stack(name, "a: 1\n"))
    deployed.alter("planning/ground/lifecycle.py", _MIN_FETCH=5, WAIT_MARGIN=15)
    deployed.up()
    before = maps(deployed, name)
    ((former, data),) = before.items()
    deployed.write(stack(name, "a: 2\n", annotations=WAITING))
    failed, operations = deployed.attempt()
    assert failed.returncode != 0
    assert operations.of("qwen-decode").ended is None
    assert former not in operations.done
    assert maps(deployed, name)[former] == data == {"settings.engine.yaml": "a: 1\n"}
    assert (former, True) in decode_pods(deployed, name).values()
    # The former files are in use again, and only those of the failed run go.
    deployed.write(stack(name, "a: 1\n"))
    operations = deployed.operate()
    assert "create" not in operations.done.values()
    assert operations.done["qwen-decode"] == "update"
    assert maps(deployed, name) == before
    deployed.assert_unchanged()
