"""OtterScale's ModelService: what we adopt of its pods, and that we have none of its weaknesses.

Names begin with the weakness's id (A API, N names, W workload, E endpoint picker, S security) or with the section that
is adopted. `docs/deviations.md` lists where we differ on purpose.
"""

import json
import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.base import Spec
from models.service import Service
from models.stack import Stack
from models.vocabulary import amount
from planning.names import names
from planning.releases import channel, channels
from tests.shapes import (
    DIGEST,
    EVERY,
    SPANNING,
    containers,
    engine,
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
from tests.stacks import SERVICE, find, rendered, tree

PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
SHELLS = {"sh", "ash", "bash", "dash", "zsh", "busybox"}
SERVICE_NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
NAMESPACES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
WORKLOADS = {
    "Deployment": lambda spec: spec["strategy"].get("rollingUpdate", {}),
    "LeaderWorkerSet": lambda spec: spec["rolloutStrategy"]["rollingUpdateConfiguration"],
}
"""How a workload rolls, by its kind."""


def deployment(service, role="decode"):
    return find(rendered(tree(qwen=service)), "Deployment", f"qwen-{role}")


def pod(service, role="decode"):
    return deployment(service, role)["spec"]["template"]


def picker(everything, name="qwen"):
    return engine(find(everything, "Deployment", f"{name}-epp")["spec"]["template"])


def kind(everything, wanted):
    return [one for one in everything if one["kind"] == wanted]


# --- W: the workload


@every_stack
def test_w1_probes_ask_the_engine_itself_also_behind_the_sidecar(stack):
    for template in serving(rendered(stack)):
        own = engine(template)
        (port,) = (one["containerPort"] for one in own["ports"])
        assert [own[probe]["httpGet"]["port"] for probe in PROBES] == [port] * 3
        assert port not in [one["containerPort"] for proxy in sidecars(template) for one in proxy["ports"]]
        assert own["name"] != "vllm" or flag(own, "--port") == str(port)


def test_w1_the_sidecar_answers_health_on_the_services_port_and_the_engine_on_its_own():
    own = pod({"prefill": {}, "sidecar": {"enginePort": 8300}})
    assert engine(own)["readinessProbe"]["httpGet"] == {"path": "/v1/models", "port": 8300}
    (proxy,) = sidecars(own)
    assert [one["containerPort"] for one in proxy["ports"]] == [8000]


@every_stack
def test_w2_shared_memory_and_a_writable_home(stack):
    for template in model_servers(rendered(stack)):
        mounts = {one["mountPath"]: one for one in engine(template)["volumeMounts"]}
        shared = volumes(template)[mounts["/dev/shm"]["name"]]["emptyDir"]
        assert shared["medium"] == "Memory"
        assert amount(shared["sizeLimit"]) >= 2**30
        home = mounts[values(engine(template))["HOME"]]
        assert "emptyDir" in volumes(template)[home["name"]]
        assert not home.get("readOnly")


@every_stack
def test_w3_user_and_group_are_said_and_the_volumes_are_theirs(stack):
    for template in model_servers(rendered(stack)):
        context = template["spec"]["securityContext"]
        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] > 0
        assert context["fsGroup"] == context["runAsGroup"] > 0
        assert all(not {"runAsUser", "runAsGroup"} & one["securityContext"].keys() for one in containers(template))


@pytest.mark.parametrize(
    ("name", "size"), [("mi300x", "62Gi"), ("hub", "10Gi"), ("bucket", "10Gi"), ("signed-kit-with-adapters", "20Gi")]
)
def test_w4_the_nodes_disk_is_asked_for_and_bounded(name, size):
    needed = amount(size) * 11 / 10
    for template in model_servers(rendered(EVERY[name])):
        brought = {one["volumeMounts"][0]["name"] for one in fetching(template)}
        limits = [amount(volumes(template)[volume]["emptyDir"]["sizeLimit"]) for volume in brought]
        assert needed <= sum(limits) < needed + len(limits) * 2**30 + amount("1Gi")
        # A pod reserves the largest request of its init containers, which run one after the other.
        assert max(amount(one["resources"]["requests"]["ephemeral-storage"]) for one in fetching(template)) >= needed


