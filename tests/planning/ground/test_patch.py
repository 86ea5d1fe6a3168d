"""A patch is the user's last word on a workload, short of its identity, its drain and its devices."""

import copy

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from models import cleartext
from models.paths import Path
from planning.ground import patch
from planning.ground.lifecycle import Drain
from planning.ground.patch import Limits

POD_TEMPLATE = """
metadata: {labels: {inference-stacks.io/service: qwen, llm-d.ai/role: decode}}
spec:
  terminationGracePeriodSeconds: 75
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  initContainers: [{name: model-unpack, image: kit}]
  containers:
  - name: vllm
    image: engine
    args: [--port=8000]
    env: [{name: HOME, value: /home}, {name: LEVEL, value: info}]
    ports: [{name: http, containerPort: 8000}]
    resources: {requests: {cpu: "4", nvidia.com/gpu: "2"}, limits: {memory: 48Gi, nvidia.com/gpu: "2"}}
    volumeMounts: [{name: model, mountPath: /models}, {name: home, mountPath: /home}]
  volumes: [{name: model, emptyDir: {sizeLimit: 20Gi}}, {name: home, emptyDir: {}}]
"""
METADATA = {
    "name": "qwen-decode",
    "namespace": "models",
    "labels": {"inference-stacks.io/service": "qwen"},
    "annotations": {"inference-stacks.io/profile": "qwen3-8b"},
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": METADATA,
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"inference-stacks.io/service": "qwen"}},
        "template": yaml.load(POD_TEMPLATE, yaml.CSafeLoader),
    },
}
GROUP = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "metadata": METADATA,
    "spec": {
        "replicas": 2,
        "leaderWorkerTemplate": {
            "size": 2,
            "leaderTemplate": yaml.load(POD_TEMPLATE, yaml.CSafeLoader),
            "workerTemplate": yaml.load(POD_TEMPLATE, yaml.CSafeLoader),
        },
    },
}
TEMPLATES = {
    "template": ("spec", "template"),
    "leaderTemplate": ("spec", "leaderWorkerTemplate", "leaderTemplate"),
    "workerTemplate": ("spec", "leaderWorkerTemplate", "workerTemplate"),
}
DEVICES = {"nvidia.com/gpu"}
DRAIN = Drain(pre_stop=15, engine=45, worker_pre_stop=60, grace=75)
PATCH = Path("services", "qwen", "patch")


def at(path, value):
    """Return a tree with a value at a path."""
    for part in reversed(path):
        value = {part: value}
    return value


def pod(**fields):
    return at(("spec", "template", "spec"), fields)


def container(**fields):
    return pod(containers=[{"name": "vllm", **fields}])


def patched(change, manifest=DEPLOYMENT):
    """Return the patched pod."""
    return patch.apply(manifest, change)["spec"]["template"]["spec"]


def told(change):
    return [str(problem) for problem in patch.problems(PATCH, change, Limits(DRAIN, "45s", DEVICES, {}))]


def paths(change):
    return [problem.partition(": ")[0].removeprefix("services.qwen.patch.") for problem in told(change)]


def test_maps_merge_and_null_removes():
    found = patched(pod(hostname="h", tolerations=None, securityContext={"runAsUser": 5, "fsGroup": None}))
    assert found["hostname"] == "h"
    assert "tolerations" not in found
    assert found["securityContext"] == {"runAsUser": 5}
    assert found["containers"] == DEPLOYMENT["spec"]["template"]["spec"]["containers"]


def test_named_items_merge_by_name_and_new_ones_come_last():
    change = pod(containers=[{"name": "log", "image": "l"}, {"name": "vllm", "image": "mine", "args": None}])
    (engine, log) = patched(change)["containers"]
    assert (engine["name"], engine["image"], "args" in engine) == ("vllm", "mine", False)
    assert engine["ports"] == [{"name": "http", "containerPort": 8000}]
    assert log == {"name": "log", "image": "l"}


