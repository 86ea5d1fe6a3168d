"""A canary beside its service: who gets which requests, and what is whose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.assembly import render
from manifests.routing import routed_service
from models.stack import Stack
from planning import outputs
from planning.ground import parts
from planning.ground.labels import routing_contract
from planning.ground.order import Id
from tests.support.stacks import SERVICE, exactly, find, lines, plain, plan, rendered, tree
from tests.support.stacks.canaries import by_id, of, stack
from tests.support.stacks.shapes import DIGEST, engine, model_servers, serving, templates, told, values

WEIGHTS = st.integers(0, 100)
HPA = {"type": "hpa", "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
UNLOCKED = {"locked": None, "lockedAdapters": {}}
ROLES = pytest.mark.parametrize("roles", [{}, {"prefill": {}}], ids=["one-role", "prefill"])


def rules(everything):
    (route,) = [manifest for manifest in everything if manifest["kind"] == "HTTPRoute"]
    return route["spec"]["rules"]


def shares(rule):
    return [(plain(backend["name"]), backend["weight"]) for backend in rule["backendRefs"]]


def selects(selector, labels):
    return selector.items() <= labels.items()


# --- who gets which requests


@pytest.mark.parametrize("weight", [0, 1, 10, 20, 50, 99, 100])
def test_zerfoo_3_3_the_integers_of_the_weight_table_are_the_weights_of_the_backends(weight):
    (rule,) = rules(rendered(stack(weight)))
    assert shares(rule) == [("qwen-canary", weight), ("qwen", 100 - weight)]


def test_zerfoo_3_3_without_a_canary_there_is_one_backend_that_is_never_of_weight_0():
    for everything in (rendered(tree()), rendered(tree(qwen={"prefill": {}}))):
        (rule,) = rules(everything)
        assert shares(rule) == [("qwen", 1)]


def test_zerfoo_3_3_a_weight_of_0_stands_in_the_object_because_one_that_is_absent_means_1():
    for weight, zero in ((0, 0), (100, 1)):
        (rule,) = rules(rendered(stack(weight)))
        assert rule["backendRefs"][zero]["weight"] == 0


@given(WEIGHTS, st.sampled_from([{}, {"x-canary": "always"}]), st.sampled_from([{}, {"prefill": {}}]))
def test_weights_are_integers_whose_sum_is_always_100(weight, headers, roles):
    *_, rule = rules(rendered(stack(weight, roles, headers=headers)))
    given_weights = [backend["weight"] for backend in rule["backendRefs"]]
    assert given_weights == [weight, 100 - weight]
    assert {type(share) for share in given_weights} == {int}


@given(WEIGHTS)
def test_a_weight_is_the_routes_alone(weight):
    first, second = (rendered(stack(each)) for each in (weight, 100 - weight))
    assert {each["kind"] for each in first if each not in second} <= {"HTTPRoute"}
    assert len(first) == len(second)


@ROLES
def test_a_route_backs_on_the_pools_that_there_are(roles):
    everything = rendered(stack(service=roles, headers={"x-canary": "always"}))
    pools = {manifest["metadata"]["name"] for manifest in everything if manifest["kind"] == "InferencePool"}
    backends = [backend for rule in rules(everything) for backend in rule["backendRefs"]]
    assert {backend["name"] for backend in backends} == pools
    assert len(pools) == 2
    assert {(backend["group"], backend["kind"]) for backend in backends} == {
        ("inference.networking.k8s.io", "InferencePool")
    }


@given(WEIGHTS)
def test_requests_with_the_headers_reach_the_canary_whatever_its_weight(weight):
    """See zerfoo 7.3."""
    first, second = rules(rendered(stack(weight, headers={"x-b": "2", "x-a": "1"})))
    (match,), (other,) = first["matches"], second["matches"]
    assert match["headers"] == [
        {"type": "Exact", "name": "x-a", "value": "1"},
        {"type": "Exact", "name": "x-b", "value": "2"},
    ]
    assert "headers" not in other
    assert match["path"] == other["path"] == {"type": "PathPrefix", "value": "/models/qwen"}
    assert first["filters"] == second["filters"]
    assert shares(first) == [("qwen-canary", 1)]
    assert shares(second) == [("qwen-canary", weight), ("qwen", 100 - weight)]


def test_a_route_comes_after_everything_of_both_variants():
    made = by_id(stack(service={"prefill": {}}))
    leading = {
        parts.POOL,
        parts.PICKER,
        parts.DECODE.workload,
        parts.PREFILL.workload,
        parts.SERVICE,
        parts.DESTINATION_RULE,
    }
    assert set(made[Id("qwen", parts.ROUTE)].after) == {
        Id(key, part) for key in ("qwen", "qwen.canary") for part in leading
    }
    assert {earlier.owner for earlier in by_id(tree())[Id("qwen", parts.ROUTE)].after} == {"qwen"}


@pytest.mark.parametrize("closed", [{"gateway": None}, {"route": {"enabled": False}}])
def test_without_a_route_a_canary_of_weight_0_runs_and_is_asked_by_its_service(closed):
    """See zerfoo 2.2."""
    closed_stack = stack(0, {key: value for key, value in closed.items() if key == "route"})
    if "gateway" in closed:
        del closed_stack["gateway"]
    everything = rendered(closed_stack)
    assert "HTTPRoute" not in {manifest["kind"] for manifest in everything}
    assert exactly(everything, "Service", "qwen-canary")


# --- what is whose


OWN = (
    "Deployment",
    "InferencePool",
    "Service",
    "ConfigMap",
    "Role",
    "RoleBinding",
    "ServiceAccount",
    "DestinationRule",
)


@ROLES
@pytest.mark.parametrize("kind", [*OWN, "ClusterRoleBinding"])
def test_a_variant_has_every_object_of_its_own(roles, kind):
    everything, alone = rendered(stack(service=roles)), rendered(tree(qwen=roles))
    names = [plain(manifest["metadata"]["name"]) for manifest in everything if manifest["kind"] == kind]
    single = [plain(manifest["metadata"]["name"]) for manifest in alone if manifest["kind"] == kind]
    assert sorted(names) == sorted([*single, *(name.replace("qwen", "qwen-canary") for name in single)])
    assert len(single) > 0


@ROLES
def test_a_canary_changes_nothing_of_its_service_but_the_route(roles):
    alone, everything = rendered(tree(qwen=roles)), rendered(stack(service=roles))
    assert [manifest["kind"] for manifest in alone if manifest not in everything] == ["HTTPRoute"]


def test_the_canary_of_groups_and_scaled_roles_has_groups_and_autoscalers_of_its_own():
    spanning = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8, "pipeline": 2}, "autoscaling": HPA}
    everything = rendered(stack(service=spanning, autoscaling={**HPA, "maxReplicas": 2}))
    for name, max_replicas in (("qwen-decode", 4), ("qwen-canary-decode", 2)):
        scaler = exactly(everything, "HorizontalPodAutoscaler", name)["spec"]
        assert (scaler["scaleTargetRef"]["name"], scaler["maxReplicas"]) == (name, max_replicas)
        assert "replicas" not in exactly(everything, "LeaderWorkerSet", name)["spec"]
    assert not [
        manifest
        for manifest in rendered(stack(service=spanning))
        if manifest["metadata"]["name"] == "qwen-canary-decode" and manifest["kind"] == "HorizontalPodAutoscaler"
    ]


@ROLES
def test_the_pods_of_a_variant_are_selected_by_its_own_objects_alone(roles):
    """See zerfoo 3.2, 7.2."""
    everything = rendered(stack(service={"replicas": 2, **roles}, replicas=2))
    pods = [template["metadata"]["labels"] for template in templates(everything)]
    selectors = [
        (manifest["metadata"]["name"], spec["selector"].get("matchLabels", spec["selector"]))
        for manifest in everything
        if "selector" in (spec := manifest.get("spec", {}))
    ]
    assert {name.startswith("qwen-canary") for name, _ in selectors} == {True, False}
    for name, selector in selectors:
        variants = {pod_labels["inference-stacks.io/variant"] for pod_labels in pods if selects(selector, pod_labels)}
        assert variants == {"canary" if name.startswith("qwen-canary") else "primary"}, name


@ROLES
def test_a_pool_holds_its_variants_serving_pods_and_is_read_by_its_own_picker(roles):
    everything = rendered(stack(service=roles))
    for pool in (manifest for manifest in everything if manifest["kind"] == "InferencePool"):
        name = pool["metadata"]["name"]
        held = [
            template
            for template in serving(everything)
            if selects(pool["spec"]["selector"]["matchLabels"], template["metadata"]["labels"])
        ]
        assert len(held) == 1 + len(roles)
        assert pool["spec"]["endpointPickerRef"]["name"] == f"{name}-epp"
        picker = engine(exactly(everything, "Deployment", f"{name}-epp")["spec"]["template"])
        assert f"--pool-name={name}" in picker["args"]
        service = exactly(everything, "Service", f"{name}-epp")["spec"]["selector"]
        assert [template for template in templates(everything) if selects(service, template["metadata"]["labels"])] == [
            exactly(everything, "Deployment", f"{name}-epp")["spec"]["template"]
        ]


def test_the_objects_of_a_canary_are_children_of_its_service_and_of_a_picker_of_its_own():
    components = {(component.type, component.name): component for component in render(plan(stack()))}
    children = components["ModelServiceStack", "qwen"].objects
    assert {resource.suffix for resource in children if resource.id.owner == "qwen.canary"} == {
        "canary-decode",
        "canary-service",
    }
    picker = components["EPPStack", "qwen-canary-epp"]
    assert {resource.id.owner for resource in picker.objects} == {"qwen.canary"}
    assert {resource.suffix for resource in picker.objects} == {
        resource.suffix for resource in components["EPPStack", "qwen-epp"].objects
    }


def test_a_canary_has_one_replica_of_its_own_and_a_budget_only_with_more():
    everything = rendered(stack(service={"replicas": 4}))
    numbers = {
        name: exactly(everything, "Deployment", name)["spec"]["replicas"]
        for name in ("qwen-decode", "qwen-canary-decode")
    }
    assert numbers == {"qwen-decode": 4, "qwen-canary-decode": 1}
    budgets = [manifest["metadata"]["name"] for manifest in everything if manifest["kind"] == "PodDisruptionBudget"]
    assert budgets == ["qwen-decode"]


def test_a_canary_can_have_roles_that_its_service_has_not_and_the_other_way_round():
    more, less = rendered(stack(prefill={})), rendered(stack(service={"prefill": {}}, prefill=None))
    names = [
        {plain(manifest["metadata"]["name"]) for manifest in each if manifest["kind"] == "Deployment"}
        for each in (more, less)
    ]
    pickers = {"qwen-epp", "qwen-canary-epp"}
    assert names[0] - pickers == {"qwen-decode", "qwen-canary-decode", "qwen-canary-prefill"}
    assert names[1] - pickers == {"qwen-decode", "qwen-prefill", "qwen-canary-decode"}


# --- the interceptor


def metered(**canary):
    stack = tree(qwen={"canary": {"weight": 10, **canary}}) | {
        "interceptor": {"mode": "label", "namespace": "metering"}
    }
    stack["services"]["qwen"]["interceptor"] = {"enabled": False}
    return stack


def test_zerfoo_9_9_a_canarys_service_never_carries_the_interceptors_pair():
    pair = routing_contract("qwen")
    primary = plan(tree() | {"interceptor": {"mode": "label", "namespace": "metering"}}).services[0].primary
    assert selects(pair, routed_service(primary).manifest["metadata"]["labels"])
    service = plan(stack()).services[0]
    assert service.canary.search_id is None
    assert not pair.keys() & routed_service(service.canary).manifest["metadata"]["labels"].keys()
    for manifest in rendered(metered()):
        assert not pair.keys() & manifest["metadata"].get("labels", {}).keys()


def test_a_canary_beside_a_metered_service_is_refused_even_without_requests():
    """See zerfoo 7.3."""
    stack = metered()
    del stack["services"]["qwen"]["interceptor"]
    (message,) = told(stack)
    assert message.startswith("services.qwen.canary: would get no requests (in mode label, the interceptor")


def test_a_canary_of_one_service_leaves_another_one_metered():
    stack = metered()
    stack["services"]["other"] = tree()["services"]["qwen"]
    labelled = [
        manifest["metadata"]["name"]
        for manifest in rendered(stack)
        if selects(routing_contract("other"), manifest["metadata"]["labels"])
    ]
    assert labelled == ["other"]


# --- the name that clients send


def test_a_canary_is_asked_by_its_services_model_name():
    """See zerfoo 7.3."""
    model = {"source": "hf://org/model", "size": "1Gi"}
    everything = rendered(stack(service={"model": model}, model={"source": "hf://org/next"}))
    names = [
        flag
        for template in model_servers(everything)
        for flag in engine(template)["args"]
        if "--served-model-name" in flag
    ]
    assert len(names) == 2
    assert set(names) == {"--served-model-name=org/model"}


def test_a_canary_without_a_weight_may_have_a_name_of_its_own():
    model = {"name": "org/next"}
    (message,) = told(stack(1, model=model))
    reason = "requests for one name would fail at the other variant (org/next, org/model); remove it"
    assert message == f"services.qwen.canary.model.name: differs from the service's; {reason}"
    service = outputs.of_stack(plan(stack(0, model=model, headers={"x-canary": "always"})), None)["services"]["qwen"]
    assert (service["model"]["name"], service["canary"]["model"]["name"]) == ("org/model", "org/next")


# --- warnings and outputs


SEVENTY = "canary: weight 70 is far above its share of the replicas (1 of 5); its requests will wait longer"


@pytest.mark.parametrize(
    ("weight", "service", "canary", "expected"),
    [
        (10, {}, {"engine": {"maxNumSeqs": 64}}, []),
        (
            100,
            {},
            {"engine": {"maxNumSeqs": 64}},
            ["canary: weight 100 gives it all requests, and the service's own pods idle"],
        ),
        (
            0,
            {},
            {"engine": {"maxNumSeqs": 64}},
            ["canary: weight 0 without headers: its pods run, but get no requests"],
        ),
        (0, {}, {"engine": {"maxNumSeqs": 64}, "headers": {"x-canary": "always"}}, []),
        (10, {}, {}, ["canary: its pods run the same as the service's pods"]),
        (10, {"prefill": {"replicas": 2}}, {"replicas": 2}, ["canary: its pods run the same as the service's pods"]),
        (
            10,
            {"prefill": {}},
            {"prefill": {"engine": {"type": "vllm"}}},
            ["canary: its pods run the same as the service's pods"],
        ),
        (
            10,
            {"decode": {"sets": {"a": {"replicas": 2}, "b": {}}}},
            {},
            ["canary: its pods run the same as the service's pods"],
        ),
        (70, {"replicas": 4}, {"engine": {"maxNumSeqs": 64}}, [SEVENTY]),
        (70, {"decode": {"sets": {"a": {"replicas": 3}, "b": {}}}}, {"decode": None, "replicas": 1}, [SEVENTY]),
        (40, {"replicas": 4}, {"engine": {"maxNumSeqs": 64}}, []),
        (41, {"replicas": 4}, {"engine": {"maxNumSeqs": 64}}, [SEVENTY.replace("70", "41")]),
        (70, {"replicas": 4}, {"engine": {"maxNumSeqs": 64}, "replicas": 3}, []),
        (70, {"autoscaling": HPA}, {"engine": {"maxNumSeqs": 64}}, [SEVENTY]),
        (70, {"autoscaling": HPA}, {"engine": {"maxNumSeqs": 64}, "autoscaling": HPA}, []),
        (
            100,
            {"replicas": 0},
            {"replicas": 0, "engine": {"maxNumSeqs": 64}},
            ["canary: weight 100 gives it all requests, and the service's own pods idle"],
        ),
        (50, {"replicas": 0}, {"replicas": 0, "engine": {"maxNumSeqs": 64}}, []),
    ],
)
def test_what_is_allowed_and_seldom_meant_is_a_warning(weight, service, canary, expected):
    """See zerfoo 1.2, 2.1, 2.2."""
    planned = plan(stack(weight, service, **canary))
    assert lines(planned.warnings, "warning") == [f"services.qwen.{line}" for line in expected]
    assert outputs.of_stack(planned, None)["services"]["qwen"]["warnings"] == sorted(expected)


def test_a_service_without_a_canary_has_no_warnings():
    planned = plan(tree())
    assert (lines(planned.warnings, "warning"), planned.services[0].canary) == ([], None)


def test_the_outputs_say_who_gets_what_and_what_the_canary_is():
    canary = {"model": {"source": f"kit://registry.example/org/model@{DIGEST}"}, "replicas": 2}
    found = outputs.of_stack(plan(stack(30, **canary)), None)["services"]["qwen"]
    assert (found["weight"], found["canary"]["weight"]) == (70, 30)
    assert found["canary"] == {
        "release": Stack.model_fields["release"].default,
        "pool": {"group": "inference.networking.k8s.io", "name": "qwen-canary"},
        "objectives": [],
        "serviceHost": "qwen-canary.models.svc.cluster.local:8000",
        "endpointPickerHost": "qwen-canary-epp.models.svc.cluster.local:9002",
        "proxyHost": None,
        "roles": {
            "decode": {
                "workload": {"kind": "Deployment", "name": "qwen-canary-decode"},
                "scaling": {"type": "fixed", "replicas": 2},
                "gpus": {"class": "nvidia", "vendor": "nvidia", "product": None, "perReplica": 1, "max": 2},
            }
        },
        "weight": 30,
        "profiles": {},
        "model": {
            "name": "org/model",
            "source": canary["model"]["source"],
            "digest": DIGEST,
            "revision": None,
            **UNLOCKED,
        },
    }
    assert found["primary"] == outputs.of_stack(plan(tree()), None)["services"]["qwen"]["primary"]
    assert found["model"]["source"] == SERVICE["model"]["source"]


def test_the_intent_shows_both_variants_and_leaves_the_weight_to_the_route():
    first, second = (plan(stack(weight)).services[0].preview_inputs() for weight in (1, 99))
    assert first == second
    assert first["canary"]["roles"]["decode"]["replicas"] == 1
    assert "canary" not in plan(tree()).services[0].preview_inputs()


def test_a_canarys_own_settings_reach_its_pods_alone():
    service = {"engine": {"env": {"A": "1"}}, "labels": {"team": "x"}}
    everything = rendered(stack(service=service, engine={"env": {"A": "2"}}, labels={"track": "next"}))
    (canary,), (primary,) = of(everything, "canary"), of(everything, "primary")
    assert (values(engine(canary))["A"], values(engine(primary))["A"]) == ("2", "1")
    deployed = exactly(everything, "Deployment", "qwen-canary-decode")["metadata"]["labels"]
    assert (deployed["team"], deployed["track"]) == ("x", "next")
    assert "track" not in find(everything, "HTTPRoute", "qwen")["metadata"]["labels"]
