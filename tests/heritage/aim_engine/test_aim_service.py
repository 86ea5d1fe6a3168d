"""aim-engine's AIMService: resources, environment and merge as it renders them, and that we have none of its defects.

Defects go by its id (`test_b60_…`), vectors by what they are about. What holds of one merge alone is in
`tests/models`; here it is the rendered object. `docs/deviations.md` lists where we differ on purpose.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.vocabulary import amount
from planning.ground.names import names
from planning.serving import engine as engines
from tests.support.stacks import SERVICE, find, rendered, tree
from tests.support.stacks.shapes import (
    EVERY,
    SHAPES,
    amounts,
    containers,
    engine,
    every_rendering,
    flag,
    model_servers,
    serving,
    templates,
    told,
    values,
    volumes,
)

GI = 2**30


def pod(service: dict[str, Any], **stack: Any):
    everything = rendered({**tree(qwen=service), **stack})
    return find(everything, "Deployment", "qwen-decode")["spec"]["template"]


def resources(devices, requested=None, **stack):
    service = {"accelerator": "amd", "parallelism": {"tensor": devices}, "resources": requested or {}}
    return engine(pod(service, **stack))["resources"]


@pytest.mark.parametrize(
    ("devices", "cpu", "memory", "limit"), [(1, "4", 32, 48), (4, "16", 128, 192), (8, "32", 256, 384)]
)
def test_resources_follow_the_number_of_devices(devices, cpu, memory, limit):
    """See aim-engine 7.4."""
    assert resources(devices) == {
        "requests": {"cpu": cpu, "memory": f"{memory}Gi", "amd.com/gpu": str(devices)},
        "limits": {"memory": f"{limit}Gi", "amd.com/gpu": str(devices)},
    }


def test_without_devices_one_devices_share_is_asked_for_instead_of_nothing():
    """See aim-engine 7.4."""
    assert engine(pod({"accelerator": "cpu"}))["resources"] == {
        "requests": {"cpu": "4", "memory": "32Gi"},
        "limits": {"memory": "48Gi"},
    }


def test_a_services_amount_takes_the_place_of_one_key_and_leaves_the_others():
    """See aim-engine 7.4."""
    found = resources(4, {"requests": {"memory": "64Gi"}})
    assert found["requests"] == {"cpu": "16", "memory": "64Gi", "amd.com/gpu": "4"}
    assert found["limits"] == {"memory": "192Gi", "amd.com/gpu": "4"}
    assert resources(1, {"limits": {"cpu": "6"}})["limits"] == {"memory": "48Gi", "cpu": "6", "amd.com/gpu": "1"}


def test_a_lower_layers_amount_wins_over_ours_and_the_limit_follows_where_theirs_stays_below():
    """See aim-engine 7.4."""
    below = {"resources": {"requests": {"memory": "256Gi", "ephemeral-storage": "5Gi"}}}
    found = resources(4, {"requests": {"ephemeral-storage": "6Gi"}}, defaults=below)
    assert found["requests"]["memory"] == found["limits"]["memory"] == "256Gi"
    assert found["requests"]["ephemeral-storage"] == "6Gi"
    assert found["requests"]["amd.com/gpu"] == "4"


def test_devices_beside_parallelism_are_refused_where_theirs_would_take_them():
    """See aim-engine 7.4, B62."""
    both = {"requests": {"amd.com/gpu": "8"}, "limits": {"amd.com/gpu": "8"}}
    found = told(tree(qwen={"accelerator": "amd", "resources": both}))
    assert [message.partition(":")[0] for message in found] == [
        "services.qwen.resources.requests",
        "services.qwen.resources.limits",
    ]
    assert all(message.endswith("set parallelism.tensor: 8") for message in found)


@pytest.mark.parametrize("replicas", [1, 3, 0])
def test_fixed_replicas_are_the_services_own(replicas):
    """See aim-engine 7.5."""
    workload = find(rendered(tree(qwen={"replicas": replicas})), "Deployment", "qwen-decode")
    assert workload["spec"]["replicas"] == replicas


def test_the_services_variable_wins_over_the_defaults_and_over_ours():
    """See aim-engine 7.3."""
    below = {"engine": {"env": {"SHARED_VAR": "defaults", "VLLM_NO_USAGE_STATS": "0", "ONLY": "defaults"}}}
    service = {"engine": {"env": {"SHARED_VAR": "service", "HOME": "/elsewhere"}}}
    found = values(engine(pod(service, defaults=below)))
    assert (found["SHARED_VAR"], found["HOME"]) == ("service", "/elsewhere")
    assert (found["VLLM_NO_USAGE_STATS"], found["ONLY"]) == ("0", "defaults")


def test_prefills_variable_wins_over_the_services():
    """See aim-engine 7.3."""
    service = {"engine": {"env": {"SHARED_VAR": "service"}}, "prefill": {"engine": {"env": {"SHARED_VAR": "prefill"}}}}
    everything = rendered(tree(qwen=service))
    found = [values(engine(template))["SHARED_VAR"] for template in serving(everything)]
    assert found == ["service", "prefill"]


@pytest.mark.parametrize("name", ["one-pod", "prefill", "spanning", "spanning-prefill"])
def test_the_service_wins_over_every_variable_of_ours_that_is_not_refused(name):
    """See aim-engine 7.3."""
    tracing = {"tracing": {"endpoint": "http://otel:4317"}}
    generated = {
        key: value
        for template in model_servers(rendered({**tree(qwen=SHAPES[name]), "observability": tracing}))
        for key, value in values(engine(template)).items()
    }
    reserved = {*engines._RESERVED} & generated.keys()
    assert len(generated) > len(reserved)
    variables = {key: f"mine-{key}" for key in generated.keys() - reserved}
    shape = {**SHAPES[name], "engine": {"env": variables}}
    for template in model_servers(rendered({**tree(qwen=shape), "observability": tracing})):
        found = values(engine(template))
        assert {key: found[key] for key in variables.keys() & found.keys()} == {
            key: variables[key] for key in variables.keys() & found.keys()
        }
        assert variables.keys() <= found.keys()
    for key in reserved:
        assert told(tree(qwen={**SHAPES[name], "engine": {"env": {key: "mine"}}}))


def test_a_variable_replaces_value_and_source_whole():
    """See aim-engine 7.3."""
    secret = {"secretKeyRef": {"name": "s", "key": "z"}}
    below = {"engine": {"env": {"TEXT": "x", "SECRET": secret}}}
    service = {"engine": {"env": {"TEXT": {"fieldRef": {"fieldPath": "status.podIP"}}, "SECRET": "$(TEXT)"}}}
    found = engine(pod(service, defaults=below))["env"]
    (text,) = [variable for variable in found if variable["name"] == "TEXT"]
    assert text == {"name": "TEXT", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}
    assert values(engine(pod(service, defaults=below)))["SECRET"] == "$(TEXT)"


def test_variables_keep_the_order_they_were_written_in_where_theirs_are_sorted():
    """See aim-engine 7.3."""
    variables = {"ZEBRA": "1", "APPLE": "$(MANGO)", "KIWI": "2", "MANGO": "3"}
    found = [variable["name"] for variable in engine(pod({"engine": {"env": variables}}))["env"]]
    assert [name for name in found if name in variables] == ["ZEBRA", "MANGO", "APPLE", "KIWI"]


def test_json_of_the_service_merges_over_the_json_that_is_generated():
    """See aim-engine 7.3."""
    service = {"prefill": {}, "engine": {"args": ['--kv-transfer-config={"kv_role":"kv_consumer","kv_buffer_size":1}']}}
    found = flag(engine(pod(service)), "--kv-transfer-config")
    assert found == '{"kv_connector":"NixlConnector","kv_role":"kv_consumer","kv_buffer_size":1}'


def test_two_long_services_of_one_namespace_have_names_of_their_own():
    """See aim-engine 4.3, B40."""
    vectors = ["chat-llama-3-8b-prod", "chat-llama-3-8b-dev", "very-long-service-name-that-might-exceed-limits"]
    vectors += ["very-long-service-name-that-might-exceed-kubernetes-limits", "a", "abcdef"]
    for namespace in ("team-production-inference-eu1", "n" * 42, "n" * 63):
        bases = {names(namespace, service).base for service in vectors}
        assert len(bases) == len(vectors)
        assert all(len(base) <= 63 for base in bases)


@every_rendering
def test_b60_every_variable_is_there_once(everything):
    for template in templates(everything):
        for container in containers(template):
            found = [variable["name"] for variable in container.get("env", [])]
            assert len(found) == len(set(found))


@given(variables=st.dictionaries(st.sampled_from(["HOME", "USER", "POD_IP", "DO_NOT_TRACK", "X"]), st.just("mine")))
def test_b60_a_users_variable_is_never_beside_one_of_ours(variables):
    service = {"engine": {"env": variables}}
    found = engine(pod(service))["env"]
    assert len(found) == len({variable["name"] for variable in found})
    assert {variable["name"]: variable["value"] for variable in found}.items() >= variables.items()


@pytest.mark.parametrize("text", ["not-json", '{"a":', "{'a': 1}"])
def test_b61_invalid_json_is_an_error_before_anything_is_deployed(text):
    (message,) = told(tree(qwen={"engine": {"args": [f"--compilation-config={text}"]}}))
    assert message.startswith("services.qwen.engine.args[0]: is not valid JSON (--compilation-config: line 1 column")


@every_rendering
def test_b62_devices_are_limited_to_what_is_requested(everything):
    for template in templates(everything):
        for container in containers(template):
            devices = {(group, name): number for group, name, number in amounts(container) if "/" in name}
            requests = {name: number for (group, name), number in devices.items() if group == "requests"}
            limits = {name: number for (group, name), number in devices.items() if group == "limits"}
            assert requests == limits
            assert all(number.isdigit() and int(number) > 0 for number in requests.values())


@pytest.mark.parametrize(
    "patch",
    [
        {"resources": {"limits": {"nvidia.com/gpu": "4"}}},
        {"resources": {"limits": {"amd.com/gpu": "4"}}},
        {"resources": {"limits": None}},
    ],
)
def test_b62_no_patch_makes_limits_differ(patch):
    containers_ = {"spec": {"template": {"spec": {"containers": [{"name": "vllm", **patch}]}}}}
    (message,) = told(tree(qwen={"patch": containers_}))
    assert message.startswith("services.qwen.patch.spec.template.spec.containers[0].resources.limits")


def test_zero_devices_leave_no_device_key_anywhere():
    """See aim-engine 7.4, B62."""
    for name in ("no-devices", "cpu"):
        for template in model_servers(rendered(EVERY[name])):
            assert {name for container in containers(template) for _, name, _ in amounts(container)} <= {
                "cpu", "memory", "ephemeral-storage",
            }  # fmt: skip
            assert template["spec"].get("tolerations", []) == []


@pytest.mark.parametrize("replicas", [-1, 1.5, True, "2"])
def test_b63_replicas_are_a_whole_number_from_zero(replicas):
    assert told(tree(qwen={"replicas": replicas}))[0].startswith("services.qwen.replicas: ")


@every_rendering
def test_b65_no_pod_is_ready_before_its_weights_are_loaded(everything):
    for template in serving(everything):
        container = engine(template)
        for probe in ("startupProbe", "readinessProbe"):
            assert container[probe]["httpGet"]["path"].startswith("/")
        assert container["startupProbe"]["failureThreshold"] * container["startupProbe"]["periodSeconds"] >= 600


@pytest.mark.parametrize("name", ["one-pod", "prefill", "spanning", "custom"])
def test_b66_pull_secrets_and_account_reach_every_model_pod(name):
    below = {"pod": {"imagePullSecrets": [{"name": "reg"}], "serviceAccountName": "sa"}}
    for template in model_servers(rendered({**tree(qwen=SHAPES[name]), "defaults": below})):
        assert template["spec"]["imagePullSecrets"] == [{"name": "reg"}]
        assert template["spec"]["serviceAccountName"] == "sa"


def test_b66_the_services_list_of_pull_secrets_is_the_list():
    below = {"pod": {"imagePullSecrets": [{"name": "reg"}]}}
    service = {"pod": {"imagePullSecrets": [{"name": "mine"}]}}
    assert pod(service, defaults=below)["spec"]["imagePullSecrets"] == [{"name": "mine"}]


@pytest.mark.parametrize(("devices", "expected"), [(1, 8), (4, 32), (8, 64)])
def test_b67_shared_memory_grows_with_the_devices_and_fits_the_memory_that_it_counts_against(devices, expected):
    template = pod({"parallelism": {"tensor": devices}})
    shared = volumes(template)["shared-memory"]["emptyDir"]["sizeLimit"]
    assert shared == f"{expected}Gi"
    assert amount(shared) < amount(engine(template)["resources"]["limits"]["memory"])


def test_b67_a_cpu_limit_and_every_default_can_be_said():
    requested = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "2", "memory": "3Gi"}}
    assert (
        engine(pod({"accelerator": "cpu", "resources": requested, "pod": {"sharedMemory": "1Gi"}}))["resources"]
        == requested
    )


def test_b68_where_pods_run_and_how_they_are_disturbed_can_be_said():
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    pod_fields = {
        "tolerations": [{"key": "t", "operator": "Exists"}],
        "nodeSelector": {"zone": "a"},
        "topologySpreadConstraints": [spread],
    }
    everything = rendered(tree(qwen={"pod": pod_fields, "replicas": 2, "disruptionBudget": {"maxUnavailable": 1}}))
    spec = find(everything, "Deployment", "qwen-decode")["spec"]["template"]["spec"]
    assert pod_fields["tolerations"][0] in spec["tolerations"]
    assert spec["nodeSelector"] == {"zone": "a"}
    assert spec["topologySpreadConstraints"][0].items() >= spread.items()
    assert find(everything, "PodDisruptionBudget", "qwen-decode")["spec"]["maxUnavailable"] == 1


@given(st.permutations(["sql", "legal", "chat"]))
def test_b69_volumes_and_mounts_have_one_order_however_their_sources_are_written(order):
    sources = {"sql": "kit://registry.example/sql:v1", "legal": "pvc://adapters/legal", "chat": "pvc://adapters/chat"}
    adapters = {name: {"source": sources[name]} for name in order}
    spec = pod({"model": {**SERVICE["model"], "lora": {"adapters": adapters}}})["spec"]
    assert [volume["name"] for volume in spec["volumes"]][:4] == ["model", "adapters", "adapter-chat", "adapter-legal"]
    assert [container["name"] for container in spec["initContainers"]] == ["model-unpack", "adapter-sql"]
    paths = [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]][:4]
    assert paths == ["/models", "/adapters/chat", "/adapters/legal", "/adapters/sql"]


def test_b70_an_explicit_zero_false_or_empty_text_wins():
    below = {
        "replicas": 3,
        "disruptionBudget": {"maxUnavailable": 2},
        "route": {"enabled": True},
        "endpointPicker": {"metricsAuth": True},
        "engine": {"env": {"X": "x"}},
    }
    service = {
        "replicas": 0,
        "route": {"enabled": False},
        "endpointPicker": {"metricsAuth": False},
        "engine": {"env": {"X": ""}},
    }
    everything = rendered({**tree(qwen=service, other={}), "defaults": below})
    workload = find(everything, "Deployment", "qwen-decode")["spec"]
    assert workload["replicas"] == 0
    assert values(engine(workload["template"]))["X"] == ""
    assert [
        manifest["metadata"]["name"]
        for manifest in everything
        if manifest["kind"] in {"HTTPRoute", "ClusterRoleBinding"}
    ] == [
        "inference-stacks:models:other-epp",
        "other",
    ]


@pytest.mark.parametrize(
    ("service", "path"),
    [
        ({"model": {**SERVICE["model"], "resources": {}}}, "services.qwen.model.resources"),
        ({"model": {**SERVICE["model"], "autoDiscovery": True}}, "services.qwen.model.autoDiscovery"),
        ({"cacheModel": True}, "services.qwen.cacheModel"),
        ({"runtimeConfigName": "x"}, "services.qwen.runtimeConfigName"),
    ],
)
def test_b71_what_would_have_no_effect_is_an_unknown_key(service, path):
    (message,) = told(tree(qwen=service))
    assert message.startswith(f"{path}: unknown key ({path.rpartition('.')[2]}); ")
