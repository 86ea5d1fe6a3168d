"""OtterScale's ModelService, the workload: that we have none of its weaknesses.

Names begin with the weakness's id (W). `docs/deviations.md` lists where we differ on purpose.
"""

import json
import re
from pathlib import PurePosixPath

import pytest

from models.vocabulary import amount
from planning.releases import channels
from tests.support.stacks import PIN, exactly, find, plain, rendered, tree
from tests.support.stacks.otterscale import PROBES, deployment, kind, pod
from tests.support.stacks.shapes import (
    EVERY,
    SPANNING,
    containers,
    engine,
    every_rendering,
    every_stack,
    fetching,
    flag,
    label,
    model_servers,
    serving,
    sidecars,
    templates,
    told,
    values,
    volumes,
)

SHELLS = {"sh", "ash", "bash", "dash", "zsh", "busybox"}
WORKLOADS = {
    "Deployment": lambda spec: spec["strategy"].get("rollingUpdate", {}),
    "LeaderWorkerSet": lambda spec: spec["rolloutStrategy"]["rollingUpdateConfiguration"],
}
"""How a workload rolls, by its kind."""


@every_rendering
def test_w1_probes_ask_the_engine_itself_also_behind_the_sidecar(everything):
    for template in serving(everything):
        container = engine(template)
        (port,) = (entry["containerPort"] for entry in container["ports"])
        assert [container[probe]["httpGet"]["port"] for probe in PROBES] == [port] * 3
        assert port not in [entry["containerPort"] for proxy in sidecars(template) for entry in proxy["ports"]]
        assert container["name"] != "vllm" or flag(container, "--port") == str(port)


def test_w1_the_sidecar_answers_health_on_the_services_port_and_the_engine_on_its_own():
    template = pod({"prefill": {}, "sidecar": {"enginePort": 8300}})
    assert engine(template)["readinessProbe"]["httpGet"] == {"path": "/v1/models", "port": 8300}
    (proxy,) = sidecars(template)
    assert [port["containerPort"] for port in proxy["ports"]] == [8000]


@every_rendering
def test_w2_shared_memory_and_a_writable_home(everything):
    for template in model_servers(everything):
        mounts = {mount["mountPath"]: mount for mount in engine(template)["volumeMounts"]}
        shared = volumes(template)[mounts["/dev/shm"]["name"]]["emptyDir"]
        assert shared["medium"] == "Memory"
        assert amount(shared["sizeLimit"]) >= 2**30
        home = mounts[values(engine(template))["HOME"]]
        assert "emptyDir" in volumes(template)[home["name"]]
        assert not home.get("readOnly")


@every_rendering
def test_w3_user_and_group_are_said_and_the_volumes_are_theirs(everything):
    for template in model_servers(everything):
        context = template["spec"]["securityContext"]
        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] > 0
        assert context["fsGroup"] == context["runAsGroup"] > 0
        assert all(
            not {"runAsUser", "runAsGroup"} & container["securityContext"].keys() for container in containers(template)
        )


@pytest.mark.parametrize(
    ("name", "size"), [("mi300x", "62Gi"), ("hub", "10Gi"), ("bucket", "10Gi"), ("signed-kit-with-adapters", "20Gi")]
)
def test_w4_the_nodes_disk_is_asked_for_and_bounded(name, size):
    needed = amount(size) * 11 / 10
    for template in model_servers(rendered(EVERY[name])):
        brought = {container["volumeMounts"][0]["name"] for container in fetching(template)}
        limits = [amount(volumes(template)[volume]["emptyDir"]["sizeLimit"]) for volume in brought]
        assert needed <= sum(limits) < needed + len(limits) * 2**30 + amount("1Gi")
        # A pod reserves the largest request of its init containers, which run one after the other.
        assert (
            max(amount(container["resources"]["requests"]["ephemeral-storage"]) for container in fetching(template))
            >= needed
        )


