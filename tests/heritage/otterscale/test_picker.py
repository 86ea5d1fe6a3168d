"""OtterScale's ModelService, the endpoint picker, routing and security: that we have none of its weaknesses.

Names begin with the weakness's id (E endpoint picker and routing, S security). Tests of E4, E5, S1 and S7 to S11 are in
`test_security.py`, too. `docs/deviations.md` lists where we differ on purpose, and what we keep.
"""

import json

import pytest
import yaml

from judging.preflight.kinds import kinds
from manifests.assembly import objects, render
from planning.ground import parts
from planning.ground.cluster_facts import ClusterFacts, Served
from planning.ground.order import Id
from planning.releases import channel, channels
from tests.support.stacks import exactly, find, lines, plan, rendered, tree
from tests.support.stacks.otterscale import kind, picker
from tests.support.stacks.shapes import (
    engine,
    every_picked_rendering,
    every_rendering,
    every_stack,
    flag,
    model_servers,
    serving,
    sidecars,
    told,
    values,
)

every_channel = pytest.mark.parametrize("release", channels())
REASON = "one pod serves, and any is the right one"
TRACED = {"observability": {"tracing": {"endpoint": "http://otel:4317"}}}
CERTIFICATE = {"type": "certificate", "secret": "picker", "caSecret": "picker-ca"}
SAMPLER = "OTEL_TRACES_SAMPLER_ARG"


def behind(provider, **services):
    stack = tree(**services)
    stack["gateway"]["provider"] = provider
    return stack


def scraped(collector="prometheus-operator", **services):
    return tree(**services) | {"observability": {"metrics": {"type": collector}}}


def channelled(release, **services):
    return tree(**services) | {"release": release}


def picking(**spec):
    """Return a service with wishes about its picker."""
    return {"endpointPicker": spec}


def deployment(stack, name="qwen-epp"):
    return find(rendered(stack), "Deployment", name)


def everything_before(stack, part):
    """Return every part of `qwen` that is there before one of its parts is made."""
    order = {item.id: item.after for item in objects(render(plan(stack)))}
    found, ahead = set(), [Id("qwen", part)]
    while ahead:
        found |= {*(new := order[ahead.pop()])}
        ahead += new
    return {part_id.part for part_id in found}


RIGHTS = {parts.PICKER_SERVICE_ACCOUNT, parts.PICKER_ROLE, parts.PICKER_ROLE_BINDING}


@every_channel
@pytest.mark.parametrize("spec", [{}, {"replicas": 2}, {"metricsAuth": False}, {"tls": {"type": "none"}}])
def test_e1_pool_rights_and_configuration_are_there_before_the_picker(release, spec):
    """That a picker does not serve without them: `tests/real/test_picker.py`; the engine's order: `test_deploy.py`."""
    before = everything_before(channelled(release, qwen=picking(**spec)), parts.PICKER)
    assert before >= RIGHTS | {parts.POOL, parts.PICKER_CONFIG, parts.PICKER_SERVICE}
    assert (parts.PICKER_METRICS_AUTH in before) == spec.get("metricsAuth", True)


def test_e1_the_pool_waits_for_nothing_that_is_slow():
    assert everything_before(tree(qwen={"prefill": {}}), parts.POOL) == {parts.PICKER_SERVICE}


@pytest.mark.parametrize(("mode", "spec"), [("FailClose", {}), ("FailOpen", {"failOpenReason": REASON})])
def test_e2_what_happens_without_a_picker_is_the_services_own_choice(mode, spec):
    pool = find(rendered(tree(qwen=picking(failureMode=mode, **spec))), "InferencePool", "qwen")
    assert pool["spec"]["endpointPickerRef"]["failureMode"] == mode


def test_e2_a_single_picker_is_replaced_only_once_the_new_one_is_ready():
    """Kubernetes' own default for one replica adds one pod first; several pickers go at once, as deviations.md says."""
    spec = deployment(tree())["spec"]
    assert (spec["replicas"], spec.get("strategy", {}).get("type")) == (1, None)
    several = deployment(tree(qwen=picking(replicas=2)))["spec"]["strategy"]
    assert several == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 3},
        {"engine": {"args": ["--seed=7"], "image": "registry.example/vllm:v9"}},
        {"parallelism": {"tensor": 2}},
        {"annotations": {"owner": "search"}},
        {"route": {"hostnames": ["llm.example.com"]}},
        {"canary": {"weight": 10}},
        {"endpointPicker": {"failureMode": "FailOpen", "failOpenReason": REASON}},
        {"health": {"interval": "7s"}},
    ],
)
def test_e2_nothing_restarts_a_picker_but_what_is_its_own(change):
    assert deployment(tree(qwen=change))["spec"]["template"] == deployment(tree())["spec"]["template"]
    service = picking(scorerWeights={"queue-scorer": 9})
    assert deployment(tree(qwen=service))["spec"]["template"] != deployment(tree())["spec"]["template"]