def test_mounts_merge_by_their_path():
    mounts = [{"mountPath": "/home", "name": "other"}, {"mountPath": "/extra", "name": "home"}]
    (engine,) = patched(container(volumeMounts=mounts))["containers"]
    assert engine["volumeMounts"] == [
        {"name": "model", "mountPath": "/models"},
        {"name": "other", "mountPath": "/home"},
        {"name": "home", "mountPath": "/extra"},
    ]


@pytest.mark.parametrize(
    ("change", "field", "found"),
    [
        (pod(tolerations=[{"key": "x"}]), "tolerations", [{"key": "x"}]),
        (pod(tolerations=[]), "tolerations", []),
        (container(args=["--other"]), "args", ["--other"]),
        (container(command=["sh"]), "command", ["sh"]),
    ],
)
def test_other_lists_are_replaced_whole(change, field, found):
    (engine,) = patched(change)["containers"]
    assert (patched(change) | engine)[field] == found


def test_a_variable_is_replaced_whole_in_its_place():
    source = {"configMapKeyRef": {"name": "c", "key": "k"}}
    env = [{"name": "HOME", "valueFrom": source}, {"name": "NEW", "value": "1"}]
    (engine,) = patched(container(env=env))["containers"]
    assert engine["env"] == [{"name": "HOME", "valueFrom": source}, {"name": "LEVEL", "value": "info"}, env[1]]


def test_a_volume_of_another_kind_replaces_the_source_and_one_of_the_same_kind_merges():
    claim = {"claimName": "weights"}
    home = {"name": "home", "emptyDir": {"medium": "Memory"}}
    model = {"name": "model", "persistentVolumeClaim": claim}
    assert patched(pod(volumes=[home, model]))["volumes"] == [model, home]
    merged = patched(pod(volumes=[{"name": "model", "emptyDir": {"medium": "Memory"}}]))["volumes"][0]
    assert merged == {"name": "model", "emptyDir": {"sizeLimit": "20Gi", "medium": "Memory"}}


def test_both_pods_of_a_group_can_be_patched():
    change = {"leaderTemplate": {"spec": {"hostname": "l"}}, "workerTemplate": {"spec": {"hostname": "w"}}}
    found = patch.apply(GROUP, {"spec": {"leaderWorkerTemplate": change}})["spec"]["leaderWorkerTemplate"]
    assert [found[name]["spec"]["hostname"] for name in ("leaderTemplate", "workerTemplate")] == ["l", "w"]
    assert found["workerTemplate"]["spec"]["containers"][0]["image"] == "engine"
    assert found["size"] == 2


def test_a_drain_that_is_cut_short_is_refused_in_the_users_terms():
    (problem,) = told(pod(terminationGracePeriodSeconds=30))
    assert problem == (
        "services.qwen.patch.spec.template.spec.terminationGracePeriodSeconds: "
        "cuts the drain short (30; drainTimeout 45s needs 75); remove it or lower drainTimeout"
    )
    assert told(pod(terminationGracePeriodSeconds=75)) == []
    assert ["null" in problem for problem in told(pod(terminationGracePeriodSeconds=None))] == [True]


@pytest.mark.parametrize("name", ["vllm", "engine"])
@pytest.mark.parametrize(
    ("hook", "what"),
    [
        (None, "drops the pause before the engine ends (lifecycle.preStop)"),
        ({"preStop": None}, "drops the pause before the engine ends (lifecycle.preStop)"),
        ({"preStop": {"sleep": None}}, "drops the pause before the engine ends (lifecycle.preStop.sleep)"),
        (
            {"preStop": {"sleep": {"seconds": 14}}},
            "shortens the pause before the engine ends (14; 15 seconds are needed)",
        ),
        (
            {"preStop": {"sleep": {"seconds": None}}},
            "shortens the pause before the engine ends (null; 15 seconds are needed)",
        ),
    ],
)
def test_a_pause_before_the_end_can_be_neither_dropped_nor_cut_short(name, hook, what):
    """See defects B4."""
    (problem,) = told(pod(containers=[{"name": name, "lifecycle": hook}]))
    assert problem == (
        f"services.qwen.patch.spec.template.spec.containers[0]: {what}; "
        "remove it: requests still arrive after a pod's deletion"
    )