@every_stack
def test_w4_what_fetches_says_what_it_needs_and_a_restart_finishes_what_was_begun(stack):
    for template in model_servers(rendered(stack)):
        for one in fetching(template):
            assert {"cpu", "memory"} <= one["resources"]["requests"].keys()
            assert "memory" in one["resources"]["limits"]
            if "KITOPS_HOME" in values(one):
                assert "-o" in one.get("command", ()) or values(one)["EXTRA_FLAGS"] == "--overwrite"


def test_w4_a_claim_is_mounted_and_nothing_is_fetched():
    (template,) = serving(rendered(EVERY["claim"]))
    assert fetching(template) == []
    model = volumes(template)["model"]["persistentVolumeClaim"]
    assert model == {"claimName": "weights", "readOnly": True}


@every_stack
def test_w5_pods_and_selectors_know_no_version_release_or_hash_of_ours(stack):
    release = stack.get("release", "llm-d-0.10")
    for one in rendered(stack):
        assert "app.kubernetes.io/version" not in json.dumps(one)
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
        pods = [one["metadata"] for one in model_servers(everything)]
        selectors = [
            (one["kind"], one["metadata"]["name"], one["spec"]["selector"])
            for one in everything
            if "selector" in one.get("spec", {})
        ]
        workloads = [(one["kind"], one["metadata"]["name"]) for one in everything]
        return pods, selectors, workloads

    first, *others = [identity(release) for release in channels()]
    assert others
    assert all(other == first for other in others)


@every_stack
def test_w6_no_pod_is_added_while_rolling_unless_it_was_asked_for(stack):
    asked = "maxSurge" in json.dumps(stack)
    for one in rendered(stack):
        if label(one, "app.kubernetes.io/component") != "model-server" or one["kind"] not in WORKLOADS:
            continue
        strategy = WORKLOADS[one["kind"]](one["spec"])
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
    (one,) = [
        one for one in rendered(tree(qwen={**shape, **given})) if one["metadata"]["name"] == "qwen-decode"
        and one["kind"] in WORKLOADS
    ]  # fmt: skip
    assert one["spec"]["replicas"] == (1 if replicas is None else replicas)


@every_stack
def test_w8_nothing_that_fetches_runs_a_shell(stack):
    for template in model_servers(rendered(stack)):
        for one in fetching(template):
            tokens = [*one.get("command", []), *one.get("args", [])]
            assert not {PurePosixPath(token).name for token in tokens} & SHELLS
            assert "-c" not in tokens
            assert not any(mark in token for token in tokens for mark in ("\n", ";", "&&", "|", "$"))


def test_w8_the_reference_is_one_token_that_no_source_can_turn_into_a_flag():
    (one,) = fetching(pod({}))
    assert one["command"][:3] == ["kit", "unpack", "registry.example/org/model:v1"]
    for source in ("kit://-o/org/model:v1", "hf://-x/model", "s3://-bucket/model", "pvc://-claim"):
        (message,) = told(tree(qwen={"model": {"name": "org/model", "source": source}}))
        assert message.startswith("services.qwen.model.source: is not")


@pytest.mark.parametrize("name", ["one-pod", "private-kit", "signed-kit-with-adapters", "mi300x", "Pulumi.dev"])
def test_w9_kit_finds_the_file_that_keeps_it_from_asking_for_updates(name):
    for template in model_servers(rendered(EVERY[name])):
        kits = [one for one in fetching(template) if "KITOPS_HOME" in values(one)]
        assert kits
        for one in kits:
            file = f"{values(one)['KITOPS_HOME']}/disable-update-notifications"
            (mount,) = [mount for mount in one["volumeMounts"] if mount["mountPath"] == file]
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
    budgets = kind(rendered(tree(qwen=service)), "PodDisruptionBudget")
    assert [(one["metadata"]["name"], one["spec"]["maxUnavailable"]) for one in budgets] == expected