@every_channel
def test_e3_of_several_pickers_one_that_is_ready_is_waited_for_and_not_all(release):
    """No test shows the one that the real picker makes ready in an election."""
    workload = deployment(channelled(release, qwen=picking(replicas=3)))
    annotations = workload["metadata"]["annotations"]
    assert "pulumi.com/skipAwait" not in annotations
    waits = json.loads(annotations["pulumi.com/waitFor"])
    assert "jsonpath={.status.readyReplicas}=1" in waits
    assert "jsonpath={.status.updatedReplicas}=3" in waits
    assert not any("Available" in wait for wait in waits)
    assert "annotations" not in deployment(channelled(release))["metadata"]


def test_e4_a_canarys_picker_asks_for_as_little_and_for_what_it_is_told():
    resources = {"requests": {"cpu": "200m", "memory": "1Gi"}}
    given = {"weight": 10, "endpointPicker": {"resources": resources}}
    for canary, expected in (({"weight": 10}, picker(rendered(tree()))["resources"]), (given, resources)):
        everything = rendered(tree(qwen={"canary": canary}))
        assert picker(everything, "qwen-canary")["resources"].items() >= expected.items()


@every_picked_rendering
def test_e5_the_file_that_a_picker_reads_is_in_the_configuration_that_it_mounts(everything):
    pickers = [workload for workload in kind(everything, "Deployment") if workload["metadata"]["name"].endswith("-epp")]
    assert pickers
    for workload in pickers:
        spec, container = workload["spec"]["template"]["spec"], engine(workload["spec"]["template"])
        (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "config"]
        (volume,) = [volume for volume in spec["volumes"] if volume["name"] == "config"]
        config = exactly(everything, "ConfigMap", volume["configMap"]["name"])
        folder, _, key = flag(container, "--config-file").rpartition("/")
        assert (folder, config["metadata"]["namespace"]) == (mount["mountPath"], workload["metadata"]["namespace"])
        assert config["data"][key]


@every_channel
def test_e6_every_preset_is_written_for_its_line(release):
    """The picker of gie-1.3 loads what is deployed in `tests/real/test_picker.py`; the other lines have no binary."""
    facts = channel(release).picker
    for name, preset in facts.presets.items():
        for config in filter(None, (preset.aggregated, preset.disaggregated)):
            assert {plugin["type"] for plugin in config["plugins"]} <= facts.plugins.table.keys(), name
            assert {*config.get("featureGates", [])} <= {*facts.config.gates}
    written = find(rendered(channelled(release)), "ConfigMap", "qwen-epp")["data"]["config.yaml"]
    assert yaml.safe_load(written)["apiVersion"] == facts.config.api_version


def test_e6_the_lines_differ_where_theirs_were_one():
    handlers = {
        release: {
            plugin["type"] for plugin in (channel(release).picker.disaggregated_config or {"plugins": []})["plugins"]
        }
        & {"pd-profile-handler", "disagg-profile-handler"}
        for release in channels()
    }
    assert handlers["llm-d-0.6"] == {"pd-profile-handler"}
    assert handlers["llm-d-0.8"] == handlers["llm-d-0.9"] == handlers["llm-d-0.10"] == {"disagg-profile-handler"}
    assert "prepareDataPlugins" in channel("llm-d-0.6").picker.config.gates
    assert "prepareDataPlugins" not in channel("llm-d-0.8").picker.config.gates


def test_e6_an_image_of_another_line_is_refused_and_one_of_the_own_line_is_not():
    image = "ghcr.io/llm-d/llm-d-inference-scheduler:v0.6.0"
    (message,) = told(channelled("llm-d-0.10", qwen=picking(image=image)))
    assert message.startswith("services.qwen.endpointPicker.image: belongs to another release line")
    assert picker(rendered(channelled("llm-d-0.6", qwen=picking(image=image))))["image"] == image


@every_channel
def test_e6_a_configuration_of_ones_own_takes_the_presets_place(release):
    config = {"plugins": [{"type": "random-picker"}]}
    service = picking(preset="custom", config=config)
    written = find(rendered(channelled(release, qwen=service)), "ConfigMap", "qwen-epp")["data"]["config.yaml"]
    assert yaml.safe_load(written)["plugins"] == config["plugins"]