@pytest.mark.parametrize(
    "container",
    [
        {"name": "vllm", "lifecycle": {"preStop": {"sleep": {"seconds": 15}}}},
        {"name": "vllm", "lifecycle": {"preStop": {"sleep": None, "exec": {"command": ["/drain"]}}}},
        {"name": "vllm", "lifecycle": {"postStart": None}},
        {"name": "log", "lifecycle": None},
    ],
)
def test_a_pause_may_be_longer_or_another_hook(container):
    assert told(pod(containers=[container])) == []


def test_a_worker_pauses_as_long_as_its_leader_drains():
    """See defects B4."""
    hook = {"preStop": {"sleep": {"seconds": 59}}}
    change = at((*TEMPLATES["workerTemplate"], "spec"), {"containers": [{"name": "vllm", "lifecycle": hook}]})
    (problem,) = told(change)
    assert "(59; 60 seconds are needed)" in problem


REFUSED = [
    (("apiVersion",), "apps/v2"),
    (("kind",), "StatefulSet"),
    (("metadata", "name"), "other"),
    (("metadata", "namespace"), "other"),
    (("metadata", "labels", "inference-stacks.io/service"), "other"),
    (("metadata", "annotations", "inference-stacks.io/profile"), "other"),
    (("spec", "selector"), {"matchLabels": {"x": "y"}}),
    (("spec", "replicas"), 3),
    (("spec", "leaderWorkerTemplate", "size"), 3),
    (("status",), {}),
    *(
        (template + path, value)
        for template in TEMPLATES.values()
        for path, value in [
            (("metadata", "labels", "inference-stacks.io/role"), "x"),
            (("metadata", "labels", "llm-d.ai/role"), "x"),
            (("spec", "terminationGracePeriodSeconds"), 74),
        ]
    ),
]


@pytest.mark.parametrize(("path", "value"), REFUSED, ids=lambda part: ".".join(part) if isinstance(part, tuple) else "")
def test_what_is_decided_elsewhere_can_be_neither_set_nor_removed(path, value):
    assert paths(at(path, value)) == [".".join(path)]
    assert paths(at(path, None)) == [".".join(path)]


KEPT = [
    ("metadata",),
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("spec",),
    ("spec", "leaderWorkerTemplate"),
    *((*template, *path) for template in TEMPLATES.values() for path in [(), ("metadata",), ("metadata", "labels")]),
    *((*template, *path) for template in TEMPLATES.values() for path in [("spec",), ("spec", "containers")]),
]


@pytest.mark.parametrize("path", KEPT, ids=".".join)
@pytest.mark.parametrize("value", [None, 5, "x"])
def test_what_holds_the_object_together_stays(path, value):
    assert paths(at(path, value)) == [".".join(path)]


def test_replicas_are_referred_to_their_field():
    assert told(at(("spec", "replicas"), 3)) == ["services.qwen.patch.spec.replicas: has its own key; set replicas"]


@pytest.mark.parametrize(
    "change",
    [
        {"$patch": "delete"},
        pod(containers=[{"name": "vllm", "$patch": "delete"}]),
        pod(**{"$setElementOrder/containers": []}),
    ],
)
def test_directives_are_refused(change):
    assert ["is a directive of another patch format ($" in problem for problem in told(change)] == [True]


def test_devices_are_refused_with_their_field():
    change = container(resources={"limits": {"nvidia.com/gpu": 4, "memory": "64Gi"}})
    (problem,) = told(change)
    assert problem == (
        "services.qwen.patch.spec.template.spec.containers[0].resources.limits: "
        "sets a device that parallelism decides (nvidia.com/gpu: 4); remove it and set parallelism.tensor: 4"
    )
    assert told(container(resources={"limits": {"memory": None}, "requests": {"cpu": "1"}})) == []


