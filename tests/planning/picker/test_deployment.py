"""The picker's own container and pods: how many there are, how they are asked and trusted, and where they run."""

import json

import pytest

from manifests.assembly import objects, render
from planning import outputs
from planning.ground import lifecycle, parts
from planning.ground.awaiting import ROLLED_OUT
from planning.releases import channel, channels
from tests.support.stacks import SERVICE, find, lines, plan, rendered, tree
from tests.support.stacks.varied import POD

REASON = "one pod serves, and any is the right one"
PROMETHEUS = {
    "observability": {
        "prometheus": {"serverAddress": "http://prometheus.monitoring:9090"},
        "metrics": {"type": "prometheus-operator"},
    }
}
SLEEPS = {
    "type": "keda",
    "minReplicas": 0,
    "maxReplicas": 4,
    "cooldownPeriod": "2h",
    "metrics": [{"type": "cpu", "targetPercent": 80}],
}
CERTIFICATE = {"type": "certificate", "secret": "picker"}
CONFIG = {"name": "config", "configMap": {"name": "qwen-epp"}}
MOUNT = {"name": "config", "mountPath": "/config", "readOnly": True}
TOKEN_MOUNT = {"name": "api-token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}
TOKEN = {
    "name": "api-token",
    "projected": {
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ]
    },
}
PODS_AND_POOLS = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    {
        "apiGroups": ["inference.networking.k8s.io"],
        "resources": ["inferencepools"],
        "resourceNames": ["qwen"],
        "verbs": ["get", "list", "watch"],
    },
]


def stack(release="llm-d-0.10", service=None, **picker):
    return tree(qwen={"endpointPicker": picker, **(service or {})}) | {"release": release}


def everything(release="llm-d-0.10", **picker):
    return rendered(stack(release, **picker))


def deployment(release="llm-d-0.10", **picker):
    return find(everything(release, **picker), "Deployment", "qwen-epp")


def pod(**picker):
    return deployment(**picker)["spec"]["template"]["spec"]


def container(**picker):
    (epp,) = pod(**picker)["containers"]
    return epp


def pool(**picker):
    return find(everything(**picker), "InferencePool", "qwen")


def rule(**picker):
    """Return what Istio is told of the picker's port; nothing where there is no rule."""
    rules = [manifest for manifest in everything(**picker) if manifest["kind"] == "DestinationRule"]
    return rules[0]["spec"] if rules else None


def new_arguments(**picker):
    """Return the arguments that a picker has beyond those of one without wishes."""
    return [argument for argument in container(**picker)["args"] if argument not in container()["args"]]


def warnings(**service):
    services = outputs.of_stack(plan(tree(qwen=service) | PROMETHEUS), None)["services"]
    return services["qwen"]["warnings"]


# --- several pickers


def test_one_picker_elects_nobody_and_is_waited_for_like_any_deployment():
    manifest = deployment()
    assert manifest["spec"]["replicas"] == 1
    assert "strategy" not in manifest["spec"]
    assert "annotations" not in manifest["metadata"]
    assert not any("leader" in argument for argument in container()["args"])


