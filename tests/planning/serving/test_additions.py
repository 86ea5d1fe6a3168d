"""Volumes, containers and privileges that users add to serving pods, as they are rendered."""

import re

import pytest

from manifests import assembly
from planning.ground import parts
from tests.support.stacks import find, plan, rendered, tree

FILES = {"type": "config-map", "files": {"a.yaml": "x: 1\n", "b.yaml": ""}, "mountPath": "/etc/engine"}
ROOT = {"reason": "it loads a module", "root": True, "privileged": True}


def pod(**settings):
    """Return the template of the decode pods, and all objects."""
    everything = rendered(tree(qwen={"pod": settings}))
    return find(everything, "Deployment", "qwen-decode")["spec"]["template"], everything


def volume(spec):
    template, _ = pod(volumes={"extra": spec})
    engine = template["spec"]["containers"][0]
    (source,) = [volume for volume in template["spec"]["volumes"] if volume["name"] == "extra"]
    mounts = [mount for mount in engine["volumeMounts"] if mount["name"] == "extra"]
    return {key: value for key, value in source.items() if key != "name"}, mounts


@pytest.mark.parametrize(
    ("spec", "source"),
    [
        ({"type": "config-map", "name": "given"}, {"configMap": {"name": "given"}}),
        ({"type": "secret", "name": "given"}, {"secret": {"secretName": "given"}}),
        ({"type": "claim", "claimName": "given"}, {"persistentVolumeClaim": {"claimName": "given"}}),
        ({"type": "empty-dir", "sizeLimit": "1Gi"}, {"emptyDir": {"sizeLimit": "1Gi"}}),
        ({"type": "empty-dir", "medium": "Memory"}, {"emptyDir": {"medium": "Memory"}}),
        ({"type": "host-path", "path": "/mnt"}, {"hostPath": {"path": "/mnt", "type": "Directory"}}),
        ({"type": "csi", "source": {"driver": "csi.example.com"}}, {"csi": {"driver": "csi.example.com"}}),
        ({"type": "image", "reference": "r.example/files:v1"}, {"image": {"reference": "r.example/files:v1"}}),
    ],
)  # fmt: skip
def test_a_volume_of_each_type_has_its_source_and_its_mount(spec, source):
    is_read_only = spec["type"] in {"config-map", "secret", "image"}
    mount = {"name": "extra", "mountPath": "/extra", "subPath": "part"} | ({"readOnly": True} if is_read_only else {})
    assert volume({**spec, "mountPath": "/extra", "subPath": "part"}) == (source, [mount])


def files(**volumes):
    """Return the ConfigMap with the files of the decode pods, its logical name, and the ConfigMaps that pods name."""
    components = assembly.render(plan(tree(qwen={"pod": {"volumes": volumes}})))
    ((name, config_map),) = (
        (f"{component.name}-{item.suffix}", item.manifest)
        for component in components
        for item in component.objects
        if item.id.part is parts.DECODE.files
    )
    template, _ = pod(volumes=volumes)
    sources = [volume["configMap"] for volume in template["spec"]["volumes"] if "configMap" in volume]
    return config_map, name, sources


def test_files_are_in_a_config_map_that_the_pods_name():
    config_map, name, (source,) = files(config=FILES)
    assert config_map["data"] == {"config.a.yaml": "x: 1\n", "config.b.yaml": ""}
    assert [item["path"] for item in source["items"]] == ["a.yaml", "b.yaml"]
    assert {item["key"] for item in source["items"]} == config_map["data"].keys()
    assert source["name"] == config_map["metadata"]["name"]
    assert re.fullmatch(r"qwen-decode-files-[0-9a-f]{8}", source["name"]) is not None
    assert name == source["name"]


@pytest.mark.parametrize(
    "other",
    [{"config": {**FILES, "files": {**FILES["files"], "a.yaml": "x: 2\n"}}}, {"renamed": FILES}],
    ids=["text", "volume"],
)
def test_other_files_are_in_another_config_map_so_that_pods_keep_the_one_they_have(other):
    config_map, name, (source,) = files(config=FILES)
    other_map, other_name, (other_source,) = files(**other)
    assert config_map["data"] != other_map["data"]
    assert source["name"] != other_source["name"]
    assert name != other_name


