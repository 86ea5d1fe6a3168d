"""OtterScale's ModelService, the API and its modes: that we have none of its weaknesses.

Names begin with the weakness's id (A). `docs/deviations.md` lists where we differ on purpose.
"""

import pytest

from models.base import Spec
from models.service import Service
from models.stack import Stack
from planning.releases import channel, channels
from tests.support.stacks import SERVICE, find, plain, rendered, tree
from tests.support.stacks.otterscale import PROBES, deployment, kind, picker, pod
from tests.support.stacks.shapes import engine, every_picked_stack, flag, model_servers, sidecars, told, values, volumes


@pytest.mark.parametrize("given", [None, {}, {"port": 9002}, {"metricsAuth": False}, {"logLevel": 4}])
def test_a1_there_is_one_default_of_the_failure_mode_however_the_picker_is_written(given):
    service = {} if given is None else {"endpointPicker": given}
    pool = find(rendered(tree(qwen=service)), "InferencePool", "qwen")
    assert pool["spec"]["endpointPickerRef"]["failureMode"] == "FailClose"


def groups(model, at=()):
    """Yield the path of every group that is there by default and can be written empty."""
    for name, field in model.model_fields.items():
        inner = field.default
        if isinstance(inner, Spec) and not any(
            subfield.is_required() for subfield in type(inner).model_fields.values()
        ):
            path = (*at, field.alias or name)
            yield path
            yield from groups(type(inner), path)


REPLACED_WHOLE = ("services", "qwen", "endpointPicker", "resources")
GROUPS = [*groups(Stack), *(("services", "qwen", *path) for path in groups(Service))]


def test_a2_the_groups_that_are_there_by_default_are_known():
    assert {("cluster",), ("services", "qwen", "route"), ("services", "qwen", "disruptionBudget")} <= {*GROUPS}


@pytest.mark.parametrize("path", [path for path in GROUPS if path != REPLACED_WHOLE], ids=".".join)
def test_a2_an_empty_group_means_what_its_absence_means(path):
    stack, base = tree(qwen={"prefill": {}, "replicas": 2}), tree(qwen={"prefill": {}, "replicas": 2})
    at = stack
    for part in path:
        at = at.setdefault(part, {})
    assert rendered(stack) == rendered(base)


def test_a2_the_pickers_resources_are_replaced_whole_as_they_say():
    assert REPLACED_WHOLE in GROUPS
    requested = {"requests": {"cpu": "2"}}
    resources = picker(rendered(tree(qwen={"endpointPicker": {"resources": requested}})))["resources"]
    assert resources["requests"] == {"cpu": "2"}
    assert not resources.get("limits")


def test_a2_what_is_off_is_switched_on_by_its_empty_group_and_the_sidecar_comes_with_prefill():
    names_of = [manifest["metadata"]["name"] for manifest in rendered(tree(qwen={"prefill": {}}))]
    assert "qwen-prefill" in map(plain, names_of)
    assert rendered(tree(qwen={"prefill": {}, "sidecar": {}})) == rendered(tree(qwen={"prefill": {}}))


@every_picked_stack
@pytest.mark.parametrize("auth", [True, False])
def test_a3_a_picker_that_asks_who_scrapes_it_may_ask(stack, auth):
    services = {
        key: {**service, "endpointPicker": {**service.get("endpointPicker", {}), "metricsAuth": auth}}
        for key, service in stack["services"].items()
    }
    everything = rendered({**stack, "services": services})
    bindings = kind(everything, "ClusterRoleBinding")
    asked = [binding for binding in bindings if binding["roleRef"]["name"] == "system:auth-delegator"]
    bound = {(subject["namespace"], subject["name"]) for binding in asked for subject in binding["subjects"]}
    assert all(binding in asked or binding["metadata"]["name"].endswith("-epp-metrics-reader") for binding in bindings)
    pickers = [workload for workload in kind(everything, "Deployment") if workload["metadata"]["name"].endswith("-epp")]
    assert len(pickers) == sum(2 if "canary" in service else 1 for service in stack["services"].values())
    for workload in pickers:
        account = (workload["metadata"]["namespace"], workload["spec"]["template"]["spec"]["serviceAccountName"])
        assert flag(engine(workload["spec"]["template"]), "--metrics-endpoint-auth") == str(auth).lower()
        assert (account in bound) is auth


