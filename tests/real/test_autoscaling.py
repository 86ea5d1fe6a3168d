"""An autoscaler owns its number: no deployment run takes it back, and taking it back is seen beforehand."""

import json
import time

import pytest

from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.server import accepts
from tests.support.cluster.verdicts import edited, ours
from tests.support.stacks import find, rendered

pytestmark = pytest.mark.real

METRICS = [{"type": "queue-size", "target": 5}, {"type": "kv-cache-utilization", "target": 0.8}]
HPA = {"type": "hpa", "maxReplicas": 8, "metrics": METRICS}
KEDA = {**HPA, "type": "keda"}
V8, V9 = ({"image": f"registry.example/engine:v{number}"} for number in (8, 9))
WORKLOAD = "deployment/qwen-decode"


def stack(namespace, **service):
    """Return a stack of one service, and a Prometheus that could be asked."""
    observability = {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}
    return in_namespace(namespace, qwen=service) | {"observability": observability}


def scale(one, namespace, number, workload=WORKLOAD):
    """Set the number as the controller of autoscalers does: at the scale subresource, under its own name."""
    body = json.dumps({"spec": {"replicas": number}})
    arguments = ("--subresource=scale", "--field-manager=kube-controller-manager", "--type=merge", f"--patch={body}")
    one.plane.kubectl("patch", workload, "-n", namespace, *arguments)


def number(one, namespace, workload=WORKLOAD):
    kind, _, name = workload.partition("/")
    return one.get(kind, name, namespace)["spec"]["replicas"]


def deployed(one, stack, *more):
    """Deploy another stack, and return the operation of each object."""
    one.write(stack)
    return one.operate(*more).done


def settled(one, namespace, expected):
    """Wait for the real controller, which looks every 15 seconds; returns the number at the end."""
    deadline = time.monotonic() + 60
    while (found := number(one, namespace)) != expected and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def test_what_is_created_autoscaled_is_left_to_the_autoscaler_until_it_is_given_back(deploy):
    name = "autoscaled"
    one = deploy(stack(name, autoscaling=HPA))
    one.up()
    assert number(one, name) == 1
    scale(one, name, 5)
    one.assert_plainly_unchanged()
    assert one.operate("--refresh").done == {}
    assert number(one, name) == 5
    assert deployed(one, stack(name, autoscaling=HPA, engine=V8)) == {"qwen-decode": "update"}
    assert number(one, name) == 5
    scale(one, name, 6)
    assert deployed(one, stack(name, autoscaling=HPA, engine=V9)) == {"qwen-decode": "update"}
    assert number(one, name) == 6
    one.assert_in_step()
    # Given up at another number, it is taken back in one run, and nobody takes it away unseen.
    one.write(stack(name, replicas=2, engine=V9))
    text, foreseen = one.foresee("--diff")
    assert "services.qwen.replicas: 6 replicas will become 2: kube-controller-manager scaled " in text
    assert foreseen.done["qwen-decode-autoscaler"] == "delete"
    assert "+ replicas: 2" in text
    assert one.operate().done == foreseen.done
    assert number(one, name) == 2
    assert "horizontalpodautoscaler" not in one.plane.kubectl("get", "hpa", "-n", name, "-o", "name")
    one.assert_in_step()


def test_switched_on_the_number_is_the_running_one_and_then_the_autoscalers(deploy):
    name = "switched-on"
    one = deploy(stack(name, replicas=3))
    one.up()
    deployed(one, stack(name, autoscaling=HPA))
    assert number(one, name) == 3
    scale(one, name, 6)
    one.assert_plainly_unchanged()
    assert deployed(one, stack(name, autoscaling=HPA, engine=V8), "--refresh") == {"qwen-decode": "update"}
    assert number(one, name) == 6
    one.write(stack(name, replicas=2, engine=V8))
    text, foreseen = one.foresee("--diff")
    assert "replicas: 2" in text
    assert one.operate().done == foreseen.done
    assert number(one, name) == 2
    one.assert_in_step()


def test_the_real_controller_is_obeyed(deploy):
    """Without any metric, the controller still keeps the number within its bounds."""
    name = "bounded"
    one = deploy(stack(name, autoscaling=HPA | {"minReplicas": 4}))
    one.up()
    assert settled(one, name, 4) == 4
    deployed(one, stack(name, autoscaling=HPA | {"minReplicas": 4}, engine=V8), "--refresh")
    assert number(one, name) == 4
    deployed(one, stack(name, autoscaling=HPA | {"minReplicas": 1, "maxReplicas": 3}, engine=V8))
    assert settled(one, name, 3) == 3
    one.assert_in_step()