@pytest.mark.parametrize(
    "resources",
    [None, {"limits": None}, {"requests": None}, {"limits": {"nvidia.com/gpu": None}}, {"claims": None}, {"limits": 1}],
)
def test_devices_cannot_be_removed(resources):
    assert len(told(container(resources=resources))) == 1


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (pod(containers=[{"image": "x"}]), "has an item without name (item 0)"),
        (pod(volumes=[{"name": "a"}, 5]), "has an item without name (item 1)"),
        (container(volumeMounts=[{"name": "model"}]), "has an item without mountPath (item 0)"),
        (container(env=[{"name": "A"}, {"name": "A"}]), "has two items with the same name (A)"),
        (container(ports=[{"name": "a"}, {"name": "a"}]), "has two items with the same name (a)"),
    ],
)
def test_items_need_names_and_one_each(change, what):
    (problem,) = told(change)
    assert what in problem


def test_a_credential_in_clear_is_refused_and_not_echoed():
    change = container(env=[{"name": "A", "value": "x"}, {"name": "HF_TOKEN", "value": "hunter2"}])
    (problem,) = map(str, cleartext.problems({"services": {"qwen": {"patch": change}}}))
    assert problem.startswith(
        "services.qwen.patch.spec.template.spec.containers[0].env[1]: holds a credential in clear;"
    )
    assert "hunter2" not in problem


def test_what_the_user_wrote_is_found_again_in_the_patched_object():
    change = pod(
        volumes=[{"name": "new", "emptyDir": {}}, {"name": "home", "emptyDir": {}}],
        containers=[{"name": "log", "image": "l"}, {"name": "vllm", "env": [{"name": "LEVEL", "value": "x"}]}],
        tolerations=[{"key": "a"}],
    )
    inside, at_pod = ("spec", "template", "spec"), "services.qwen.patch.spec.template.spec"
    origins = patch.origins(PATCH, change, patch.apply(DEPLOYMENT, change))
    assert {place: str(path) for place, path in origins.items()} == {
        (): "services.qwen.patch",
        **leaves((*inside, "volumes", 2), f"{at_pod}.volumes[0]", "name"),
        **leaves((*inside, "volumes", 1), f"{at_pod}.volumes[1]", "name"),
        **leaves((*inside, "containers", 1), f"{at_pod}.containers[0]", "name", "image"),
        **leaves((*inside, "containers", 0), f"{at_pod}.containers[1]", "name"),
        **leaves((*inside, "containers", 0, "env", 1), f"{at_pod}.containers[1].env[0]", "name", "value"),
        **leaves((*inside, "tolerations", 0), f"{at_pod}.tolerations[0]", "key"),
    }


def leaves(place, path, *keys):
    """Return the origins of an item and of its fields that are no mappings and no lists."""
    return {place: path, **{(*place, key): f"{path}.{key}" for key in keys}}