def containers_that_trace(release, more):
    everything = rendered(channelled(release, qwen={"prefill": {}}) | more)
    (proxy,) = [sidecar for template in serving(everything) for sidecar in sidecars(template)]
    return {"picker": picker(everything), "sidecar": proxy}


@pytest.mark.parametrize("part", ["picker", "sidecar"])
@pytest.mark.parametrize(
    ("release", "unasked"), [("llm-d-0.6", "0"), ("llm-d-0.8", None), ("llm-d-0.9", None), ("llm-d-0.10", None)]
)
def test_e7_no_trace_is_begun_that_nobody_asked_for(part, release, unasked):
    """That line initialises tracing before it reads a flag, so its share is 0; the others obey their flag."""
    assert values(containers_that_trace(release, {})[part]).get(SAMPLER) == unasked
    asked = values(containers_that_trace(release, TRACED)[part])
    assert (asked[SAMPLER], asked["OTEL_EXPORTER_OTLP_ENDPOINT"]) == ("0.01", "http://otel:4317")


@every_channel
def test_e7_the_pickers_flag_follows_the_switch(release):
    for more, expected in (({}, "false"), (TRACED, "true")):
        assert flag(picker(rendered(channelled(release) | more)), "--tracing") == expected


def matches(stack):
    return [
        match
        for route in kind(rendered(stack), "HTTPRoute")
        for each in route["spec"]["rules"]
        for match in each["matches"]
    ]


def test_e8_services_of_one_name_in_two_namespaces_do_not_meet_on_a_gateway():
    ones = matches(tree(qwen={"namespace": "team-a"}))
    others = matches(tree(qwen={"namespace": "team-b"}))
    assert [match["path"] for match in ones] == [{"type": "PathPrefix", "value": "/team-a/qwen"}]
    assert [match["path"] for match in others] == [{"type": "PathPrefix", "value": "/team-b/qwen"}]
    assert not any("headers" in match for match in [*ones, *others])


def test_e8_one_header_alone_chooses_no_service():
    canary = {"weight": 10, "headers": {"x-canary": "always"}}
    assert {match["path"]["value"] for match in matches(tree(qwen={"canary": canary}))} == {"/models/qwen"}
    (message,) = told(tree(a={"name": "same"}, b={"name": "same"}))
    assert "would make the same object as services.a" in message


def test_e9_the_gateways_namespace_and_listener_are_said_and_no_answer_is_cut_off():
    stack = tree()
    stack["gateway"] = {"name": "g", "namespace": "edge", "sectionName": "https", "port": 443, "provider": "none"}
    (route,) = kind(rendered(stack), "HTTPRoute")
    (parent,) = route["spec"]["parentRefs"]
    assert {"name": "g", "namespace": "edge", "sectionName": "https", "port": 443}.items() <= parent.items()
    del stack["gateway"]["namespace"]
    (route,) = kind(rendered(stack), "HTTPRoute")
    assert route["spec"]["parentRefs"][0]["namespace"] == "models"


@pytest.mark.parametrize("provider", ["istio", "gke", "agentgateway", "none"])
def test_e9_no_route_has_a_timeout_and_gkes_own_covers_the_longest_answer(provider):
    everything = rendered(behind(provider, qwen={"drainTimeout": "20m"}))
    (route,) = kind(everything, "HTTPRoute")
    assert not any("timeouts" in rule for rule in route["spec"]["rules"])
    policies = [policy["spec"]["default"]["timeoutSec"] for policy in kind(everything, "GCPBackendPolicy")]
    assert policies == ([1200] if provider == "gke" else [])


@pytest.mark.parametrize("port", [9002, 9100])
def test_e10_only_the_port_that_the_gateway_asks_is_spoken_to_in_tls(port):
    everything = rendered(tree(qwen=picking(port=port)))
    (rule,) = kind(everything, "DestinationRule")
    policy = rule["spec"]["trafficPolicy"]
    assert [*policy] == ["portLevelSettings"]
    assert [settings["port"]["number"] for settings in policy["portLevelSettings"]] == [port]
    assert flag(picker(everything), "--metrics-port") != str(port)
    assert kind(rendered(tree(qwen=picking(tls={"type": "none"}))), "DestinationRule") == []