@every_stack
def test_w10_a_budget_covers_pods_of_one_role(stack):
    everything = rendered(stack)
    for budget in kind(everything, "PodDisruptionBudget"):
        wanted = budget["spec"]["selector"]["matchLabels"]
        name = budget["metadata"]["name"]
        if any(one["metadata"]["name"] == name for one in kind(everything, "LeaderWorkerSet")):
            assert wanted == {"leaderworkerset.sigs.k8s.io/name": name}
        else:
            assert wanted == find(everything, "Deployment", name)["spec"]["selector"]["matchLabels"]


def test_w10_pods_can_be_spread_and_the_pods_of_the_role_are_what_is_spread():
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    one = deployment({"pod": {"topologySpreadConstraints": [spread]}})["spec"]
    assert one["template"]["spec"]["topologySpreadConstraints"] == [{"labelSelector": one["selector"], **spread}]


# --- A: the API and its modes


@pytest.mark.parametrize("given", [None, {}, {"port": 9002}, {"metricsAuth": False}, {"logLevel": 4}])
def test_a1_there_is_one_default_of_the_failure_mode_however_the_picker_is_written(given):
    service = {} if given is None else {"endpointPicker": given}
    pool = find(rendered(tree(qwen=service)), "InferencePool", "qwen")
    assert pool["spec"]["endpointPickerRef"]["failureMode"] == "FailClose"


def groups(model, at=()):
    """Yield the path of every group that is there by default and can be written empty."""
    for name, field in model.model_fields.items():
        inner = field.default
        if isinstance(inner, Spec) and not any(one.is_required() for one in type(inner).model_fields.values()):
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
    own = {"requests": {"cpu": "2"}}
    resources = picker(rendered(tree(qwen={"endpointPicker": {"resources": own}})))["resources"]
    assert resources["requests"] == {"cpu": "2"}
    assert not resources.get("limits")


def test_a2_what_is_off_is_switched_on_by_its_empty_group_and_the_sidecar_comes_with_prefill():
    names_of = [one["metadata"]["name"] for one in rendered(tree(qwen={"prefill": {}}))]
    assert "qwen-prefill" in names_of
    assert rendered(tree(qwen={"prefill": {}, "sidecar": {}})) == rendered(tree(qwen={"prefill": {}}))


@every_stack
@pytest.mark.parametrize("auth", [True, False])
def test_a3_a_picker_that_asks_who_scrapes_it_may_ask(stack, auth):
    services = {
        key: {**one, "endpointPicker": {**one.get("endpointPicker", {}), "metricsAuth": auth}}
        for key, one in stack["services"].items()
    }
    everything = rendered({**stack, "services": services})
    bindings = kind(everything, "ClusterRoleBinding")
    bound = {(one["namespace"], one["name"]) for binding in bindings for one in binding["subjects"]}
    assert all(one["roleRef"]["name"] == "system:auth-delegator" for one in bindings)
    pickers = [one for one in kind(everything, "Deployment") if one["metadata"]["name"].endswith("-epp")]
    assert len(pickers) == len(stack["services"])
    for one in pickers:
        account = (one["metadata"]["namespace"], one["spec"]["template"]["spec"]["serviceAccountName"])
        assert flag(engine(one["spec"]["template"]), "--metrics-endpoint-auth") == str(auth).lower()
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
    own = {"image": "registry.example/prefill:v1", "args": ["--max-num-batched-tokens=1"], "env": {"ROLE": "p"}}
    service = {"engine": {"args": ["--seed=1"], "env": {"ROLE": "d"}}, "prefill": {"engine": own, "replicas": 3}}
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
    assert {engine(one)["resources"]["requests"]["nvidia.com/gpu"] for one in found} == {devices}
    sizes = [one["spec"]["leaderWorkerTemplate"]["size"] for one in kind(everything, "LeaderWorkerSet")]
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
    ("said", "found"),
    [
        ({"priorityClassName": "high"}, ("priorityClassName", "high")),
        ({"serviceAccountName": "models"}, ("serviceAccountName", "models")),
        ({"runtimeClassName": "nvidia"}, ("runtimeClassName", "nvidia")),
        ({"schedulerName": "kai"}, ("schedulerName", "kai")),
        ({"nodeSelector": {"zone": "a"}}, ("nodeSelector", {"zone": "a"})),
        ({"affinity": NODES}, ("affinity", NODES)),
    ],
)
def test_a7_what_the_pod_needs_can_be_said(said, found):
    field, expected = found
    assert pod({"pod": said})["spec"][field] == expected
    assert pod({})["spec"].get(field) != expected


