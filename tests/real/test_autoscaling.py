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


def scale(deployment, namespace, number, workload=WORKLOAD):
    """Set the number as the controller of autoscalers does: at the scale subresource, under its own name."""
    body = json.dumps({"spec": {"replicas": number}})
    arguments = ("--subresource=scale", "--field-manager=kube-controller-manager", "--type=merge", f"--patch={body}")
    deployment.plane.kubectl("patch", workload, "-n", namespace, *arguments)


def number(deployment, namespace, workload=WORKLOAD):
    kind, _, name = workload.partition("/")
    return deployment.get(kind, name, namespace)["spec"]["replicas"]


def deployed(deployment, stack, *more):
    """Deploy another stack, and return the operation of each object."""
    deployment.write(stack)
    return deployment.operate(*more).done


def settled(deployment, namespace, expected):
    """Wait for the real controller, which looks every 15 seconds; returns the number at the end."""
    deadline = time.monotonic() + 240
    while (found := number(deployment, namespace)) != expected and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def test_an_autoscaler_keeps_its_number_until_it_is_switched_off(deploy):
    name = "autoscaled"
    deployment = deploy(stack(name, autoscaling=HPA))
    deployment.up()
    assert number(deployment, name) == 1
    scale(deployment, name, 5)
    deployment.assert_plainly_unchanged()
    assert deployment.operate("--refresh").done == {}
    assert number(deployment, name) == 5
    assert deployed(deployment, stack(name, autoscaling=HPA, engine=V8)) == {"qwen-decode": "update"}
    assert number(deployment, name) == 5
    scale(deployment, name, 6)
    assert deployed(deployment, stack(name, autoscaling=HPA, engine=V9)) == {"qwen-decode": "update"}
    assert number(deployment, name) == 6
    deployment.assert_in_step()
    # Given up at another number, it is taken back in one run, and nobody takes it away unseen.
    deployment.write(stack(name, replicas=2, engine=V9))
    text, foreseen = deployment.foresee("--diff")
    assert "services.qwen.replicas: 6 replicas will become 2: kube-controller-manager scaled " in text
    assert foreseen.done["qwen-decode-autoscaler"] == "delete"
    assert "+ replicas: 2" in text
    assert deployment.operate().done == foreseen.done
    assert number(deployment, name) == 2
    assert "horizontalpodautoscaler" not in deployment.plane.kubectl("get", "hpa", "-n", name, "-o", "name")
    deployment.assert_in_step()


def test_switched_on_the_number_is_the_running_one_and_then_the_autoscalers(deploy):
    name = "switched-on"
    deployment = deploy(stack(name, replicas=3))
    deployment.up()
    deployed(deployment, stack(name, autoscaling=HPA))
    assert number(deployment, name) == 3
    scale(deployment, name, 6)
    deployment.assert_plainly_unchanged()
    assert deployed(deployment, stack(name, autoscaling=HPA, engine=V8), "--refresh") == {"qwen-decode": "update"}
    assert number(deployment, name) == 6
    deployment.write(stack(name, replicas=2, engine=V8))
    text, foreseen = deployment.foresee("--diff")
    assert "replicas: 2" in text
    assert deployment.operate().done == foreseen.done
    assert number(deployment, name) == 2
    deployment.assert_in_step()


def test_the_real_controller_is_obeyed(deploy):
    """Without any metric, the controller still keeps the number within its bounds."""
    name = "bounded"
    deployment = deploy(stack(name, autoscaling=HPA | {"minReplicas": 4}))
    deployment.up()
    assert settled(deployment, name, 4) == 4
    deployed(deployment, stack(name, autoscaling=HPA | {"minReplicas": 4}, engine=V8), "--refresh")
    assert number(deployment, name) == 4
    deployed(deployment, stack(name, autoscaling=HPA | {"minReplicas": 1, "maxReplicas": 3}, engine=V8))
    assert settled(deployment, name, 3) == 3
    deployment.assert_in_step()


def test_keda_scales_one_role_and_an_hpa_the_other(deploy):
    name = "both"
    service = {"autoscaling": KEDA, "prefill": {"autoscaling": HPA}}
    deployment = deploy(stack(name, **service))
    deployment.up()
    pool = deployment.outputs()["services"]["qwen"]["primary"]["pool"]["name"]
    decode = f"deployment/{pool}-decode"
    prefill = f"deployment/{pool}-prefill"
    scaled = deployment.get("scaledobject", f"{pool}-decode", name)["spec"]
    assert scaled["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"{pool}-decode"}
    assert deployment.get("hpa", f"{pool}-prefill", name)["spec"]["scaleTargetRef"]["name"] == f"{pool}-prefill"
    scale(deployment, name, 3, decode)
    scale(deployment, name, 2, prefill)
    updates = dict.fromkeys((f"{pool}-decode", f"{pool}-prefill"), "update")
    assert deployed(deployment, stack(name, **service, health={"path": "/ping"}), "--refresh") == updates
    assert number(deployment, name, decode) == 3
    assert number(deployment, name, prefill) == 2
    roles = deployment.outputs()["services"]["qwen"]["primary"]["roles"]
    scaling = {role: outputs["scaling"] for role, outputs in roles.items()}
    assert scaling == {
        role: {"type": kind, "minReplicas": 1, "maxReplicas": 8}
        for role, kind in (("decode", "keda"), ("prefill", "hpa"))
    }


def test_the_number_of_groups_is_the_autoscalers_too(deploy, lws_plane):
    name = "groups"
    groups = "leaderworkerset/qwen-decode"
    spanning = {"parallelism": {"pipeline": 2}}
    deployment = deploy(stack(name, **spanning, autoscaling=HPA), lws_plane)
    deployment.up()
    assert number(deployment, name, groups) == 1
    scale(deployment, name, 3, groups)
    assert deployed(deployment, stack(name, **spanning, autoscaling=HPA, engine=V8)) == {"qwen-decode": "update"}
    assert number(deployment, name, groups) == 3
    scale(deployment, name, 2, groups)
    last = stack(name, **spanning, autoscaling=HPA, engine=V9)
    assert deployed(deployment, last, "--refresh") == {"qwen-decode": "update"}
    assert number(deployment, name, groups) == 2
    deployment.assert_in_step()


def test_a_program_that_still_wrote_the_number_would_take_it_from_the_autoscaler(deploy):
    """The negative control: what is stated is taken back from whoever scaled."""
    name = "fought-over"
    deployment = deploy(stack(name, replicas=3))
    deployment.up()
    scale(deployment, name, 6)
    assert deployed(deployment, stack(name, replicas=3, engine=V8)) == {"qwen-decode": "update"}
    assert number(deployment, name) == 3


def test_a_program_that_only_left_the_number_out_would_end_all_replicas_but_one(deploy):
    name = "dropped"
    deployment = deploy(stack(name, replicas=3))
    deployment.up()
    deployment.replace("manifests/autoscaling.py", r'REPLICAS = \("spec.replicas",\)', "REPLICAS = ()")
    deployed(deployment, stack(name, autoscaling=HPA))
    assert number(deployment, name) == 1


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
    scaled_object = edited(find(rendering, "ScaledObject", "qwen-decode"), path, value)
    assert ours(scaled_object) == accepts(plane, scaled_object)