@pytest.mark.parametrize("collector", ["prometheus-operator", "gmp"])
@pytest.mark.parametrize("provider", ["istio", "gke", "agentgateway", "none"])
def test_e11_a_provider_has_its_objects_and_no_monitor_names_a_secret_that_is_missing(provider, collector):
    everything = rendered(scraped(collector) | {"gateway": behind(provider)["gateway"]})
    provider_kinds = {"istio": {"DestinationRule"}, "gke": {"GCPBackendPolicy", "HealthCheckPolicy"}}
    made = {manifest["kind"] for manifest in everything} & {"DestinationRule", "GCPBackendPolicy", "HealthCheckPolicy"}
    assert made == provider_kinds.get(provider, set())
    secrets = {secret["metadata"]["name"] for secret in kind(everything, "Secret")}
    (monitor,) = [manifest for manifest in everything if manifest["kind"].endswith(("ServiceMonitor", "PodMonitoring"))
                  and manifest["metadata"]["name"] == "qwen-epp"]  # fmt: skip
    (endpoint,) = monitor["spec"]["endpoints"]
    credentials = endpoint["authorization"]["credentials"]
    assert credentials.get("secret", credentials)["name"] in secrets


def test_e11_a_provider_that_nobody_knows_is_refused():
    assert told(behind("envoy"))[0].startswith("gateway.provider: is not one of")


def kinds_of(stack):
    return {f"{manifest['apiVersion']}/{manifest['kind']}" for manifest in rendered(stack)}


def is_custom(kind_name):
    return "." in kind_name.partition("/")[0].removesuffix(".k8s.io") and not kind_name.startswith("rbac.")


@pytest.mark.parametrize("mode", ["strict", "warn", "skip"])
def test_e12_a_kind_that_is_missing_is_told_before_anything_is_made(mode):
    """That a real preview ends with it: `test_a_missing_crd_is_said_at_preview_within_seconds` in `tests/real`."""
    needed = kinds_of(scraped(qwen={"prefill": {}}))
    without = {kind_name for kind_name in needed if "DestinationRule" in kind_name or "Monitor" in kind_name}
    assert len(without) == 3
    verdict = kinds(needed, ClusterFacts(apis=Served(frozenset(needed - without))), mode)
    assert len(lines(verdict, "error")) == (3 if mode == "strict" else 0)
    assert len(lines(verdict, "warning")) == (3 if mode == "warn" else 0)
    assert all("; install " in problem for problem in map(str, verdict))


def test_e12_nothing_is_needed_that_was_not_asked_for():
    least = {kind_name.rpartition("/")[2] for kind_name in kinds_of(behind("none")) if is_custom(kind_name)}
    assert least == {"HTTPRoute", "InferencePool"}
    asked = {kind_name.rpartition("/")[2] for kind_name in kinds_of(scraped()) if is_custom(kind_name)}
    assert asked == least | {"DestinationRule", "PodMonitor", "ServiceMonitor"}


def tls(**spec):
    (rule,) = kind(rendered(tree(qwen=picking(**spec))), "DestinationRule")
    (settings,) = rule["spec"]["trafficPolicy"]["portLevelSettings"]
    return settings["tls"]


def test_s2_a_picker_can_be_verified_and_only_one_that_makes_its_own_certificate_is_not():
    verified = tls(tls=CERTIFICATE)
    assert "insecureSkipVerify" not in verified
    assert (verified["credentialName"], verified["subjectAltNames"]) == (
        "picker-ca",
        ["qwen-epp.models.svc.cluster.local"],
    )
    assert tls() == {"mode": "SIMPLE", "insecureSkipVerify": True}


def rules(everything, *kinds):
    return [(manifest, rule) for manifest in everything if manifest["kind"] in kinds for rule in manifest["rules"]]


@every_stack
def test_s3_nothing_that_is_deployed_may_write_but_a_lease_and_its_events(stack):
    """Whoever deploys may do more, for as long as a run takes; no operator stays that may."""
    several = {"endpointPicker": {"replicas": 2}}
    for each in (stack, stack | {"defaults": {**stack.get("defaults", {}), **several}}):
        everything = rendered(each)
        for role, rule in rules(everything, "Role"):
            writes = {*rule["verbs"]} - {"get", "list", "watch"}
            assert not writes or {*rule["resources"]} <= {"leases", "events"}, role["metadata"]["name"]
            assert "*" not in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]
        assert all({*rule} == {"nonResourceURLs", "verbs"} for _, rule in rules(everything, "ClusterRole"))