WORDS = st.sampled_from(["qwen", "vllm", "model", "home", "HOME", "other", "inference-stacks.io/service"])
LEAVES = st.one_of(st.none(), st.integers(0, 90), WORDS)
KEYS = st.sampled_from(
    [
        *(
            "metadata",
            "spec",
            "template",
            "labels",
            "annotations",
            "name",
            "namespace",
            "selector",
            "replicas",
            "$patch",
        ),
        *("containers", "volumes", "volumeMounts", "mountPath", "env", "args", "image", "emptyDir"),
        *("resources", "requests", "limits", "nvidia.com/gpu", "inference-stacks.io/service"),
    ]
)
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))
NAMED = st.lists(
    st.builds(lambda name, more: {**more, "name": name}, WORDS, st.dictionaries(KEYS, ANYTHING, max_size=2)),
    max_size=2,
)
AMOUNTS = LEAVES | st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), LEAVES, max_size=2)
RESOURCES = LEAVES | st.fixed_dictionaries({}, optional={"requests": AMOUNTS, "limits": AMOUNTS})
SIZED = st.lists(st.fixed_dictionaries({"name": WORDS, "resources": RESOURCES}), max_size=2)
POD = st.fixed_dictionaries(
    {},
    optional={
        "containers": NAMED | SIZED | ANYTHING,
        "volumes": NAMED | ANYTHING,
        "tolerations": ANYTHING,
        "terminationGracePeriodSeconds": st.integers(70, 80) | st.none(),
    },
)
META = st.fixed_dictionaries(
    {}, optional={"labels": st.dictionaries(WORDS, LEAVES, max_size=2), "name": WORDS, "annotations": ANYTHING}
)
TEMPLATE = st.fixed_dictionaries({}, optional={"metadata": META, "spec": POD})
SPEC = st.fixed_dictionaries({}, optional={"template": TEMPLATE | LEAVES, "selector": ANYTHING, "replicas": LEAVES})
PATCHES = st.one_of(
    st.dictionaries(KEYS, ANYTHING, max_size=3),
    st.fixed_dictionaries({}, optional={"metadata": META, "spec": SPEC}),
    st.fixed_dictionaries({"spec": st.fixed_dictionaries({"template": st.fixed_dictionaries({"spec": POD})})}),
)


@given(change=PATCHES)
def test_what_makes_the_object_survives_every_accepted_patch(change):
    if told(change):
        return
    found = patch.apply(DEPLOYMENT, change)
    assert [found[key] for key in ("apiVersion", "kind")] == ["apps/v1", "Deployment"]
    for key in ("name", "namespace"):
        assert found["metadata"][key] == METADATA[key]
    assert found["spec"]["selector"] == DEPLOYMENT["spec"]["selector"]
    assert found["spec"]["replicas"] == 2
    for metadata in (found["metadata"], found["spec"]["template"]["metadata"]):
        assert metadata["labels"]["inference-stacks.io/service"] == "qwen"
    inside = found["spec"]["template"]["spec"]
    assert inside["terminationGracePeriodSeconds"] >= 75
    assert inside["containers"][0]["name"] == "vllm"
    resources = inside["containers"][0]["resources"]
    assert [resources[field]["nvidia.com/gpu"] for field in ("requests", "limits")] == ["2", "2"]


def test_the_survival_of_the_object_is_not_taken_for_granted():
    found = patch.apply(DEPLOYMENT, {"metadata": {"labels": None, "name": "x"}, "spec": {"selector": None}})
    assert found["metadata"]["name"] == "x"
    assert "labels" not in found["metadata"]
    assert "selector" not in found["spec"]


@given(change=PATCHES)
def test_applying_a_patch_twice_is_applying_it_once_and_leaves_its_inputs_alone(change):
    manifest, before = copy.deepcopy(DEPLOYMENT), copy.deepcopy(change)
    once = patch.apply(manifest, change)
    assert patch.apply(once, change) == once
    assert (manifest, change) == (DEPLOYMENT, before)


@given(change=PATCHES)
def test_every_origin_is_a_place_in_the_object_and_in_the_patch(change):
    if told(change):
        return
    for place, path in patch.origins(PATCH, change, patch.apply(DEPLOYMENT, change)).items():
        inside = patch.apply(DEPLOYMENT, change)
        for part in place:
            inside = inside[part]
        assert path.is_within(PATCH)


@pytest.mark.parametrize("manifest", [DEPLOYMENT, GROUP], ids=["Deployment", "LeaderWorkerSet"])
def test_an_empty_patch_changes_nothing(manifest):
    assert patch.apply(manifest, {}) == manifest
    assert patch.apply(manifest, {"spec": {}, "metadata": {"labels": {}}}) == manifest
    assert told({}) == []