@pytest.mark.parametrize(
    ("release", "group", "lease"),
    [
        ("llm-d-0.10", "llm-d.ai", "epp-models-qwen.llm-d.ai"),
        ("llm-d-0.8", "llm-d.ai", "epp-models-qwen.llm-d.ai"),
        (
            "llm-d-0.6",
            "inference.networking.x-k8s.io",
            "epp-models-qwen.gateway-api-inference-extension.sigs.k8s.io",
        ),
        ("gie-1.3", "inference.networking.x-k8s.io", "epp-models-qwen.gateway-api-inference-extension.sigs.k8s.io"),
    ],
)
def test_a_picker_may_read_its_pool_and_only_several_may_write_their_lease(release, group, lease):
    groups = dict.fromkeys(["inference.networking.x-k8s.io", group])
    resources = {"resources": ["inferenceobjectives", "inferencemodelrewrites"], "verbs": ["get", "list", "watch"]}
    alone = find(everything(release), "Role", "qwen-epp")["rules"]
    assert alone == [*PODS_AND_POOLS, *({"apiGroups": [item], **resources} for item in groups)]
    several = find(everything(release, replicas=2), "Role", "qwen-epp")["rules"]
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    assert several == [
        *alone,
        {**leases, "verbs": ["create"]},
        {**leases, "resourceNames": [lease], "verbs": ["get", "update"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ]


def test_the_lease_of_a_canary_and_of_a_generation_is_that_of_its_own_pool():
    canary = {"weight": 10, "endpointPicker": {"replicas": 3}}
    made = rendered(stack(service={"canary": canary, "prefill": {}}, replicas=2))
    pools = [manifest["metadata"]["name"] for manifest in made if manifest["kind"] == "InferencePool"]
    roles = {manifest["metadata"]["name"]: manifest["rules"] for manifest in made if manifest["kind"] == "Role"}
    leases = [named["resourceNames"] for name in pools for named in roles[f"{name}-epp"] if "update" in named["verbs"]]
    assert len(pools) == 2
    assert leases == [[f"epp-models-{name}.llm-d.ai"] for name in pools]


# --- while no picker answers


def test_requests_are_refused_while_no_picker_answers_unless_there_is_a_reason():
    closed = pool()
    assert closed["spec"]["endpointPickerRef"]["failureMode"] == "FailClose"
    assert "annotations" not in closed["metadata"]
    opened = pool(failureMode="FailOpen", failOpenReason=REASON)
    assert opened["spec"]["endpointPickerRef"]["failureMode"] == "FailOpen"
    assert opened["metadata"]["annotations"] == {"inference-stacks.io/fail-open-reason": REASON}


def test_the_reason_is_on_the_pool_alone():
    made = everything(failureMode="FailOpen", failOpenReason=REASON)
    assert [manifest["kind"] for manifest in made if REASON in json.dumps(manifest)] == ["InferencePool"]


def test_a_canary_that_refuses_drops_the_inherited_reason():
    service = {"canary": {"weight": 10, "endpointPicker": {"failureMode": "FailClose"}}}
    made = rendered(stack(service=service, failureMode="FailOpen", failOpenReason=REASON))
    assert find(made, "InferencePool", "qwen")["metadata"]["annotations"]
    canary_pool = find(made, "InferencePool", "qwen-canary")
    assert canary_pool["spec"]["endpointPickerRef"]["failureMode"] == "FailClose"
    assert "annotations" not in canary_pool["metadata"]


def test_an_inherited_reason_does_not_open_anything():
    inherited = {"defaults": {"endpointPicker": {"failureMode": "FailOpen", "failOpenReason": REASON}}}
    closed = find(rendered(stack(failureMode="FailClose") | inherited), "InferencePool", "qwen")
    assert closed["spec"]["endpointPickerRef"]["failureMode"] == "FailClose"
    assert "annotations" not in closed["metadata"]


# --- how the gateway asks


def test_a_picker_makes_its_certificate_which_nobody_can_verify():
    settings = [{"port": {"number": 9002}, "tls": {"mode": "SIMPLE", "insecureSkipVerify": True}}]
    expected = {"host": "qwen-epp.models.svc.cluster.local", "trafficPolicy": {"portLevelSettings": settings}}
    for picker in ({}, {"tls": {"type": "self-signed"}}):
        assert new_arguments(**picker) == []
        assert pod(**picker)["volumes"] == [CONFIG, TOKEN]
        assert container(**picker)["volumeMounts"] == [MOUNT, TOKEN_MOUNT]
        assert rule(**picker) == expected


def test_a_certificate_is_mounted_served_and_read_again():
    assert new_arguments(tls=CERTIFICATE) == ["--cert-path=/certificates", "--enable-cert-reload=true"]
    volume = {"name": "certificate", "secret": {"secretName": "picker"}}
    assert pod(tls=CERTIFICATE)["volumes"] == [CONFIG, TOKEN, volume]
    mount = {"name": "certificate", "mountPath": "/certificates", "readOnly": True}
    assert container(tls=CERTIFICATE)["volumeMounts"] == [MOUNT, TOKEN_MOUNT, mount]


def test_a_certificate_is_verified_where_its_authority_is_known_and_by_the_name_that_is_asked():
    (settings,) = rule(tls=CERTIFICATE)["trafficPolicy"]["portLevelSettings"]
    assert settings["tls"] == {"mode": "SIMPLE", "insecureSkipVerify": True}
    verified = rule(tls={**CERTIFICATE, "caSecret": "picker-ca"}, port=9100)
    names = ["qwen-epp.models.svc.cluster.local"]
    assert verified["trafficPolicy"]["portLevelSettings"] == [
        {
            "port": {"number": 9100},
            "tls": {"mode": "SIMPLE", "credentialName": "picker-ca", "subjectAltNames": names},
        }
    ]
    assert verified["host"] == names[0]


def test_the_name_on_the_certificate_has_the_clusters_domain():
    stack_with_tls = stack(tls={**CERTIFICATE, "caSecret": "picker-ca"}) | {"cluster": {"domain": "example.org"}}
    (rules,) = [manifest["spec"] for manifest in rendered(stack_with_tls) if manifest["kind"] == "DestinationRule"]
    (settings,) = rules["trafficPolicy"]["portLevelSettings"]
    assert rules["host"] == "qwen-epp.models.svc.example.org"
    assert settings["tls"]["subjectAltNames"] == [rules["host"]]


def test_plain_text_needs_no_rule():
    assert new_arguments(tls={"type": "none"}) == ["--secure-serving=false"]
    assert pod(tls={"type": "none"})["volumes"] == [CONFIG, TOKEN]
    assert rule(tls={"type": "none"}) is None


@pytest.mark.parametrize("provider", ["agentgateway", "none"])
def test_only_istio_is_told_how_to_ask_and_an_inherited_authority_is_dropped_elsewhere(provider):
    inherited = {"defaults": {"endpointPicker": {"tls": {**CERTIFICATE, "caSecret": "picker-ca"}}}}
    gateway = {"gateway": {"name": "gateway", "namespace": "gateways", "provider": provider}}
    made = rendered(tree() | inherited | gateway)
    assert "DestinationRule" not in {manifest["kind"] for manifest in made}
    template = find(made, "Deployment", "qwen-epp")["spec"]["template"]["spec"]
    assert "--cert-path=/certificates" in template["containers"][0]["args"]


# --- the pods


def test_a_picker_runs_anywhere_unless_it_is_told_where():
    assert set(pod()) == {
        "serviceAccountName",
        "automountServiceAccountToken",
        "enableServiceLinks",
        "terminationGracePeriodSeconds",
        "securityContext",
        "containers",
        "volumes",
    }


def test_a_picker_runs_where_it_is_told():
    affinity = {"podAntiAffinity": {}}
    selector = {"labelSelector": {"matchLabels": deployment()["spec"]["selector"]["matchLabels"]}}
    fields = {"nodeSelector": {"zone": "one"}, "affinity": affinity, "priorityClassName": "high"}
    fields |= {"schedulerName": "other", "runtimeClassName": "sealed", "imagePullSecrets": POD["imagePullSecrets"]}
    wished = pod(pod={**POD, **fields})
    assert {name: wished[name] for name in fields} == fields
    first, second = wished["tolerations"]
    assert first == POD["tolerations"][0]
    assert second == {"key": "two", "operator": "Equal"}
    assert wished["topologySpreadConstraints"] == [{**selector, **POD["topologySpreadConstraints"][0]}]


def test_a_picker_needs_no_node_with_devices_and_the_engine_does_not_run_where_the_picker_does():
    service = {"accelerator": "nvidia-h100-80gb"}
    made = rendered(stack(service=service, pod={"nodeSelector": {"zone": "one"}}))
    picker = find(made, "Deployment", "qwen-epp")["spec"]["template"]["spec"]
    engine = find(made, "Deployment", "qwen-decode")["spec"]["template"]["spec"]
    assert picker["nodeSelector"] == {"zone": "one"}
    assert {"affinity", "tolerations"} & picker.keys() == set()
    assert "nodeSelector" not in engine
    assert {"affinity", "tolerations"} <= engine.keys()


def test_labels_and_annotations_are_the_pods_alone():
    metadata = {"labels": {"cost-centre": "search"}, "annotations": {"sidecar.istio.io/inject": "false"}}
    plain = deployment()
    wished = deployment(pod=metadata)
    about = wished["spec"]["template"]["metadata"]
    before = plain["spec"]["template"]["metadata"]
    assert about["labels"] == {**before["labels"], **metadata["labels"]}
    assert about["annotations"] == {**before["annotations"], **metadata["annotations"]}
    assert wished["metadata"] == plain["metadata"]
    assert wished["spec"]["selector"] == plain["spec"]["selector"]


def test_the_checksum_of_the_configuration_is_not_written_over():
    checksum = deployment()["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
    wished = deployment(pod={"annotations": {"checksum/config": "mine"}})
    assert wished["spec"]["template"]["metadata"]["annotations"] == {"checksum/config": checksum}


@pytest.mark.parametrize(("drain", "grace"), [(None, 130), ("1m55s", 130), ("116s", 131), ("10m", 615)])
def test_a_picker_has_the_time_that_its_requests_get_and_a_margin(drain, grace):
    flags = {} if drain is None else {"drain-timeout": drain}
    assert pod(flags=flags)["terminationGracePeriodSeconds"] == grace


@pytest.mark.parametrize("release", channels())
def test_a_run_waits_a_little_longer_than_the_release_takes_to_start_its_picker(release):
    seconds = lifecycle.PICKER_START
    (picker,) = [resource for resource in objects(render(plan(stack(release)))) if resource.id.part is parts.PICKER]
    assert picker.manifest["spec"]["progressDeadlineSeconds"] == seconds
    assert picker.wait.seconds == seconds + lifecycle.WAIT_MARGIN


def test_releases_take_as_long_to_start_as_they_say():
    deadlines = {name: deployment(name)["spec"]["progressDeadlineSeconds"] for name in channels()}
    assert deadlines == dict.fromkeys(channels(), 540)


# --- the pool and the engines


def test_the_pool_says_its_protocol_where_its_parser_takes_one_only():
    assert "appProtocol" not in pool()["spec"]
    profile = {"name": "default", "plugins": [{"pluginRef": "random-picker"}]}
    written = {"plugins": [{"type": "random-picker"}], "schedulingProfiles": [profile]}
    service = {"engine": {"type": "custom", "image": "registry.example/engine:v1"}}
    for parser, protocol in (("openai-parser", None), ("vllmgrpc-parser", "kubernetes.io/h2c")):
        handler = {"requestHandler": {"parsers": [{"pluginRef": parser}]}}
        picker = {"preset": "custom", "config": {**written, **handler}}
        manifest = find(rendered(tree(qwen={**service, "endpointPicker": picker})), "InferencePool", "qwen")
        assert manifest["spec"].get("appProtocol") == protocol


@pytest.mark.parametrize("size", [None, 128])
def test_engines_publish_what_a_precise_picker_reads_in_blocks_of_its_size(size):
    written = {} if size is None else {"kvCache": {"blockSize": size}}
    for preset, publishes in (("approximate-prefix-cache", False), ("precise-prefix-cache", True)):
        service = {"endpointPicker": {"preset": preset}, **written}
        engine = find(rendered(tree(qwen=service)), "Deployment", "qwen-decode")["spec"]["template"]["spec"]
        flags = dict(argument.partition("=")[::2] for argument in engine["containers"][0]["args"])
        assert ("--kv-events-config" in flags) is publishes
        expected = str(size or 64) if publishes or size else None
        assert flags.get("--block-size") == expected


# --- warnings


def test_what_is_sound_warns_of_nothing():
    assert warnings() == []


@pytest.mark.parametrize(
    ("scraper", "metrics", "role", "is_warned"),
    [
        ("prometheus-operator", {"picker": False}, SLEEPS, True),
        ("gmp", {"picker": False}, SLEEPS, True),
        ("prometheus-operator", {"decode": False}, SLEEPS, False),
        ("prometheus-operator", {"picker": False}, {**SLEEPS, "minReplicas": 1}, False),
    ],
)
def test_a_role_that_sleeps_is_told_when_nobody_scrapes_the_queue_that_wakes_it(scraper, metrics, role, is_warned):
    flow = {"flowControl": {"defaultRequestTTL": "2h"}}
    stack = tree(qwen={"endpointPicker": flow, "autoscaling": role, "metrics": metrics})
    stack["observability"] = {**PROMETHEUS["observability"], "metrics": {"type": scraper}}
    what = (
        "services.qwen.autoscaling: decode is woken by the picker's queue, which nobody scrapes (metrics.picker: false)"
    )
    assert lines(plan(stack).warnings, "warning") == ([what] if is_warned else [])


def test_warnings_of_a_picker_of_a_canary_and_of_a_role_that_sleeps_stand_together():
    model = {**SERVICE["model"], "size": "64Gi"}
    entries = [{"pluginRef": "random-picker"}, {"pluginRef": "queue-scorer", "weight": 1}]
    profile = {"name": "default", "plugins": entries}
    plugins = [{"type": "random-picker"}, {"type": "queue-scorer"}]
    config = {"plugins": plugins, "schedulingProfiles": [profile]}
    picker = {"preset": "custom", "config": config, "flowControl": {}}
    misplaced = (
        "endpointPicker.config.schedulingProfiles[0].plugins[0]: stands before other plugins, but a picker "
        "always runs last (random-picker); put it last"
    )
    lasting = (
        "endpointPicker.flowControl: has no defaultRequestTTL, and some pickers end the wait of a request after 60s, "
        "but decode is awake in up to 3702s; add defaultRequestTTL: 3702s"
    )
    assert warnings(model=model, endpointPicker=picker, autoscaling=SLEEPS, canary={"weight": 100}) == [
        f"canary.{misplaced}",
        "canary: its pods run the same as the service's pods",
        "canary: weight 100 gives it all requests, and the service's own pods idle",
        misplaced,
        lasting,
    ]


@pytest.mark.parametrize("release", channels())
def test_nobody_is_warned_of_what_a_preset_says(release):
    for service in ({}, {"prefill": {}}) if channel(release).sidecar is not None else ({},):
        assert plan(stack(release, service)).warnings_of("qwen") == ()


# --- mistakes


RENDER = {"image": "registry.example/render:v1"}


def containers(**picker):
    return {
        container["name"]: container for container in deployment(**picker)["spec"]["template"]["spec"]["containers"]
    }


def test_variables_of_the_user_follow_the_generated_ones():
    env = containers(env={"TOKEN": {"secretKeyRef": {"name": "one", "key": "two"}}, "ZONE": "$(NAMESPACE)"})["epp"][
        "env"
    ]
    assert [variable["name"] for variable in env] == ["NAMESPACE", "POD_NAME", "TOKEN", "ZONE"]
    assert env[2]["valueFrom"] == {"secretKeyRef": {"name": "one", "key": "two"}}


def test_a_flag_may_refer_to_a_variable_that_the_picker_has():
    arguments = containers(flags={"tls-min-version": "$(VERSION)"}, env={"VERSION": "1.3"})["epp"]["args"]
    assert arguments[-1] == "--tls-min-version=$(VERSION)"


def test_a_patch_is_the_last_word_on_the_pickers_deployment():
    change = {"spec": {"template": {"spec": {"containers": [{"name": "epp", "tty": True}, {"name": "own", **RENDER}]}}}}
    patched = deployment(patch=change)
    plain = deployment()
    assert [container["name"] for container in patched["spec"]["template"]["spec"]["containers"]] == ["epp", "own"]
    patched["spec"]["template"]["spec"]["containers"].pop()
    assert patched["spec"]["template"]["spec"]["containers"][0].pop("tty") is True
    assert patched == plain


READ = ["get", "list", "watch"]


REQUESTS = ["inferenceobjectives", "inferencemodelrewrites"]


LEGACY = "inference.networking.x-k8s.io"


def picker(release="llm-d-0.10", **service):
    """Return the rendered object of a picker's Deployment."""
    stack = tree(qwen=service) | {"release": release}
    (deployment,) = [item for item in objects(render(plan(stack))) if item.id.part is parts.PICKER]
    return deployment


@pytest.mark.parametrize("release", ["llm-d-0.8", "llm-d-0.9", "llm-d-0.10"])
def test_a_picker_may_watch_requests_in_the_group_that_the_cluster_serves(release):
    """A picker watches the older group where a cluster serves no other. See defects A6."""
    rules = find(rendered(tree() | {"release": release}), "Role", "qwen-epp")["rules"]
    groups = [rule["apiGroups"] for rule in rules if rule["resources"] == REQUESTS and rule["verbs"] == READ]
    assert groups == [[LEGACY], ["llm-d.ai"]]


@pytest.mark.parametrize("release", channels())
def test_a_picker_may_start_as_long_as_an_image_takes_to_a_new_node(release):
    """The deadline lies a minute before the end of the wait, so that Kubernetes gives its reason. See defects A16."""
    deployment = picker(release)
    assert deployment.manifest["spec"]["progressDeadlineSeconds"] == deployment.wait.seconds - 60 == 540


@pytest.mark.parametrize(
    "picker", [{}, {"replicas": 2, "preset": "precise-prefix-cache", "replication": "active-active"}]
)
def test_turns_of_services_need_a_wait_for_the_rollout_of_pickers(picker):
    stack = tree(qwen={"endpointPicker": picker})
    (plain,) = _pickers(stack)
    (staged,) = _pickers(stack | {"upgrades": {}})
    assert (plain.wait.conditions, staged.wait.conditions) == ((), ROLLED_OUT)
    assert plain.wait.seconds == staged.wait.seconds


def test_of_pickers_that_elect_a_leader_turns_wait_for_the_leader():
    stack = tree(qwen={"endpointPicker": {"replicas": 2}})
    (plain,) = _pickers(stack)
    (staged,) = _pickers(stack | {"upgrades": {}})
    assert plain.wait == staged.wait
    assert "jsonpath={.status.readyReplicas}=1" in staged.wait.conditions


def _pickers(stack):
    return [variant.picker for service in plan(stack).services for variant in service.variants]


@pytest.mark.parametrize(
    ("drain_timeout", "grace"),
    [
        ("45s", 130),
        ("100s", 130),
        ("101s", 131),
        ("10m", 630),
    ],
)
def test_a_picker_ends_no_earlier_than_the_pods_of_its_requests(drain_timeout, grace):
    """A picker streams each request to its end, and a killed one cuts it. See defects A20."""
    pod = picker(drainTimeout=drain_timeout).manifest["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == grace