@pytest.mark.parametrize("collector", ["prometheus-operator", "gmp"])
def test_s4_who_scrapes_is_not_the_picker_and_may_do_nothing_else(collector):
    """The API server and the real picker judge the token in `tests/real/test_monitoring.py`."""
    everything = rendered(scraped(collector))
    (secret,) = kind(everything, "Secret")
    reader = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
    identity = find(everything, "Deployment", "qwen-epp")["spec"]["template"]["spec"]["serviceAccountName"]
    assert reader != identity
    bindings = [binding for binding in everything if binding["kind"].endswith("Binding") and reader in
                {subject["name"] for subject in binding["subjects"]}]  # fmt: skip
    (binding,) = bindings
    role = exactly(everything, "ClusterRole", binding["roleRef"]["name"])
    assert role["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert kind(rendered(tree()), "Secret") == []


def test_s5_a_token_that_travels_in_clear_opens_nothing_but_metrics_and_none_has_to():
    """The picker's metrics are plain HTTP, as theirs; deviations.md says why, and S4 what the token is good for."""
    (monitor,) = kind(rendered(scraped()), "ServiceMonitor")
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint.get("scheme", "http") == "http"
    assert endpoint["authorization"]["credentials"]["name"] == "qwen-epp-metrics-reader"
    without = rendered(scraped(qwen=picking(metricsAuth=False)))
    (monitor,) = kind(without, "ServiceMonitor")
    assert "authorization" not in monitor["spec"]["endpoints"][0]
    assert kind(without, "Secret") == []


@every_rendering
def test_s6_asking_who_scrapes_is_kubernetes_own_role(everything):
    # A reader of metrics may get them, and asks nobody about anybody.
    every = kind(everything, "ClusterRoleBinding")
    bindings = [binding for binding in every if not binding["metadata"]["name"].endswith("-metrics-reader")]
    assert {binding["roleRef"]["name"] for binding in bindings} <= {"system:auth-delegator"}
    pickers = [
        workload["spec"]["template"]
        for workload in kind(everything, "Deployment")
        if workload["metadata"]["name"][-4:] == "-epp"
    ]
    asking = [template for template in pickers if flag(engine(template), "--metrics-endpoint-auth") == "true"]
    assert len(bindings) == len(asking)
    assert "reviews" not in json.dumps([rule for _, rule in rules(everything, "Role", "ClusterRole")])


@every_channel
@pytest.mark.parametrize("auth", [True, False])
def test_s7_profiles_are_off_in_every_line_and_stay_off(release, auth):
    assert flag(picker(rendered(channelled(release, qwen=picking(metricsAuth=auth)))), "--enable-pprof") == "false"
    (message,) = told(channelled(release, qwen=picking(flags={"enable-pprof": "true"}, metricsAuth=auth)))
    assert message.startswith("services.qwen.endpointPicker.flags.enable-pprof: is decided by this program")


@pytest.mark.parametrize("release", [name for name in channels() if channel(name).sidecar is not None])
def test_s8_a_sidecar_stands_only_where_the_picker_writes_its_header(release):
    """A pod that asks the pods of a pool alone is refused nothing that it needs: `tests/real/test_identity.py`."""
    assert not any(sidecars(template) for template in model_servers(rendered(channelled(release))))
    everything = rendered(channelled(release, qwen={"prefill": {}}))
    (proxy,) = [sidecar for template in serving(everything) for sidecar in sidecars(template)]
    assert flag(proxy, "--enable-ssrf-protection") == "true"
    config = yaml.safe_load(find(everything, "ConfigMap", "qwen-epp")["data"]["config.yaml"])
    assert {"prefill", "decode"} == {profile["name"] for profile in config["schedulingProfiles"]}
    (message,) = told(channelled(release, qwen={"sidecar": {"enginePort": 8300}}))
    assert message.startswith("services.qwen.sidecar: ")


@every_channel
def test_s9_every_variants_picker_reads_its_own_pool_and_its_own_lease(release):
    everything = rendered(channelled(release, qwen={"canary": {"weight": 10}, **picking(replicas=2)}))
    for name in ("qwen", "qwen-canary"):
        role_rules = find(everything, "Role", f"{name}-epp")["rules"]
        narrowed = {rule["resources"][0]: rule["resourceNames"] for rule in role_rules if "resourceNames" in rule}
        assert narrowed["inferencepools"] == [name]
        assert narrowed["leases"][0].startswith(f"epp-models-{name}.")
        assert [
            rule["verbs"] for rule in role_rules if "leases" in rule["resources"] and "resourceNames" not in rule
        ] == [["create"]]