@every_rendering
def test_w4_what_fetches_says_what_it_needs_and_a_restart_finishes_what_was_begun(everything):
    for template in model_servers(everything):
        for container in fetching(template):
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
            assert "memory" in container["resources"]["limits"]
            if "KITOPS_HOME" in values(container):
                assert "-o" in container.get("command", ()) or values(container)["EXTRA_FLAGS"] == "--overwrite"


def test_w4_a_claim_is_mounted_and_nothing_is_fetched():
    (template,) = serving(rendered(EVERY["claim"]))
    assert fetching(template) == []
    model = volumes(template)["model"]["persistentVolumeClaim"]
    assert model == {"claimName": "weights", "readOnly": True}


@every_stack
def test_w5_pods_and_selectors_know_no_version_release_or_hash_of_ours(stack):
    release = stack.get("release", "llm-d-0.10")
    for manifest in rendered(stack):
        assert "app.kubernetes.io/version" not in json.dumps(manifest)
    for template in templates(rendered(stack)):
        annotations = template["metadata"].get("annotations", {})
        # Checksums of what a pod reads once are no version of ours: they change with that, and with nothing else.
        others = {key: value for key, value in annotations.items() if not key.startswith("checksum/")}
        text = json.dumps({**template["metadata"], "annotations": others})
        assert release not in text
        assert not re.search(r"[0-9a-f]{16}|v?\d+\.\d+\.\d+", text)