def test_a7_slices_claims_shared_memory_probes_and_certificates_can_be_said():
    allocation = {"type": "extended-resource", "resourceName": "nvidia.com/mig-3g.40gb"}
    claim = {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com"}
    classes = {name: {"vendor": "nvidia", "allocation": one} for name, one in (("mig", allocation), ("dra", claim))}
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
    (mount,) = [one for one in engine(prefill)["volumeMounts"] if one["name"] == "certificate"]
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
        return {one.partition("=")[0]: one.partition("=")[2] for one in picker(rendered(stack))["args"]}

    plain = arguments({})
    traced = arguments({"tracing": {"endpoint": "http://otel:4317"}}, port=9100, logLevel=5, metricsAuth=False)
    fed = {one for one in plain if plain[one] != traced[one]}
    from_channel = dict(one.split("=", 1) for one in channel(release).picker.flags.always)
    constant = {"--pool-name", "--pool-namespace", "--pool-group", "--config-file", "--grpc-health-port"}
    assert fed == {"--grpc-port", "--v", "--metrics-endpoint-auth", "--tracing"}
    assert from_channel
    assert plain.items() >= from_channel.items()
    assert plain.keys() - fed - from_channel.keys() == constant | {"--metrics-port"}


# --- N: names and ownership


def derived(own):
    """Return every value that Kubernetes, Istio and LeaderWorkerSet make of a service's names."""
    workloads = [f"{own.base}{variant}-{role}" for variant in ("", "-canary") for role in ("decode", "prefill")]
    yield from (own.base, own.decode, own.prefill, own.picker, *workloads, f"{own.base}-canary-epp")
    yield from (f"{own.base}{variant}-ip-0123abcd" for variant in ("", "-canary"))
    yield from (f"{name}-999-4294967295" for name in workloads)


@given(service=SERVICE_NAMES | st.integers(1, 63).map("q".__mul__), namespace=NAMESPACES)
def test_n1_names_are_legal_with_every_suffix_that_is_put_behind_them(service, namespace):
    assert all(DNS_1035.fullmatch(one) for one in derived(names(namespace, service)))


def test_n1_a_service_of_sixty_characters_is_deployed():
    service = "q" * 60
    everything = rendered(tree(**{service: {"prefill": {}}}))
    labels = [*(one["metadata"]["labels"] for one in everything)]
    labels += [one["metadata"]["labels"] for one in templates(everything)]
    assert max(len(value) for one in labels for value in one.values()) <= 63
    assert max(len(one["metadata"]["name"]) for one in everything if one["kind"] != "ClusterRoleBinding") <= 63


def test_n1_a_long_account_of_the_interceptor_makes_no_label_too_long():
    stack = tree()
    stack["interceptor"] = {"mode": "label", "namespace": "metering", "serviceAccountName": f"{'a' * 62}.{'b' * 62}"}
    roles = [one for one in rendered(stack) if one["metadata"]["name"].endswith("-services")]
    assert [one["kind"] for one in roles] == ["Role", "RoleBinding"]
    assert roles[1]["subjects"][0]["name"] == stack["interceptor"]["serviceAccountName"]
    for one in roles:
        assert all(re.fullmatch(r"[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?", value)
                   for value in one["metadata"]["labels"].values())  # fmt: skip


NEAR = st.sampled_from(["q" * 33, "q" * 34, "q" * 62 + "a", "q" * 62 + "b", f"{'q' * 24}-{'q' * 30}", "q-q", "qq"])


@given(SERVICE_NAMES | NEAR, SERVICE_NAMES | NEAR)
def test_n2_different_services_have_different_names(one, other):
    assert (names("models", one).base == names("models", other).base) == (one == other)


@pytest.mark.parametrize("name", ["a.b", "a_b", "A-b", "0.6b", "-a", "a-", "é1", "a b"])
def test_n2_what_would_need_sanitising_is_refused(name):
    assert told(tree(**{name: {}}))[0].partition(":")[2].startswith(" is not a DNS-1035 label")
    (message,) = told(tree(qwen={"name": name}))
    assert message.startswith("services.qwen.name: is not a DNS-1035 label")


@given(NAMESPACES, SERVICE_NAMES, NAMESPACES, SERVICE_NAMES)
def test_n3_cluster_scoped_names_of_two_services_differ(namespace, service, other_namespace, other):
    first, second = names(namespace, service), names(other_namespace, other)
    same = (namespace, service) == (other_namespace, other)
    assert (first.picker_cluster_scoped == second.picker_cluster_scoped) == same


def test_n3_the_known_ambiguous_pair_has_a_binding_each():
    stack = tree(**{"b-c": {"namespace": "a"}, "c": {"namespace": "a-b"}})
    bindings = kind(rendered(stack), "ClusterRoleBinding")
    assert len({one["metadata"]["name"] for one in bindings}) == 2
    assert {one["subjects"][0]["namespace"] for one in bindings} == {"a", "a-b"}


@given(service=SERVICE_NAMES)
def test_n4_pool_route_and_service_have_one_base_of_which_istio_can_make_a_service(service):
    everything = rendered(tree(**{service: {}}))
    bases = {
        one["metadata"]["name"] for one in everything
        if one["kind"] in {"InferencePool", "HTTPRoute"}
        or (one["kind"] == "Service" and label(one, "app.kubernetes.io/component") == "model-server")
    }  # fmt: skip
    (base,) = bases
    assert DNS_1035.fullmatch(f"{base}-ip-0123abcd")
    assert picker(everything, base)["args"][0] == f"--pool-name={base}"


def test_n5_a_service_named_like_anothers_picker_is_refused_instead_of_taking_its_objects():
    (message,) = told(tree(**{"foo": {}, "foo-epp": {}}))
    assert "services.foo-epp: would make an object of services.foo (Service models/foo-epp)" in message


def test_n6_a_service_that_goes_takes_only_what_it_made():
    one, both = rendered(tree(a={"prefill": {}})), rendered(tree(a={"prefill": {}}, b={"prefill": {}, "replicas": 2}))
    assert [other for other in both if other in one] == one
    assert all(other["metadata"]["name"].split(":")[-1].split("-")[0] == "b" for other in both if other not in one)


# --- E and S: the picker, and security


def test_e4_a_picker_asks_for_less_than_theirs_and_can_be_told_what():
    requests = picker(rendered(tree()))["resources"]["requests"]
    assert amount(requests["cpu"]) < 4
    assert amount(requests["memory"]) < amount("8Gi")
    own = {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}}
    assert picker(rendered(tree(qwen={"endpointPicker": {"resources": own}})))["resources"] == own