def test_keda_scales_one_role_and_an_hpa_the_other(deploy):
    name = "both"
    service = {"autoscaling": KEDA, "prefill": {"autoscaling": HPA}}
    one = deploy(stack(name, **service))
    one.up()
    pool = one.outputs()["services"]["qwen"]["primary"]["pool"]["name"]
    decode, prefill = f"deployment/{pool}-decode", f"deployment/{pool}-prefill"
    scaled = one.get("scaledobject", f"{pool}-decode", name)["spec"]
    assert scaled["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"{pool}-decode"}
    assert one.get("hpa", f"{pool}-prefill", name)["spec"]["scaleTargetRef"]["name"] == f"{pool}-prefill"
    scale(one, name, 3, decode)
    scale(one, name, 2, prefill)
    updates = dict.fromkeys((f"{pool}-decode", f"{pool}-prefill"), "update")
    assert deployed(one, stack(name, **service, health={"path": "/ping"}), "--refresh") == updates
    assert number(one, name, decode) == 3
    assert number(one, name, prefill) == 2
    roles = one.outputs()["services"]["qwen"]["primary"]["roles"]
    scaling = {role: told["scaling"] for role, told in roles.items()}
    assert scaling == {
        role: {"type": kind, "minReplicas": 1, "maxReplicas": 8}
        for role, kind in (("decode", "keda"), ("prefill", "hpa"))
    }


def test_the_number_of_groups_is_the_autoscalers_too(deploy, lws_plane):
    name, groups = "groups", "leaderworkerset/qwen-decode"
    spanning = {"parallelism": {"pipeline": 2}}
    one = deploy(stack(name, **spanning, autoscaling=HPA), lws_plane)
    one.up()
    assert number(one, name, groups) == 1
    scale(one, name, 3, groups)
    assert deployed(one, stack(name, **spanning, autoscaling=HPA, engine=V8)) == {"qwen-decode": "update"}
    assert number(one, name, groups) == 3
    scale(one, name, 2, groups)
    last = stack(name, **spanning, autoscaling=HPA, engine=V9)
    assert deployed(one, last, "--refresh") == {"qwen-decode": "update"}
    assert number(one, name, groups) == 2
    one.assert_in_step()


def test_a_program_that_still_wrote_the_number_would_take_it_from_the_autoscaler(deploy):
    """The negative control: what is stated is taken back from whoever scaled."""
    name = "fought-over"
    one = deploy(stack(name, replicas=3))
    one.up()
    scale(one, name, 6)
    assert deployed(one, stack(name, replicas=3, engine=V8)) == {"qwen-decode": "update"}
    assert number(one, name) == 3


def test_a_program_that_only_left_the_number_out_would_end_all_replicas_but_one(deploy):
    name = "dropped"
    one = deploy(stack(name, replicas=3))
    one.up()
    one.replace("manifests/autoscaling.py", r'REPLICAS = \("spec.replicas",\)', "REPLICAS = ()")
    deployed(one, stack(name, autoscaling=HPA))
    assert number(one, name) == 1


CONFIG = ["spec", "advanced", "horizontalPodAutoscalerConfig"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["spec", "scaleTargetRef"], {"kind": "Deployment"}),
        (["spec", "scaleTargetRef", "nam"], "qwen"),
        (["spec", "minReplicaCount"], "1"),
        (["spec", "minReplicaCount"], 2**31),
        (["spec", "maxReplicaCounts"], 4),
        (["spec", "idleReplicaCount"], 0),
        (["spec", "fallback"], {"failureThreshold": 3}),
        (["spec", "fallback"], {"failureThreshold": 3, "replicas": 2, "behavior": "currentReplicas"}),
        (["spec", "fallback"], {"failureThreshold": 3, "replicas": 2, "behavior": "current"}),
        ([*CONFIG, "nam"], "own"),
        ([*CONFIG, "name"], "own"),
        ([*CONFIG, "behavior", "scaleDown", "stabilizationWindowSeconds"], "300s"),
        ([*CONFIG, "behavior", "scaleDown", "tolerance"], "0.1"),
        ([*CONFIG, "behavior", "scaleDown", "tolerance"], "much"),
        ([*CONFIG, "behavior", "scaleDown", "policies"], [{"type": "Pods", "value": 1}]),
        ([*CONFIG, "behavior", "scaleUp"], {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}),
        (["spec", "advanced", "scalingModifiers"], {"metricType": "Utilization"}),
        (["spec", "triggers", 0, "metadata", "threshold"], 5),
        (["spec", "triggers", 0, "metadata"], {}),
        (["spec", "triggers", 0, "authenticationRef"], {"kind": "TriggerAuthentication"}),
        (["spec", "triggers", 0, "authenticationRef"], {"name": "prometheus"}),
        (["spec", "triggers", 0, "useCachedMetric"], True),
        (["spec", "triggers"], [{"type": "cron"}]),
        (["spec", "triggers"], []),
    ],
    ids=lambda part: json.dumps(part)[:60],
)
def test_our_schema_of_a_scaled_object_accepts_and_refuses_what_the_server_does(path, value, plane):
    rendering = rendered(stack("scaled", autoscaling=KEDA))
    one = edited(find(rendering, "ScaledObject", "qwen-decode"), path, value)
    assert ours(one) == accepts(plane, one)