@pytest.mark.parametrize(
    ("service", "path"),
    [
        ({"prefill": {}, "sidecar": {"enginePort": 8000}}, "sidecar.enginePort"),
        ({"prefill": {}, "engine": {"port": 8200}}, "sidecar.enginePort"),
        ({"sidecar": {"enginePort": 8300}}, "sidecar"),
        ({"prefill": {}, "sidecar": {"tls": {"prefill": True}}}, "sidecar.tls.prefill"),
        ({"prefill": {"engine": {"port": 8001}}}, "prefill.engine.port"),
        ({"kvCache": {"connector": "nixlv3"}}, "kvCache.connector"),
        ({"prefill": {}, "kvCache": {"connector": "offloading"}}, "kvCache.connector"),
        ({"health": {"interval": "30"}}, "health.interval"),
        ({"model": {**SERVICE["model"], "mountPath": "models"}}, "model.mountPath"),
    ],
)
def test_a4_fields_that_contradict_each_other_are_refused(service, path):
    assert [message.partition(": ")[0] for message in told(tree(qwen=service))] == [f"services.qwen.{path}"]


def test_a4_prefill_is_never_idle_for_want_of_a_sidecar_and_providers_are_known():
    assert len(sidecars(pod({"prefill": {}}))) == 1
    assert sidecars(pod({})) == []
    assert told({**tree(), "gateway": {"name": "g", "provider": "istoi"}})[0].startswith("gateway.provider: is not one")


def test_a5_roles_differ_in_image_arguments_and_environment():
    prefill_engine = {
        "image": "registry.example/prefill:v1",
        "args": ["--max-num-batched-tokens=1"],
        "env": {"ROLE": "p"},
    }
    service = {
        "engine": {"args": ["--seed=1"], "env": {"ROLE": "d"}},
        "prefill": {"engine": prefill_engine, "replicas": 3},
    }
    decode, prefill = (engine(pod(service, role)) for role in ("decode", "prefill"))
    assert prefill["image"] == "registry.example/prefill:v1" != decode["image"]
    assert (values(decode)["ROLE"], values(prefill)["ROLE"]) == ("d", "p")
    assert flag(decode, "--max-num-batched-tokens") is None
    assert [flag(prefill, name) for name in ("--max-num-batched-tokens", "--seed")] == ["1", "1"]
    assert [deployment(service, role)["spec"]["replicas"] for role in ("decode", "prefill")] == [1, 3]


@pytest.mark.parametrize(
    ("parallelism", "devices", "pods"),
    [
        ({"data": 2}, "2", 1),
        ({"tensor": 2, "data": 2}, "4", 1),
        ({"tensor": 2, "data": 2, "dataLocal": 2}, "4", 1),
        ({"data": 4, "dataLocal": 2}, "2", 2),
        ({"tensor": 2, "data": 4, "dataLocal": 1}, "2", 4),
    ],
)
def test_a6_data_counts_devices_and_what_exceeds_a_pod_is_a_group(parallelism, devices, pods):
    everything = rendered(tree(qwen={"parallelism": parallelism}))
    found = model_servers(everything)
    assert {engine(template)["resources"]["requests"]["nvidia.com/gpu"] for template in found} == {devices}
    sizes = [group["spec"]["leaderWorkerTemplate"]["size"] for group in kind(everything, "LeaderWorkerSet")]
    assert sizes == ([pods] if pods > 1 else [])


def test_a6_more_local_copies_than_copies_are_refused():
    (message,) = told(tree(qwen={"parallelism": {"dataLocal": 2}}))
    assert message.startswith("services.qwen.parallelism.dataLocal: does not divide data (2, 1)")


SPREAD = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
NODES = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
        }
    }
}