@every_stack
def test_e5_a_missing_configuration_is_not_hidden(stack):
    for one in templates(rendered(stack)):
        for volume in one["spec"]["volumes"]:
            sources = (volume.get(kind, {}) for kind in ("configMap", "secret", "projected"))
            assert not any(source.get("optional") for source in sources)


@every_stack
def test_s1_models_are_pulled_over_tls_unless_the_service_says_otherwise(stack):
    insecure = {one.get("name", key) for key, one in stack["services"].items() if one["model"].get("insecure")}
    for template in model_servers(rendered(stack)):
        plain = "plain-http" in json.dumps(fetching(template))
        assert plain == (label(template, "app.kubernetes.io/name") in insecure)


def test_s1_plain_http_is_one_services_own_choice():
    insecure = {"model": {**SERVICE["model"], "insecure": True}}
    everything = rendered(tree(a={}, b=insecure))
    plain = ["--plain-http" in json.dumps(fetching(one)) for one in serving(everything)]
    assert plain == [False, True]


@every_stack
def test_s7_no_picker_serves_profiles(stack):
    pickers = [one for one in templates(rendered(stack)) if engine(one)["name"] == "epp"]
    assert pickers
    assert all(flag(engine(one), "--enable-pprof") == "false" for one in pickers)


@pytest.mark.parametrize("name", ["prefill", "prefill-by-an-account", "spanning-prefill", "prefill-decode"])
def test_s8_the_sidecar_asks_only_pods_of_its_pool_and_alone_has_the_token_for_that(name):
    everything = rendered(EVERY[name])
    (pool,) = kind(everything, "InferencePool")
    (template,) = [one for one in serving(everything) if sidecars(one)]
    (proxy,) = sidecars(template)
    assert flag(proxy, "--enable-ssrf-protection") == "true"
    assert flag(proxy, "--inference-pool") == f"{pool['metadata']['namespace']}/{pool['metadata']['name']}"
    account = template["spec"]["serviceAccountName"]
    tokens = {
        volume["name"]
        for volume in template["spec"]["volumes"]
        if any("serviceAccountToken" in source for source in volume.get("projected", {}).get("sources", []))
    }
    holders = [one["name"] for one in containers(template) if tokens & {m["name"] for m in one["volumeMounts"]}]
    assert holders == ["routing-proxy"]
    (binding,) = [one for one in kind(everything, "RoleBinding") if one["subjects"][0]["name"] == account]
    role = find(everything, "Role", binding["roleRef"]["name"])
    assert [(rule["resources"], rule.get("resourceNames"), rule["verbs"]) for rule in role["rules"]] == [
        (["pods"], None, ["list", "watch"]),
        (["inferencepools"], [pool["metadata"]["name"]], ["list", "watch"]),
    ]


