"""Devices that nodes and quotas have for a change at its worst moment."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from judging.report import checks, growth, running
from judging.report.running import template
from manifests.assembly import objects, render
from models.upgrades import Upgrades
from planning.ground import turns
from planning.ground.cluster_facts import NOTHING_READ, LiveObject, LiveObjects, Unknown
from planning.ground.inventory import LiveNode, Nodes, Quota, Quotas, Requested, Slice, Slices, Taint
from planning.hardware import accelerators
from tests.support.stacks import lines, plan, tree

GPU, H100 = "nvidia.com/gpu", {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
NODE = LiveNode("gpu-0", H100, ready=True, cordoned=False, taints=(), devices={GPU: 8})
SERVICE = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 4}, "replicas": 2}
SURGE = {"rollout": {"type": "RollingUpdate", "maxSurge": 1}}
HPA = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
SCALED = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 4}, "autoscaling": HPA}
FREE = "are free on nodes of nvidia-h100-80gb"
ADD = "add nodes, lower {}, or write accelerators.nvidia-h100-80gb.provisioned: true if nodes come on demand"
NEEDS = "{} more nvidia.com/gpu are needed at the same time ({})"
AT = "services.qwen.accelerator"


def facts(*nodes, requested=0, **parts):
    names = {node.name: {GPU: requested} for node in nodes}
    return replace(NOTHING_READ, nodes=Nodes(nodes), requested=Requested(names), quotas=Quotas(()), **parts)


def present(stack, running=None, **changes):
    """Return a cluster in which a stack runs, and the change to another stack."""
    planned = plan(stack)
    made = {item.place: item.manifest for item in objects(render(planned))}
    templates = {place: template(place[1], made[place]) for place in made}
    live = {} if running is None else {item.place: LiveObject(item.manifest) for item in objects(render(plan(running)))}
    found = checks.ClusterBefore(NOTHING_READ, LiveObjects(live), accelerators.classes({}), templates)
    return planned, replace(found, **changes)


def told(stack, known, running=None, mode="strict", **changes):
    planned, found = present(stack, running, facts=known, **changes)
    problems = checks.judge(planned, found, mode)
    return lines(problems, "error"), lines(problems, "warning")


def short(number, pods, free, lower="replicas"):
    return (
        f"{AT}: {NEEDS.format(number, pods)}, but nodes lack places for some of these pods: {free} {FREE}; "
        + ADD.format(lower)
    )


def test_pods_of_a_new_service_need_places():
    stack = tree(qwen=SERVICE)
    assert told(stack, facts(NODE)) == ([], [])
    assert told(stack, facts(NODE, requested=1)) == ([short(8, "pods of qwen-decode: 2 × 4", 7)], [])
    assert told(stack, facts(NODE, requested=1), mode="warn") == ([], [short(8, "pods of qwen-decode: 2 × 4", 7)])
    assert told(stack, facts(NODE, requested=1), mode="skip") == ([], [])


@pytest.mark.parametrize(
    ("change", "free"),
    [
        ({"ready": False}, 0),
        ({"cordoned": True}, 0),
        ({"taints": (Taint("team", "search", "NoSchedule"),)}, 0),
        ({"labels": {}}, 0),
        ({"devices": {"amd.com/gpu": 8}}, 0),
        ({"devices": {GPU: 4}}, 4),
    ],
)
def test_devices_count_on_nodes_that_take_the_pods(change, free):
    stack = tree(qwen=SERVICE)
    assert told(stack, facts(replace(NODE, **change))) == ([short(8, "pods of qwen-decode: 2 × 4", free)], [])


def test_required_node_affinity_counts():
    zones = [replace(NODE, labels={**H100, "zone": zone}, name=zone) for zone in "ab"]
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    stack = tree(qwen={**SERVICE, "replicas": 4})
    assert told(stack, facts(*zones)) == ([], [])
    stack["services"]["qwen"]["pod"] = {"affinity": affinity}
    assert told(stack, facts(*zones)) == ([short(16, "pods of qwen-decode: 4 × 4", 8)], [])


def test_a_rollout_needs_its_surge_alone():
    running, known = tree(qwen={**SERVICE, **SURGE}), facts(NODE, requested=8)
    changed = tree(qwen={**SERVICE, **SURGE, "engine": {"args": ["--enforce-eager"]}})
    assert told(running, known, running) == ([], [])
    assert told(changed, known, running) == ([short(4, "pods of qwen-decode: 1 × 4", 0, "replicas or maxSurge")], [])
    changed["services"]["qwen"]["rollout"] = {"type": "Recreate"}
    assert told(changed, known, running) == ([], [])
    assert told(tree(qwen=SERVICE), known, running) == ([], [])


ANNOTATED = {"pod": {"annotations": {"example.com/a": "b"}}}
VARIABLE = {"engine": {"env": {"LEVEL": "b"}}}
CONTAINER = {"f:containers": {'k:{"name":"vllm"}': {".": {}, "f:env": {'k:{"name":"LEVEL"}': {"f:value": {}}}}}}
REMOVED = [
    (ANNOTATED, {"f:metadata": {"f:annotations": {"f:example.com/a": {}}}}),
    (VARIABLE, {"f:spec": CONTAINER}),
]


@pytest.mark.parametrize(("more", "fields"), REMOVED)
def test_pods_whose_template_loses_a_value_restart_as_others(more, fields):
    old, new = tree(qwen={**SERVICE, **SURGE, **more}), tree(qwen={**SERVICE, **SURGE})
    known, ours = facts(NODE, requested=8), ({"f:spec": {"f:template": fields}},)
    live = {item.place: LiveObject(item.manifest, ours=ours) for item in objects(render(plan(old)))}
    assert told(old, known, live=LiveObjects(live)) == ([], [])
    expected = short(4, "pods of qwen-decode: 1 × 4", 0, "replicas or maxSurge")
    assert told(new, known, live=LiveObjects(live)) == ([expected], [])


def test_templates_have_every_field_that_the_api_server_says_was_set():
    """As it answered: without any one field of a template, a field is missing."""
    lines = Path("tests/support/upgrades/d953a59/objects.jsonl").read_text(encoding="utf-8").splitlines()
    deployments = [each for each in map(json.loads, lines) if each["kind"] == "Deployment"]
    for each in deployments:
        content = template("Deployment", each)
        (fields,) = (
            running.template_fields("Deployment", entry["fieldsV1"]) for entry in each["metadata"]["managedFields"]
        )
        assert not growth.lacks(content, fields)
        for key in fields["f:spec"]:
            without = {
                **content,
                "spec": {name: value for name, value in content["spec"].items() if f"f:{name}" != key},
            }
            assert growth.lacks(without, fields), key
    assert len(deployments) > 5


def test_more_replicas_need_places_beside_those_that_run():
    known = facts(NODE, replace(NODE, name="gpu-1"), requested=5)
    larger = tree(qwen={**SERVICE, "replicas": 3})
    expected = short(4, "pods of qwen-decode: 1 × 4", 6, "replicas or maxSurge")
    assert told(larger, known, tree(qwen=SERVICE)) == ([expected], [])
    assert told(tree(qwen={**SERVICE, "replicas": 1}), known, tree(qwen=SERVICE)) == ([], [])


def test_a_generation_and_a_canary_need_places_beside_the_old_pods():
    roles = {"model": {"source": "hf://org/m"}, **SERVICE, "replicas": 1, "prefill": {}}
    changed = {**roles, "kvCache": {"blockSize": 128}}
    known = facts(NODE, replace(NODE, name="gpu-1"), requested=4)
    assert told(tree(qwen=changed), known, tree(qwen=roles)) == ([], [])
    errors, _ = told(tree(qwen=changed), facts(NODE, requested=8), tree(qwen=roles))
    assert len(errors) == 1
    assert errors[0].startswith("services: 8 more nvidia.com/gpu are needed at the same time (pods of qwen-")
    canary = {**SERVICE, "canary": {"weight": 10, "replicas": 1}}
    errors, _ = told(tree(qwen=canary), facts(NODE, requested=8), tree(qwen=SERVICE))
    needed = NEEDS.format(4, "pods of qwen-canary-decode: 1 × 4")
    lack = f"but nodes lack places for some of these pods: 0 {FREE}; {ADD.format('replicas')}"
    assert errors == [f"services.qwen.canary.accelerator: {needed}, {lack}"]


def test_the_largest_number_of_an_autoscaler_is_a_warning():
    known = facts(NODE)
    largest = (
        f"with the largest number of replicas, {NEEDS.format(16, 'pods of qwen-decode: 4 × 4')}, but nodes lack places"
    )
    remedy = "add nodes, or lower maxReplicas"
    assert told(tree(qwen=SCALED), known) == ([], [f"{AT}: {largest} for some of these pods: 8 {FREE}; {remedy}"])
    assert told(tree(qwen=SCALED), facts(NODE, requested=5))[0] == [short(4, "pods of qwen-decode: 1 × 4", 3)]


def test_pods_of_several_sizes_may_be_spread_too_thinly():
    nodes = [replace(NODE, name=name) for name in ("gpu-0", "gpu-1")]
    large = {**SERVICE, "replicas": 1, "parallelism": {"tensor": 8}}
    small = {**SERVICE, "replicas": 8, "parallelism": {"tensor": 1}}
    errors, warnings = told(tree(bert=small, qwen=large), facts(*nodes))
    needed = NEEDS.format(16, "pods of bert-decode: 8 × 1, pods of qwen-decode: 1 × 8")
    remedy = "free whole nodes, or add nodes"
    assert errors == []
    assert warnings == [f"services: {needed}, but nodes may lack places for some of these pods: 16 {FREE}; {remedy}"]


def test_nodes_that_come_on_demand_are_not_counted():
    stack = tree(qwen=SERVICE)
    assert told(stack, facts())[0] != []
    assert told(stack | {"accelerators": {"nvidia-h100-80gb": {"provisioned": True}}}, facts()) == ([], [])


def test_a_class_without_devices_needs_none():
    assert told(tree(qwen={"accelerator": "cpu"}), facts()) == ([], [])


def test_quotas_count_devices_and_pods():
    def limited(resource, hard, used):
        return replace(facts(NODE), quotas=Quotas((Quota("models", "gpus", {resource: hard}, {resource: used}),)))

    stack, what = tree(qwen=SERVICE), "namespace: quota gpus of namespace models has 10 {}, 3 are used, and {} more are"
    remedy = "needed at the same time; raise the quota, or lower replicas"
    assert told(stack, limited(f"requests.{GPU}", "11", "3")) == ([], [])
    expected = f"{what.format(f'requests.{GPU}', 8)} {remedy}"
    assert told(stack, limited(f"requests.{GPU}", "10", "3")) == ([expected], [])
    assert told(stack, limited("pods", "4", "3"))[0][0].startswith("namespace: quota gpus")
    assert told(stack, limited("pods", "5", "3")) == ([], [])
    _, warnings = told(tree(qwen={**SCALED, "autoscaling": {**HPA, "maxReplicas": 2}}), limited("pods", "4", "3"))
    assert warnings[0].endswith("raise the quota, or lower maxReplicas")


def test_claimed_devices_are_those_of_slices_and_nobody_knows_who_has_them():
    claim = {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com"}
    stack = tree(qwen={**SERVICE, "accelerator": "claimed"}) | {
        "accelerators": {"claimed": {"vendor": "nvidia", "allocation": claim}}
    }
    known = facts(NODE, slices=Slices((Slice("gpu", "gpu-0", "gpu-0", 8),)))
    assert told(stack, known) == ([], [])
    assert told(stack, replace(known, slices=Slices((Slice("gpu", "gpu-0", "gpu-0", 7),))))[0] != []


@pytest.mark.parametrize("live", [Unknown("no cluster"), LiveObjects({}, refused=("apps/v1/Deployment",))])
def test_if_nobody_knows_what_runs_only_what_never_fits_is_told(live):
    unknown, stack = {"live": live}, tree(qwen=SERVICE)
    assert told(stack, facts(NODE, requested=8), **unknown) == ([], [])
    assert told(tree(qwen={**SERVICE, "replicas": 3}), facts(NODE), **unknown)[0] != []


def test_unknown_nodes_are_told_to_those_who_are_strict():
    known = replace(NOTHING_READ, nodes=Unknown("no right"))
    expected = "capacity of the nodes for this change went unchecked: no right"
    assert told(tree(qwen=SERVICE), known) == ([], [expected])
    assert told(tree(qwen=SERVICE), known, mode="warn") == ([], [])


def test_larger_pods_may_get_the_devices_of_their_predecessors():
    larger = {**SERVICE, "parallelism": {"tensor": 8}, "replicas": 1}
    errors, warnings = told(tree(qwen=larger), facts(NODE, requested=8), tree(qwen=SERVICE))
    assert errors == []
    assert "nodes may lack places" in warnings[0]
    moved = {**SERVICE, "pod": {"nodeSelector": {"nvidia.com/gpu.product": "renamed"}}}
    assert told(tree(qwen=SERVICE), facts(NODE, requested=8), tree(qwen=moved))[0] == []
    other = {**SERVICE, "accelerator": "nvidia-l40s"}
    assert told(tree(qwen=other), facts(NODE, requested=8), tree(qwen=SERVICE))[0] != []


@pytest.mark.parametrize(("number", "needed"), [(1, 4), (2, 8), (3, 12)])
def test_services_that_restart_in_turns_need_places_for_the_surges_of_some(number, needed):
    services = {key: {**SERVICE, **SURGE} for key in ("a", "b", "c")}
    stack = tree(**{key: {**service, "engine": {"maxNumSeqs": 8}} for key, service in services.items()})
    run = turns.of(services, Upgrades.default(at_once=number))
    planned, found = present(stack, tree(**services), facts=facts(NODE, requested=8), turns=run)
    (problem,) = checks.judge(planned, found, "warn")
    assert f"{needed} more nvidia.com/gpu are needed at the same time" in str(problem)


@pytest.mark.parametrize(("number", "needed"), [(1, 4), (2, 8)])
def test_classes_that_share_a_resource_surge_in_turns_together(number, needed):
    l40s = replace(NODE, name="gpu-1", labels={"nvidia.com/gpu.product": "NVIDIA-L40S"})
    services = {"a": {**SERVICE, **SURGE}, "b": {**SERVICE, **SURGE, "accelerator": "nvidia-l40s"}}
    stack = tree(**{key: {**service, "engine": {"maxNumSeqs": 8}} for key, service in services.items()})
    run = turns.of(services, Upgrades.default(at_once=number))
    planned, found = present(stack, tree(**services), facts=facts(NODE, l40s, requested=8), turns=run)
    (problem,) = checks.judge(planned, found, "warn")
    assert f"{needed} more nvidia.com/gpu are needed at the same time" in str(problem)


@pytest.mark.parametrize(("number", "needed"), [(1, 1), (2, 2)])
def test_quotas_on_pods_count_the_surges_of_services_that_restart_at_once(number, needed):
    services = {key: {**SERVICE, **SURGE} for key in ("a", "b", "c")}
    stack = tree(**{key: {**service, "engine": {"maxNumSeqs": 8}} for key, service in services.items()})
    run = turns.of(services, Upgrades.default(at_once=number))
    quota = Quota("models", "pods", {"pods": "6"}, {"pods": "6"})
    known = replace(facts(replace(NODE, devices={GPU: 64})), quotas=Quotas((quota,)))
    planned, found = present(stack, tree(**services), facts=known, turns=run)
    (problem,) = checks.judge(planned, found, "warn")
    assert f"has 6 pods, 6 are used, and {needed} more are needed at the same time" in str(problem)
