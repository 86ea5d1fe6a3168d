"""Autoscaling of a role: what is said, what is rendered of it, and what zerfoo's and aim-engine's tables say of it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import registration
from judging import validation
from judging.preflight.kinds import kinds
from manifests.assembly import objects, render
from models.problems import ConfigError
from planning import outputs
from planning.ground import lifecycle, parts
from planning.ground.cluster_facts import ClusterFacts, Served
from planning.ground.order import Id
from planning.releases import channel, channels
from tests.support.stacks import find, lines, plan, rendered, tree
from tests.support.stacks.shapes import SPANNING, told

QUEUE = [{"type": "queue-size", "target": 5}]
HPA = {"type": "hpa", "maxReplicas": 4, "metrics": QUEUE}
KEDA = {"type": "keda", "maxReplicas": 4, "metrics": QUEUE}
PROMETHEUS = {"observability": {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}}
BASE = "services.qwen"
BESIDE = (
    "has no effect, because autoscaling decides the number (2); delete it, or write replicas: null here to drop the "
    "inherited value"
)


def stack(**service):
    return tree(qwen=service) | PROMETHEUS


def one(kind, name="qwen-decode", **service):
    return find(rendered(stack(**service)), kind, name)["spec"]


def hpa(*metrics, **more):
    return one(
        "HorizontalPodAutoscaler", autoscaling={**HPA, **({"metrics": list(metrics)} if metrics else {}), **more}
    )


def keda(*metrics, **more):
    return one("ScaledObject", autoscaling={**KEDA, **({"metrics": list(metrics)} if metrics else {}), **more})


def by_id(**service):
    return {each.id.part: each for each in objects(render(plan(stack(**service))))}


# --- the workload


@pytest.mark.parametrize("shape", [{}, SPANNING], ids=["deployment", "group"])
@pytest.mark.parametrize("scaling", [HPA, KEDA], ids=["hpa", "keda"])
def test_the_number_is_absent_and_ignored_wherever_an_autoscaler_owns_it(shape, scaling):
    made = by_id(**shape, autoscaling=scaling, prefill={"replicas": 3})
    scaled, fixed = made[parts.DECODE.workload], made[parts.PREFILL.workload]
    assert "replicas" not in scaled.manifest["spec"]
    assert scaled.ignore == ("spec.replicas",)
    assert fixed.manifest["spec"]["replicas"] == 3
    assert fixed.ignore == ()


@pytest.mark.parametrize("scaling", [HPA, KEDA], ids=["hpa", "keda"])
def test_the_autoscaler_comes_after_the_workload_that_it_scales(scaling):
    made = by_id(autoscaling=scaling, prefill={"autoscaling": scaling})
    for part, workload in (
        (parts.DECODE.autoscaler, parts.DECODE.workload),
        (parts.PREFILL.autoscaler, parts.PREFILL.workload),
    ):
        assert made[part].after == (Id("qwen", workload),)
        name = made[part].manifest["metadata"]["name"]
        assert (
            made[part].manifest["spec"]["scaleTargetRef"]["name"] == name == made[workload].manifest["metadata"]["name"]
        )


def test_prefill_does_not_take_over_the_autoscaling_of_its_service():
    made = by_id(autoscaling=HPA, prefill={})
    assert parts.PREFILL.autoscaler not in made
    assert made[parts.PREFILL.workload].manifest["spec"]["replicas"] == 1


def test_defaults_give_prefill_an_autoscaler_of_its_own():
    inherited = tree(qwen={}) | {"defaults": {"prefill": {"autoscaling": HPA}}}
    made = {each.id.part for each in objects(render(plan(inherited)))}
    assert parts.PREFILL.autoscaler in made
    assert parts.DECODE.autoscaler not in made


@pytest.mark.parametrize(("max_replicas", "exists"), [(1, False), (2, True)])
def test_a_budget_is_there_where_more_than_one_replica_is_possible(max_replicas, exists):
    assert (parts.DECODE.budget in by_id(autoscaling={**HPA, "maxReplicas": max_replicas})) is exists


@pytest.mark.parametrize("scaling", [HPA, KEDA], ids=["hpa", "keda"])
def test_a_deployment_run_waits_for_as_many_replicas_as_there_may_be(scaling):
    scaled = by_id(autoscaling=scaling)[parts.DECODE.workload].wait.seconds
    assert scaled == by_id(replicas=4)[parts.DECODE.workload].wait.seconds
    assert scaled > by_id(replicas=1)[parts.DECODE.workload].wait.seconds


def test_the_wait_covers_one_step_for_each_possible_replica():
    decode = plan(stack(autoscaling=HPA)).services[0].primary.roles["decode"]
    assert decode.wait.seconds == lifecycle.wait_seconds(decode.rollout, 4, decode.progress_deadline, decode.drain)


@pytest.mark.parametrize("kind", ["hpa", "keda"])
def test_the_outputs_say_who_scales_and_how_many_devices_that_may_take(kind):
    told_to = {"type": kind, "minReplicas": 2, "maxReplicas": 4, "metrics": QUEUE}
    roles = outputs.of_stack(plan(stack(autoscaling=told_to, parallelism={"tensor": 2})), None)
    role = roles["services"]["qwen"]["primary"]["roles"]["decode"]
    assert role["scaling"] == {"type": kind, "minReplicas": 2, "maxReplicas": 4}
    assert (role["gpus"]["perReplica"], role["gpus"]["max"]) == (2, 8)


def test_what_is_ignored_reaches_the_engine(monkeypatch):
    seen = {}
    note = lambda name, _, opts: seen.setdefault(name, opts.ignore_changes)  # noqa: E731 - stands for a class
    monkeypatch.setattr(registration, "KubernetesObject", note)
    alone = [replace(each, after=()) for each in objects(render(plan(stack(autoscaling=HPA))))]
    registration.register("qwen", alone, registration.ResourcesById({}), registration.pulumi.ResourceOptions())
    assert seen.pop("qwen-decode") == ["spec.replicas"]
    assert set(map(bool, seen.values())) == {False}


# --- HPA


def test_an_hpa_targets_the_workload_within_its_bounds():
    spec = hpa(minReplicas=2)
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "qwen-decode"}
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 4)


def test_a_group_is_scaled_by_its_own_kind():
    target = one("HorizontalPodAutoscaler", **SPANNING, autoscaling=HPA)["scaleTargetRef"]
    assert target == {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "qwen-decode"}


@pytest.mark.parametrize("name", channels())
@pytest.mark.parametrize(
    ("metric", "series"),
    [
        ("queue-size", "vllm:num_requests_waiting"),
        ("running-requests", "vllm:num_requests_running"),
        ("kv-cache-utilization", "vllm:kv_cache_usage_perc"),
    ],
)
def test_every_channel_knows_the_engines_metrics_and_their_names_as_metrics_of_pods(name, metric, series):
    known = channel(name).engine.metrics[metric]
    assert (known.series, known.pod_metric) == (series, series.replace(":", "_"))
    assert known.aggregation == ("avg" if metric == "kv-cache-utilization" else "sum")


@pytest.mark.parametrize(
    ("target", "quantity"),
    [(5, "5"), (0.8, "800m"), (2.5, "2500m"), (1000, "1k"), (1500, "1500"), (0.00001, "1m"), (100_000, "100k")],
)
def test_a_target_is_the_average_of_the_pods_as_kubernetes_writes_it(target, quantity):
    (metric,) = hpa({"type": "queue-size", "target": target})["metrics"]
    assert metric["pods"] == {
        "metric": {"name": "vllm_num_requests_waiting"},
        "target": {"type": "AverageValue", "averageValue": quantity},
    }


def test_cpu_is_a_share_of_what_is_requested():
    (metric,) = hpa({"type": "cpu", "targetPercent": 80})["metrics"]
    target = {"type": "Utilization", "averageUtilization": 80}
    assert metric == {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def test_a_custom_metric_is_passed_on_as_it_is_and_checked():
    spec = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "5"}}}
    assert hpa({"type": "custom", "spec": spec})["metrics"] == [spec]


@pytest.mark.parametrize("kind", [HPA, KEDA], ids=["hpa", "keda"])
def test_by_default_the_number_goes_down_slowly(kind):
    calm = {"scaleDown": {"stabilizationWindowSeconds": 300}}
    spec = hpa() if kind is HPA else keda()["advanced"]["horizontalPodAutoscalerConfig"]
    assert spec["behavior"] == calm


@pytest.mark.parametrize("kind", [HPA, KEDA], ids=["hpa", "keda"])
def test_an_empty_behavior_leaves_no_empty_map(kind):
    for each in rendered(stack(autoscaling={**kind, "behavior": {}})):
        assert {} not in each["spec"].values() if "spec" in each else True
        assert "behavior" not in json.dumps(each)


# --- KEDA


def test_a_scaled_object_asks_prometheus_for_the_pods_of_the_role_alone():
    (trigger,) = keda()["triggers"]
    assert trigger == {
        "type": "prometheus",
        "metricType": "AverageValue",
        "metadata": {
            "serverAddress": "http://prometheus.monitoring:9090",
            "query": 'sum(vllm:num_requests_waiting{namespace="models",pod=~"qwen-decode-[0-9a-z]{1,10}-[0-9a-z]{5}"})',
            "threshold": "5",
            "ignoreNullValues": "false",
        },
    }


def test_of_a_group_the_leaders_are_asked():
    (trigger,) = one("ScaledObject", **SPANNING, autoscaling=KEDA)["triggers"]
    assert 'pod=~"qwen-decode-[0-9]+"' in trigger["metadata"]["query"]


def test_caches_of_several_engines_in_a_pod_are_averaged_before_pods_are_added_up():
    (trigger,) = keda({"type": "kv-cache-utilization", "target": 0.8})["triggers"]
    assert trigger["metadata"]["query"].startswith("sum(avg by (pod) (vllm:kv_cache_usage_perc{")
    assert trigger["metadata"]["threshold"] == "0.8"


def test_times_of_keda_are_whole_seconds():
    spec = keda(pollingInterval="1m30s", cooldownPeriod="1500ms")
    assert (spec["pollingInterval"], spec["cooldownPeriod"]) == (90, 2)
    spec = keda()
    assert (spec["pollingInterval"], spec["cooldownPeriod"]) == (30, 300)


def test_cpu_and_triggers_of_ones_own_need_no_prometheus():
    trigger = {"type": "custom", "spec": {"type": "cron", "metadata": {"timezone": "UTC"}}}
    bare = tree(qwen={"autoscaling": {**KEDA, "metrics": [{"type": "cpu", "targetPercent": 80}, trigger]}})
    cpu, cron = find(rendered(bare), "ScaledObject", "qwen-decode")["spec"]["triggers"]
    assert cpu == {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "80"}}
    assert cron == trigger["spec"]


@given(st.integers(1, 10**8).map(lambda milli: milli / 1000))
def test_both_autoscalers_follow_the_same_target(target):
    metric = {"type": "running-requests", "target": target}
    quantity = hpa(metric)["metrics"][0]["pods"]["target"]["averageValue"]
    units = {"m": 0.001, "k": 1e3, "M": 1e6}
    number = float(quantity.rstrip("mkM")) * units.get(quantity[-1], 1)
    threshold = keda(metric)["triggers"][0]["metadata"]["threshold"]
    assert "e" not in threshold.lower()
    assert number == pytest.approx(float(threshold)) == pytest.approx(target)


def test_a_cluster_without_keda_is_told_what_to_install():
    needed = [each.api for each in objects(render(plan(stack(autoscaling=KEDA))))]
    served = set(needed) - {"keda.sh/v1alpha1/ScaledObject"}
    (error,) = lines(kinds(needed, ClusterFacts(apis=Served(frozenset(served))), "strict"), "error")
    assert error.startswith(
        "keda.sh/v1alpha1/ScaledObject: the cluster does not serve it; install KEDA v2.18.0: kubectl"
    )


# --- mistakes


def test_a_mistake_in_what_is_passed_on_is_told_where_it_was_written():
    misspelt = {"type": "custom", "spec": {"type": "External", "externl": {}}}
    bare = {"type": "custom", "spec": {"type": "cron", "metadata": {"start": 8}}}
    mistaken = [
        ({**HPA, "metrics": [*QUEUE, misspelt]}, "metrics[1].spec.externl"),
        ({**KEDA, "metrics": [bare]}, "metrics[0].spec.metadata.start"),
        ({**HPA, "behavior": {"scaleDwn": {}}}, "behavior.scaleDwn"),
        ({**KEDA, "behavior": {"scaleDwn": {}}}, "behavior.scaleDwn"),
    ]
    for scaling, at in mistaken:
        for role, service in (
            (BASE, {"autoscaling": scaling}),
            (f"{BASE}.prefill", {"prefill": {"autoscaling": scaling}}),
        ):
            with pytest.raises(ConfigError) as error:
                validation.check(objects(render(plan(stack(**service)))))
            assert str(error.value).startswith(f"{role}.autoscaling.{at}: does not fit Kubernetes' schema")


@pytest.mark.parametrize("role", ["", ".prefill"])
def test_a_number_that_a_role_itself_writes_beside_its_autoscaler_is_refused(role):
    scaling = {"replicas": 2, "autoscaling": HPA}
    (message,) = told(stack(prefill=scaling) if role else stack(**scaling))
    assert message == f"{BASE}{role}.replicas: {BESIDE}"


def test_a_number_beside_an_inherited_autoscaler_is_refused():
    (message,) = told(stack(replicas=2) | {"defaults": {"autoscaling": HPA}})
    assert message == f"{BASE}.replicas: {BESIDE}"
    inherited = {"defaults": {"prefill": {"autoscaling": HPA}}}
    (message,) = told(stack(prefill={"replicas": 2}) | inherited)
    assert message == f"{BASE}.prefill.replicas: {BESIDE}"
    canary = {"weight": 10, "prefill": {"replicas": 2}}
    (message,) = told(stack(prefill={}, canary=canary | {"autoscaling": HPA, "replicas": 2}))
    assert message == f"{BASE}.canary.replicas: {BESIDE}"


def test_a_number_and_an_autoscaler_of_one_layer_of_defaults_are_an_autoscaler():
    made = {each.id.part for each in objects(render(plan(stack() | {"defaults": {"replicas": 2, "autoscaling": HPA}})))}
    assert parts.DECODE.autoscaler in made


@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_an_inherited_number_gives_way_to_an_autoscaler(role):
    inherited = {"replicas": 3} if role == "decode" else {"prefill": {"replicas": 3}}
    service = {"autoscaling": HPA} if role == "decode" else {"prefill": {"autoscaling": HPA}}
    everything = rendered(tree(qwen=service) | {"defaults": inherited})
    assert "replicas" not in find(everything, "Deployment", f"qwen-{role}")["spec"]


def test_an_inherited_autoscaler_is_dropped_with_null_for_a_number():
    everything = rendered(stack(replicas=2, autoscaling=None) | {"defaults": {"autoscaling": HPA}})
    assert find(everything, "Deployment", "qwen-decode")["spec"]["replicas"] == 2
    assert "HorizontalPodAutoscaler" not in {each["kind"] for each in everything}


def test_another_type_keeps_nothing_of_the_inherited_one():
    everything = rendered(stack(autoscaling=HPA) | {"defaults": {"autoscaling": {**KEDA, "minReplicas": 3}}})
    assert find(everything, "HorizontalPodAutoscaler", "qwen-decode")["spec"]["minReplicas"] == 1


# --- zerfoo 3.4 and 5.4


def test_zerfoo_3_4_without_bounds_there_is_no_autoscaler():
    made = by_id(replicas=2)
    assert parts.DECODE.autoscaler not in made
    assert made[parts.DECODE.workload].manifest["spec"]["replicas"] == 2


def test_zerfoo_3_4_two_and_ten_are_the_bounds_of_an_hpa_on_the_workload():
    spec = hpa(minReplicas=2, maxReplicas=10)
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 10)
    assert spec["scaleTargetRef"]["name"] == "qwen-decode"


def test_zerfoo_3_4_a_minimum_alone_is_refused_instead_of_ignored():
    (message,) = told(stack(autoscaling={"type": "hpa", "minReplicas": 2, "metrics": QUEUE}))
    assert message.startswith(f"{BASE}.autoscaling.maxReplicas: is missing; add it")


def test_zerfoo_3_4_a_maximum_alone_is_from_one():
    assert hpa(maxReplicas=5)["minReplicas"] == 1


def test_zerfoo_3_4_equal_bounds_are_allowed():
    spec = hpa(minReplicas=5, maxReplicas=5)
    assert spec["minReplicas"] == spec["maxReplicas"] == 5


@pytest.mark.parametrize("metrics", [{}, {"metrics": []}])
def test_zerfoo_3_4_a_metric_is_chosen_and_never_made_up_by_the_server(metrics):
    (message,) = told(stack(autoscaling={"type": "hpa", "maxReplicas": 4, **metrics}))
    assert message.startswith(f"{BASE}.autoscaling.metrics: ")


def test_zerfoo_5_2_a_minimum_above_the_maximum_is_refused():
    (message,) = told(stack(autoscaling={**HPA, "minReplicas": 10, "maxReplicas": 5}))
    expected = "is above maxReplicas (10, 5); swap them or raise maxReplicas to 10"
    assert message == f"{BASE}.autoscaling.minReplicas: {expected}"


# --- aim-engine 7.5


@pytest.mark.parametrize("number", [None, 3, 0])
def test_aim_7_5_without_autoscaling_the_number_is_as_written_or_one(number):
    spec = one("Deployment", **({} if number is None else {"replicas": number}))
    assert spec["replicas"] == (1 if number is None else number)


def test_aim_7_5_a_minimum_alone_is_refused():
    (message,) = told(stack(autoscaling={"type": "keda", "minReplicas": 2, "metrics": QUEUE}))
    assert message.startswith(f"{BASE}.autoscaling.maxReplicas: is missing")


@pytest.mark.parametrize(("bounds", "expected"), [({}, (1, 5)), ({"minReplicas": 1, "maxReplicas": 3}, (1, 3))])
def test_aim_7_5_bounds_are_those_of_the_scaled_object(bounds, expected):
    spec = keda(**{"maxReplicas": 5, **bounds})
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == expected


def test_aim_7_5_b64_metrics_without_bounds_are_refused():
    (message,) = told(stack(autoscaling={"type": "keda", "metrics": QUEUE}))
    assert message.startswith(f"{BASE}.autoscaling.maxReplicas: is missing")


def test_aim_7_5_b63_a_number_beside_autoscaling_is_refused_instead_of_ignored():
    assert told(stack(replicas=4, autoscaling=KEDA))[0].startswith(f"{BASE}.replicas: has no effect, because")


def test_aim_7_5_b63_five_to_two_is_refused():
    (message,) = told(stack(autoscaling={**KEDA, "minReplicas": 5, "maxReplicas": 2}))
    assert message.startswith(f"{BASE}.autoscaling.minReplicas: is above maxReplicas (5, 2)")


@pytest.mark.parametrize("kind", ["hpa", "keda"])
def test_aim_7_5_b63_zero_replicas_need_a_queue_in_front_of_them(kind):
    (message,) = told(stack(autoscaling={**HPA, "type": kind, "minReplicas": 0}))
    assert message.startswith(f"{BASE}.autoscaling.minReplicas: zero replicas cannot be woken ")
    assert "endpointPicker.flowControl" in message