@every_stack
def test_s8_no_model_pod_is_given_a_token_unasked(stack):
    for template in model_servers(rendered(stack)):
        assert template["spec"]["automountServiceAccountToken"] is False
        assert bool(sidecars(template)) == ("serviceAccountToken" in json.dumps(template["spec"]["volumes"]))


@every_stack
def test_s9_a_picker_reads_its_own_pool_and_no_secrets(stack):
    everything = rendered(stack)
    for one in kind(everything, "InferencePool"):
        name = one["metadata"]["name"]
        rules = find(everything, "Role", f"{name}-epp")["rules"]
        (pools,) = [rule for rule in rules if "inferencepools" in rule["resources"]]
        assert pools["resourceNames"] == [name]
        assert {"get", "list", "watch"} >= {verb for rule in rules for verb in rule["verbs"]}
        assert "secrets" not in [resource for rule in rules for resource in rule["resources"]]


@every_stack
def test_s10_every_image_has_a_tag_or_a_digest_and_none_is_the_latest(stack):
    for template in templates(rendered(stack)):
        for one in containers(template):
            assert is_pinned(one["image"]), one["image"]


def is_pinned(image):
    name = image.rpartition("/")[2]
    tag = name.partition("@")[0].partition(":")[2]
    return "@sha256:" in name or tag not in {"", "latest"}


def images(facts):
    own = [facts.images.picker, facts.images.kit, facts.images.kit_verify, facts.images.downloader]
    return [*own, *facts.images.engine.values(), *([facts.images.sidecar] if facts.images.sidecar else [])]


@pytest.mark.parametrize("release", channels())
def test_s10_a_channel_is_pinned(release):
    assert all(is_pinned(one.ref) for one in images(channel(release)))


def test_s10_digests_that_the_channel_knows_reach_the_pods():
    facts = channel("llm-d-0.10").images
    assert "@sha256:" in facts.engine["nvidia"].ref
    assert engine(pod({}))["image"] == facts.engine["nvidia"].ref
    assert engine(pod({"accelerator": "amd"}))["image"] == facts.engine["amd"].ref
    assert "@sha256:" in facts.picker.ref
    assert picker(rendered(tree()))["image"] == facts.picker.ref