@pytest.mark.parametrize(
    "shape",
    [{}, SPANNING, {"accelerator": "cpu"}, {"accelerator": "claimed"}],
    ids=["one", "spanning", "cpu", "claimed"],
)
def test_w5_a_change_of_release_changes_no_selector_and_no_label_or_annotation_of_a_model_pod(shape):
    def identity(release):
        claimed = {"vendor": "nvidia", "allocation": {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com"}}
        everything = rendered({**tree(qwen=shape), "release": release, "accelerators": {"claimed": claimed}})
        pods = [template["metadata"] for template in model_servers(everything)]
        selectors = [
            (manifest["kind"], manifest["metadata"]["name"], manifest["spec"]["selector"])
            for manifest in everything
            if "selector" in manifest.get("spec", {})
        ]
        workloads = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in everything]
        return pods, selectors, workloads

    first, *others = [identity(release) for release in channels()]
    assert others
    assert all(other == first for other in others)


@every_stack
def test_w6_no_pod_is_added_while_rolling_unless_it_was_asked_for(stack):
    asked = "maxSurge" in json.dumps(stack)
    for manifest in rendered(stack):
        if label(manifest, "app.kubernetes.io/component") != "model-server" or manifest["kind"] not in WORKLOADS:
            continue
        strategy = WORKLOADS[manifest["kind"]](manifest["spec"])
        assert asked or strategy.get("maxSurge", 0) == 0
        assert asked or strategy in ({"maxSurge": 0, "maxUnavailable": 1}, {})


def test_w6_the_strategy_can_be_chosen():
    surge = {"type": "RollingUpdate", "maxSurge": 1, "maxUnavailable": 0}
    expected = {"maxSurge": 1, "maxUnavailable": 0}
    assert deployment({"rollout": surge})["spec"]["strategy"] == {"type": "RollingUpdate", "rollingUpdate": expected}
    assert deployment({"rollout": {"type": "Recreate"}})["spec"]["strategy"] == {"type": "Recreate"}
    group = find(rendered(tree(qwen={**SPANNING, "rollout": surge})), "LeaderWorkerSet", "qwen-decode")
    assert WORKLOADS["LeaderWorkerSet"](group["spec"]) == expected
    assert told(tree(qwen={**SPANNING, "rollout": {"type": "Recreate"}}))[0].startswith("services.qwen.rollout.type:")


@pytest.mark.parametrize("shape", [{}, SPANNING], ids=["Deployment", "LeaderWorkerSet"])
@pytest.mark.parametrize("replicas", [None, 0, 1, 7])
def test_w7_a_fixed_number_of_replicas_is_written(shape, replicas):
    """Fixed numbers are ours to write; leaving `replicas` out of the object belongs to autoscaling."""
    given = {} if replicas is None else {"replicas": replicas}
    (workload,) = [
        workload for workload in rendered(tree(qwen={**shape, **given}))
        if workload["metadata"]["name"] == "qwen-decode" and workload["kind"] in WORKLOADS
    ]  # fmt: skip
    assert workload["spec"]["replicas"] == (1 if replicas is None else replicas)


LOOP = ["sh", "-c", 'trap exit TERM; until "$0" "$@" & wait "$!"; do sleep 30 & wait "$!"; done']
"""The script repeats a fetch of a group; no value is in it, and it passes each as a token."""


@every_rendering
def test_w8_nothing_that_fetches_runs_a_shell(everything):
    """Only groups repeat a fetch, by a loop whose text never changes."""
    for template in model_servers(everything):
        for container in fetching(template):
            command = container.get("command", [])
            tokens = [*(command[3:] if command[:3] == LOOP else command), *container.get("args", [])]
            assert not {PurePosixPath(token).name for token in tokens} & SHELLS
            assert "-c" not in tokens
            assert not any(mark in token for token in tokens for mark in ("\n", ";", "&&", "|", "$"))


def test_w8_the_reference_is_one_token_that_no_source_can_turn_into_a_flag():
    (container,) = fetching(pod({}))
    assert container["command"][:3] == ["kit", "unpack", f"registry.example/org/model@{PIN}"]
    for source in ("kit://-o/org/model:v1", "hf://-x/model", "s3://-bucket/model", "pvc://-claim"):
        (message,) = told(tree(qwen={"model": {"name": "org/model", "source": source}}))
        assert message.startswith("services.qwen.model.source: is not")


@pytest.mark.parametrize("name", ["one-pod", "private-kit", "signed-kit-with-adapters", "mi300x", "canary"])
def test_w9_kit_finds_the_file_that_keeps_it_from_asking_for_updates(name):
    for template in model_servers(rendered(EVERY[name])):
        kits = [container for container in fetching(template) if "KITOPS_HOME" in values(container)]
        assert kits
        for container in kits:
            file = f"{values(container)['KITOPS_HOME']}/disable-update-notifications"
            (mount,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == file]
            (item,) = volumes(template)[mount["name"]]["downwardAPI"]["items"]
            assert item["path"] == mount["subPath"] == "disable-update-notifications"


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ({"replicas": 1}, []),
        ({"replicas": 2}, [("qwen-decode", 1)]),
        ({"replicas": 2, "disruptionBudget": {"maxUnavailable": 0}}, [("qwen-decode", 0)]),
        ({"replicas": 2, "disruptionBudget": {"enabled": False}}, []),
        ({"replicas": 1, "prefill": {"replicas": 2}}, [("qwen-prefill", 1)]),
        ({**SPANNING, "replicas": 2}, [("qwen-decode", 1)]),
    ],
)
def test_w10_more_than_one_replica_has_a_disruption_budget(service, expected):
    everything = rendered(tree(qwen=service))
    budgets = kind(everything, "PodDisruptionBudget")
    assert [(plain(budget["metadata"]["name"]), budget["spec"]["maxUnavailable"]) for budget in budgets] == expected
    workloads = {manifest["metadata"]["name"] for manifest in everything if manifest["kind"] in WORKLOADS}
    assert {budget["metadata"]["name"] for budget in budgets} <= workloads


@every_rendering
def test_w10_a_budget_covers_pods_of_one_role(everything):
    for budget in kind(everything, "PodDisruptionBudget"):
        selector = budget["spec"]["selector"]["matchLabels"]
        name = budget["metadata"]["name"]
        if any(group["metadata"]["name"] == name for group in kind(everything, "LeaderWorkerSet")):
            assert selector == {"leaderworkerset.sigs.k8s.io/name": name}
        else:
            assert selector == exactly(everything, "Deployment", name)["spec"]["selector"]["matchLabels"]


def test_w10_pods_can_be_spread_and_the_pods_of_the_role_are_what_is_spread():
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    spec = deployment({"pod": {"topologySpreadConstraints": [spread]}})["spec"]
    assert spec["template"]["spec"]["topologySpreadConstraints"] == [{"labelSelector": spec["selector"], **spread}]