@pytest.mark.parametrize(
    ("pod_fields", "found"),
    [
        ({"priorityClassName": "high"}, ("priorityClassName", "high")),
        ({"serviceAccountName": "models"}, ("serviceAccountName", "models")),
        ({"runtimeClassName": "nvidia"}, ("runtimeClassName", "nvidia")),
        ({"schedulerName": "kai"}, ("schedulerName", "kai")),
        ({"nodeSelector": {"zone": "a"}}, ("nodeSelector", {"zone": "a"})),
        ({"affinity": NODES}, ("affinity", NODES)),
    ],
)
def test_a7_what_the_pod_needs_can_be_said(pod_fields, found):
    field, expected = found
    assert pod({"pod": pod_fields})["spec"][field] == expected
    assert pod({})["spec"].get(field) != expected


def test_a7_slices_claims_shared_memory_probes_and_certificates_can_be_said():
    allocation = {"type": "extended-resource", "resourceName": "nvidia.com/mig-3g.40gb"}
    claim = {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com"}
    classes = {name: {"vendor": "nvidia", "allocation": value} for name, value in (("mig", allocation), ("dra", claim))}
    everything = rendered(tree(qwen={"accelerator": "mig"}) | {"accelerators": classes})
    limits = engine(find(everything, "Deployment", "qwen-decode")["spec"]["template"])["resources"]["limits"]
    assert limits["nvidia.com/mig-3g.40gb"] == "1"
    assert "nvidia.com/gpu" not in limits
    (template,) = kind(rendered(tree(qwen={"accelerator": "dra"}) | {"accelerators": classes}), "ResourceClaimTemplate")
    assert template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1
    assert volumes(pod({"pod": {"sharedMemory": "33Gi"}}))["shared-memory"]["emptyDir"]["sizeLimit"] == "33Gi"
    assert engine(pod({"health": {"livenessPath": "/live"}}))["livenessProbe"]["httpGet"]["path"] == "/live"


def test_a7_a_certificate_of_the_sidecar_is_really_mounted_where_it_is_served():
    service = {"prefill": {}, "sidecar": {"tls": {"prefill": True, "certificate": "serving"}}}
    decode, prefill = (pod(service, role) for role in ("decode", "prefill"))
    (mount,) = [mount for mount in engine(prefill)["volumeMounts"] if mount["name"] == "certificate"]
    assert volumes(prefill)["certificate"]["secret"]["secretName"] == "serving"
    assert flag(engine(prefill), "--ssl-certfile") == f"{mount['mountPath']}/tls.crt"
    assert flag(engine(prefill), "--ssl-keyfile") == f"{mount['mountPath']}/tls.key"
    assert {engine(prefill)[probe]["httpGet"]["scheme"] for probe in PROBES} == {"HTTPS"}
    assert flag(sidecars(decode)[0], "--enable-tls") == "prefiller"
    assert "certificate" not in volumes(decode)


@pytest.mark.parametrize("release", channels())
def test_a8_every_flag_of_the_picker_is_fed_by_a_field_or_by_its_channel(release):
    def arguments(observability, **spec):
        stack = tree(qwen={"endpointPicker": spec}) | {"release": release, "observability": observability}
        return {argument.partition("=")[0]: argument.partition("=")[2] for argument in picker(rendered(stack))["args"]}

    plain = arguments({})
    traced = arguments({"tracing": {"endpoint": "http://otel:4317"}}, port=9100, logLevel=5, metricsAuth=False)
    fed = {name for name in plain if plain[name] != traced[name]}
    from_channel = dict(argument.split("=", 1) for argument in channel(release).picker.flags.always)
    constant = {"--pool-name", "--pool-namespace", "--pool-group", "--config-file", "--grpc-health-port"}
    assert fed == {"--grpc-port", "--v", "--metrics-endpoint-auth", "--tracing"}
    assert from_channel
    assert plain.items() >= from_channel.items()
    assert plain.keys() - fed - from_channel.keys() == constant | {"--metrics-port"}