def test_s10_a_users_digest_is_kept_and_an_image_without_tag_or_digest_refused():
    own = f"registry.example/vllm:v1@{DIGEST}"
    assert engine(pod({"engine": {"image": own}}))["image"] == own
    assert engine(pod({"model": {"name": "m", "source": f"image://registry.example/server@{DIGEST}"}}))[
        "image"
    ].endswith(DIGEST)
    (kit,) = fetching(pod({"model": {"name": "m", "source": f"kit://registry.example/m@{DIGEST}"}}))
    assert f"registry.example/m@{DIGEST}" in kit["command"]
    for service in (
        {"engine": {"image": "registry.example/vllm"}},
        {"endpointPicker": {"image": "registry.example:5000/epp"}},
        {"model": {"name": "m", "source": "image://registry.example/server"}},
        {"model": {"name": "m", "source": "kit://registry.example/m"}},
    ):
        (message,) = told(tree(qwen=service))
        assert "with a tag or digest" in message


def test_s11_kit_gets_its_one_secret_whatever_opens_the_images():
    secrets = {"imagePullSecrets": [{"name": "first"}, {"name": "second"}]}
    service = {"model": {**SERVICE["model"], "secrets": ["models"]}, "pod": secrets}
    template = pod(service)
    (kit,) = fetching(template)
    (mount,) = [one for one in kit["volumeMounts"] if one["mountPath"] == values(kit)["DOCKER_CONFIG"]]
    assert volumes(template)[mount["name"]]["secret"] == {
        "secretName": "models",
        "items": [{"key": ".dockerconfigjson", "path": "config.json"}],
    }
    assert template["spec"]["imagePullSecrets"] == [{"name": "first"}, {"name": "second"}]


def test_s11_a_second_secret_of_kit_is_refused_with_a_remedy():
    (message,) = told(tree(qwen={"model": {**SERVICE["model"], "secrets": ["first", "second"]}}))
    assert message.startswith("services.qwen.model.secrets: ")
    assert "merge them into one" in message.partition("; ")[2]


# --- 3.2 to 3.10: what is adopted of the serving pods, and where it deviates


def test_3_2_names_and_ports_are_theirs():
    everything = rendered(tree(qwen={"prefill": {}}))
    assert {one["metadata"]["name"] for one in kind(everything, "Deployment")} == {
        "qwen-decode", "qwen-prefill", "qwen-epp",
    }  # fmt: skip
    assert find(everything, "InferencePool", "qwen")["spec"]["targetPorts"] == [{"number": 8000}]
    decode, prefill = (pod({"prefill": {}}, role) for role in ("decode", "prefill"))
    assert [one["containerPort"] for one in engine(prefill)["ports"]] == [8000]
    assert [one["containerPort"] for one in sidecars(decode)[0]["ports"]] == [8000]
    assert [one["containerPort"] for one in engine(decode)["ports"]] == [8200]
    assert sidecars(prefill) == []


def test_3_2_selectors_hold_our_identity_where_theirs_hold_the_model():
    one = deployment({"labels": {"team": "search"}})
    assert one["spec"]["selector"]["matchLabels"] == {
        "inference-stacks.io/service": "qwen",
        "inference-stacks.io/variant": "primary",
        "inference-stacks.io/role": "decode",
    }
    labels = one["spec"]["template"]["metadata"]["labels"]
    assert labels["llm-d.ai/role"] == "decode"
    assert labels["llm-d.ai/inferenceServing"] == labels["llm-d.ai/inference-serving"] == "true"


def test_3_4_kit_unpacks_before_everything_else_and_only_the_model():
    own = pod({"prefill": {}})
    assert [one["name"] for one in own["spec"]["initContainers"]] == ["model-unpack", "routing-proxy"]
    (kit,) = fetching(own)
    mount = engine(own)["volumeMounts"][0]
    assert kit["command"] == [
        "kit", "unpack", "registry.example/org/model:v1", "-o", "-d", mount["mountPath"], "--filter=model",
    ]  # fmt: skip
    assert mount == {"name": "model", "mountPath": "/models", "readOnly": True}
    assert engine(own)["args"][0] == "/models"


def test_3_4_no_volume_is_left_that_nothing_fills():
    for name in ("claim", "inside-the-image"):
        (template,) = serving(rendered(EVERY[name]))
        mounted = {one["name"] for one in engine(template)["volumeMounts"]}
        assert {one["name"] for one in template["spec"]["volumes"]} == mounted