def test_a_config_map_keeps_its_name_if_only_its_mount_changes():
    moved, name, (source,) = files(config={**FILES, "mountPath": "/elsewhere"})
    config_map, first_name, (first_source,) = files(config=FILES)
    assert (moved, name, source) == (config_map, first_name, first_source)


def test_files_of_several_volumes_are_in_one_config_map_beside_an_existing_one():
    _, _, sources = files(
        config=FILES, given={"type": "config-map", "name": "given"}, more={**FILES, "mountPath": "/etc/more"}
    )
    first, given, more = sources
    assert given == {"name": "given"}
    assert first["name"] == more["name"]
    assert [item["key"] for item in more["items"]] == ["more.a.yaml", "more.b.yaml"]


def test_privileges_reach_the_engine_alone_and_say_their_reason():
    privileges = {"reason": "RDMA pins memory", "capabilities": ["IPC_LOCK"], "root": True, "unconfined": True}
    template, _ = pod(privileges=privileges | {"hostIPC": True, "hostNetwork": True, "hostPID": True})
    spec = template["spec"]
    assert spec["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"add": ["IPC_LOCK"]},
        "runAsUser": 0,
        "runAsGroup": 0,
        "runAsNonRoot": False,
        "seccompProfile": {"type": "Unconfined"},
    }
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert (spec["hostIPC"], spec["hostNetwork"], spec["hostPID"]) == (True, True, True)
    assert spec["dnsPolicy"] == "ClusterFirstWithHostNet"
    reason = template["metadata"]["annotations"]["inference-stacks.io/privileges-reason"]
    assert reason == "vllm: RDMA pins memory"


def test_pods_without_privileges_have_none():
    template, _ = pod()
    assert template["spec"]["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostIPC", "hostNetwork", "hostPID", "dnsPolicy"} & template["spec"].keys()


def test_further_containers_run_before_and_beside_the_engine():
    setup = {"image": "r.example/setup:v1", "command": ["setup"], "args": ["--fast"], "privileges": ROOT}
    exporter = {
        "image": "r.example/exporter:v1",
        "ports": [9100],
        "env": {"LEVEL": "2"},
        "resources": {"limits": {"memory": "64Mi"}},
        "runAsUser": 7,
        "mounts": {"config": "/config"},
    }
    template, _ = pod(
        volumes={"config": {"type": "empty-dir"}}, initContainers={"setup": setup}, containers={"exporter": exporter}
    )
    first, *_ = template["spec"]["initContainers"]
    assert (first["name"], first["command"], first["args"]) == ("setup", ["setup"], ["--fast"])
    assert first["securityContext"] == {
        "privileged": True, "runAsUser": 0, "runAsGroup": 0, "runAsNonRoot": False
    }  # fmt: skip
    engine, beside = template["spec"]["containers"]
    assert (engine["name"], beside["name"]) == ("vllm", "exporter")
    assert beside["ports"] == [{"containerPort": 9100, "protocol": "TCP"}]
    assert beside["env"] == [{"name": "LEVEL", "value": "2"}]
    assert beside["securityContext"]["runAsUser"] == 7
    assert beside["volumeMounts"] == [{"name": "config", "mountPath": "/config"}]
    assert "config" not in [mount["name"] for mount in engine["volumeMounts"]]


def test_all_pods_of_a_group_have_the_additions():
    service = {"parallelism": {"pipeline": 2}, "pod": {"volumes": {"config": FILES}}}
    group = find(rendered(tree(qwen=service)), "LeaderWorkerSet", "qwen-decode")["spec"]["leaderWorkerTemplate"]
    _, name, _ = files(config=FILES)
    for template in ("leaderTemplate", "workerTemplate"):
        (source,) = [volume for volume in group[template]["spec"]["volumes"] if volume["name"] == "config"]
        assert source["configMap"]["name"] == name