def test_3_7_the_sidecar_is_a_native_one_with_probe_and_resources():
    (proxy,) = sidecars(pod({"prefill": {}}))
    assert proxy["restartPolicy"] == "Always"
    assert proxy["startupProbe"]["httpGet"]["port"] == 8000
    assert {"requests", "limits"} == proxy["resources"].keys()
    assert proxy["args"][:4] == [
        "--port=8000", "--model-server-port=8200", "--kv-connector=nixlv2", "--secure-proxy=false",
    ]  # fmt: skip
    assert [one["name"] for one in proxy["ports"]] == ["http"]


def test_3_8_arguments_are_single_tokens_and_parallelism_is_said_above_one_only():
    own = engine(pod({}))
    assert own["command"] == ["vllm", "serve"]
    assert own["name"] == "vllm"
    assert flag(own, "--served-model-name") == "org/model"
    assert flag(own, "--port") == "8000"
    assert not any("parallel" in one for one in own["args"])
    spread = engine(pod({"parallelism": {"tensor": 2, "data": 3}}))
    assert (flag(spread, "--tensor-parallel-size"), flag(spread, "--data-parallel-size")) == ("2", "3")
    assert all(one.startswith("--") for one in spread["args"][1:])


def test_3_8_the_users_arguments_and_variables_come_last():
    own = engine(pod({"engine": {"args": ["--enforce-eager", "--seed=1"], "env": {"A": "1", "B": "2"}}}))
    assert own["args"][-2:] == ["--enforce-eager", "--seed=1"]
    assert [one["name"] for one in own["env"]][-2:] == ["A", "B"]
    assert not {"TP_SIZE", "DP_SIZE", "DP_SIZE_LOCAL"} & values(own).keys()


def test_3_8_the_side_channel_is_the_pods_own_address_and_no_port_of_it_is_said():
    own = engine(pod({"prefill": {}, "engine": {"env": {"VLLM_NIXL_SIDE_CHANNEL_PORT": "5600"}}}))
    assert values(own)["VLLM_NIXL_SIDE_CHANNEL_HOST"] == "$(POD_IP)"
    assert [one["name"] for one in own["ports"]] == ["engine"]


@every_stack
def test_3_8_every_container_is_restricted(stack):
    for template in templates(rendered(stack)):
        context = template["spec"]["securityContext"]
        assert context["runAsNonRoot"] is True
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        for one in containers(template):
            assert one["securityContext"]["allowPrivilegeEscalation"] is False
            assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            sealed = one["securityContext"].get("readOnlyRootFilesystem", False)
            assert sealed == (one["name"] not in {"vllm", "engine"})


@pytest.mark.parametrize(
    ("accelerator", "resource"),
    [
        ("nvidia", "nvidia.com/gpu"),
        ("amd", "amd.com/gpu"),
        ("intel-gaudi", "habana.ai/gaudi"),
        ("google", "google.com/tpu"),
        ("cpu", None),
    ],
)
def test_3_9_devices_are_in_requests_and_limits_and_never_the_users_to_say(accelerator, resource):
    service = {"accelerator": accelerator, "engine": {"image": "registry.example/engine:v1"}}
    resources = engine(pod({**service, "parallelism": {"tensor": 2}}))["resources"]
    devices = {name: resources[group][name] for group in resources for name in resources[group] if "/" in name}
    assert devices == ({} if resource is None else {resource: "2"})
    if resource is not None:
        assert resources["requests"][resource] == resources["limits"][resource]
        (message,) = told(tree(qwen={**service, "resources": {"limits": {resource: "4"}}}))
        assert message.startswith(f"services.qwen.resources.limits: sets a device that parallelism decides ({resource}")


def test_3_10_nodes_of_the_class_are_asked_for_and_their_taint_tolerated():
    own = pod({"accelerator": "nvidia-h100-80gb", "pod": {"tolerations": [{"key": "mine", "operator": "Exists"}]}})
    assert [one["key"] for one in own["spec"]["tolerations"]] == ["nvidia.com/gpu", "mine"]
    required = own["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"][0]["matchExpressions"][0]["key"] == "nvidia.com/gpu.product"
