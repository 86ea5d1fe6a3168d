"""What upstream lets one do wrong: each misuse is refused, impossible, or told where it still works.

| Upstream | Misuse | Shown by |
|---|---|---|
| pool | a flat selector, or an API version that is gone | `test_a_pool_is_of_the_stable_api_and_selects_by_labels` |
| pool | a selector for each role | `test_no_pool_selects_one_role_alone` |
| pool | several targetPorts | `test_a_pool_has_one_port_which_its_pods_listen_on` |
| pool | no picker, or a picker without a port | `test_every_pool_names_the_service_and_port_of_its_picker` |
| pool | `FailClosed` | `test_a_failure_mode_is_spelt_as_the_pool_takes_it` |
| pool | FailOpen by default | `test_requests_go_past_a_picker_only_for_a_reason` |
| pool | a route to a port that the pool has not | `test_a_route_names_no_port_of_a_pool` |
| pool | a cluster that serves the old API alone | `test_a_cluster_with_the_old_pool_alone_is_told` |
| pool | both API groups | `test_one_api_group_is_read` |
| gateway | no DestinationRule, a fixed cluster domain | `test_istio_is_told_where_a_picker_speaks_tls` |
| gateway | route timeouts on GKE, its own health path | `test_gke_gets_policies_and_no_timeouts_on_routes` |
| picker | the tags `latest` and `main` | `test_an_image_that_moves_is_refused` |
| picker | mixed release lines | `test_images_of_two_lines_are_refused` |
| picker | a boolean as two tokens | `test_every_flag_is_one_token` |
| picker | flags that end the picker | `test_a_flag_that_ends_the_picker_is_refused` |
| picker | another pool group, election or endpoint selector | `test_what_objects_have_to_agree_about_is_no_flag` |
| picker | liveness by a name that means leadership | `test_probes_ask_for_names_that_a_standby_answers` |
| picker | the pool made after its picker | `test_the_pool_comes_first_and_goes_last` |
| picker | a pool that is renamed in its place | `test_a_pool_of_another_name_has_a_picker_of_another_name` |
| picker | an h2c parser without appProtocol | `test_a_parser_of_one_protocol_is_said_on_the_pool_or_refused` |
| picker | a grace below the drain | `test_a_picker_outlives_its_requests` |
| picker | no requests | `test_a_picker_asks_for_what_it_needs` |
| picker | token reviews in a Role | `test_token_reviews_are_allowed_in_the_whole_cluster` |
| picker | a scraper without rights | `test_who_scrapes_may_get_metrics` |
| picker | one name for every metrics Secret | `test_no_two_services_share_a_secret` |
| picker | a wait for all of several pickers, or for none | `test_several_pickers_are_waited_for_as_they_become_ready` |
| picker | several active pickers with a prefix cache each | `test_several_pickers_always_elect` |
| configuration | no checksum on the pods | `test_another_configuration_is_another_pod` |
| configuration | apiVersion of another line | `test_the_api_version_follows_from_the_line` |
| configuration | feature gates that are gone | `test_a_gate_that_is_gone_is_refused` |
| configuration | keys of a newer or an older API | `test_a_key_of_another_api_is_refused` |
| configuration | deprecated keys | `test_a_deprecated_key_is_told` |
| configuration | unknown plugin parameters | `test_an_unknown_parameter_is_refused` |
| configuration | a TTL below the cold start | `test_requests_that_give_up_before_a_pod_wakes_are_told` |
| configuration | scale to zero without a queue | `test_nothing_sleeps_that_nothing_wakes` |
| configuration | an alpha plugin without its flag | `test_an_alpha_plugin_brings_its_flag` |
| configuration | plugins that are gone or misspelt | `test_a_plugin_that_is_not_registered_is_refused` |
| configuration | deprecated plugins | `test_a_deprecated_plugin_is_told` |
| configuration | the tokenizer over a socket | `test_a_tokenizer_that_nobody_serves_is_refused` |
| configuration | `data-parallel-profile-handler` | `test_the_handler_of_several_ports_is_refused` |
| configuration | another block size than the engine's | `test_block_sizes_agree` |
| configuration | a handler before its decider | `test_a_decider_stands_where_its_handler_finds_it` |
| sidecar | a plain container, or one beside prefill | `test_the_sidecar_is_a_native_one_of_decode_pods_alone` |
| sidecar | flags that are gone | `test_the_sidecar_has_no_flag_that_its_line_has_not` |
| sidecar | TLS towards a gateway that speaks plain HTTP | `test_the_sidecar_serves_what_the_gateway_speaks` |
| sidecar | SSRF protection without rights or for another group | `test_the_sidecar_may_read_the_pool_that_it_is_told` |
| engine | roles whose connectors differ | `test_both_roles_have_one_connector` |
| engine | a connector that the engine has not | `test_a_connector_that_a_line_has_not_is_refused` |
| engine | block sizes that differ between roles | `test_both_roles_have_one_block_size` |
| engine | no address for the side channel, idle connections cut | `test_prefill_is_found_and_keeps_its_connections` |
| engine | KV events without the pod's address | `test_engines_publish_under_their_own_address` |
| engine | no writable home under a restricted user | `test_an_engine_may_write_where_it_has_to` |
| engine | no shared memory | `test_ranks_of_an_engine_share_memory` |
| engine | killed before it has drained | `test_an_engine_drains_before_it_is_killed` |
| engine | metrics by their old names | `test_metrics_have_their_present_names` |
| engine | an incompatible version in the same pool | `test_an_incompatible_version_has_a_pool_of_its_own` |
| engine | an HPA beside a ScaledObject | `test_a_workload_has_one_autoscaler` |
| engine | `both` and other roles of old | `test_a_pod_has_one_of_two_roles` |
"""

import copy
import json
import re

import pytest
import yaml

from manifests import validation
from manifests.stack import objects, render
from models.vocabulary import seconds
from planning import outputs
from planning.facts import ClusterFacts, Served
from planning.order import AFTER, Part
from planning.preflight import kinds
from planning.releases import channel, channels
from tests.otterscale import kind, picker
from tests.shapes import (
    EVERY,
    containers,
    engine,
    every_stack,
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
from tests.stacks import SERVICE, as_rendered, exactly, find, plan, rendered, tree

every_channel = pytest.mark.parametrize("release", channels())
DISAGGREGATED = [one for one in channels() if channel(one).sidecar is not None]
every_disaggregated_channel = pytest.mark.parametrize("release", DISAGGREGATED)
POD_IP = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
CUSTOM = {"type": "custom", "image": "registry.example/server:v1"}
PROMETHEUS = {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}
DEPRECATED = {
    *("by-label", "by-label-selector", "pd-profile-handler", "disagg-headers-handler", "prefill-header-handler"),
    *("tokenizer", "precise-prefix-cache-scorer", "data-parallel-profile-handler"),
}
SLEEPS = {"type": "keda", "minReplicas": 0, "maxReplicas": 4, "metrics": [{"type": "cpu", "targetPercent": 80}]}
SINGLE = {
    "plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker"}],
    "schedulingProfiles": [
        {"name": "default", "plugins": [{"pluginRef": "queue-scorer", "weight": 2}, {"pluginRef": "max-score-picker"}]}
    ],
}


def test_the_table_is_of_what_is_here():
    named = re.findall(r"`(test_\w+)`", __doc__)
    here = [name for name in globals() if name.startswith("test_") and name != "test_the_table_is_of_what_is_here"]
    assert named == here


def stack(release="llm-d-0.10", **service):
    return tree(qwen=service) | {"release": release}


def picking(release="llm-d-0.10", **spec):
    return stack(release, endpointPicker=spec)


def configured(*more, release="llm-d-0.10", profile=(), service=None, **keys):
    """Return a stack whose picker has a sound configuration of its own, with further plugins, entries and sections."""
    config = copy.deepcopy(SINGLE) | keys
    config["plugins"] += more
    config["schedulingProfiles"][0]["plugins"][:0] = [{"pluginRef": name} for name in profile]
    return stack(release, **{**(service or {}), "endpointPicker": {"preset": "custom", "config": config}})


def warnings(wanted):
    return outputs.stack(plan(wanted), None)["services"]["qwen"]["warnings"]


def pools(everything):
    found = kind(everything, "InferencePool")
    assert found
    return found


def members(everything, pool):
    """Return the templates of the pods that a pool selects."""
    wanted = pool["spec"]["selector"]["matchLabels"].items()
    return [one for one in model_servers(everything) if wanted <= one["metadata"]["labels"].items()]


def pickers(everything):
    found = [one for one in kind(everything, "Deployment") if one["metadata"]["name"].endswith("-epp")]
    assert found
    return found


def proxy(wanted):
    (found,) = [one for template in serving(rendered(wanted)) for one in sidecars(template)]
    return found


def roles(wanted):
    """Return the engines of the decode pods and of the prefill pods."""
    found = {label(one, "inference-stacks.io/role"): engine(one) for one in serving(rendered(wanted))}
    assert found.keys() == {"decode", "prefill"}
    return found["decode"], found["prefill"]


# --- pool


@every_stack
def test_a_pool_is_of_the_stable_api_and_selects_by_labels(stack):
    for pool in pools(rendered(stack)):
        assert pool["apiVersion"] == "inference.networking.k8s.io/v1"
        assert [*pool["spec"]["selector"]] == ["matchLabels"]
        assert 0 < len(pool["spec"]["selector"]["matchLabels"]) <= 64


@every_stack
def test_no_pool_selects_one_role_alone(stack):
    everything = rendered(stack)
    for pool in pools(everything):
        found = {label(one, "llm-d.ai/role") for one in members(everything, pool)}
        apart = any(one["pluginRef"] == "prefill-filter" for one in _entries(everything, pool))
        assert found - {None} == ({"decode", "prefill"} if apart else {"decode"})


def _entries(everything, pool):
    name = pool["spec"]["endpointPickerRef"]["name"]
    config = yaml.safe_load(exactly(everything, "ConfigMap", name)["data"]["config.yaml"])
    return [one for profile in config["schedulingProfiles"] for one in profile["plugins"]]


@every_stack
def test_a_pool_has_one_port_which_its_pods_listen_on(stack):
    everything = rendered(stack)
    for pool in pools(everything):
        (port,) = pool["spec"]["targetPorts"]
        found = [one for one in members(everything, pool) if label(one, "llm-d.ai/role")]
        assert found
        for template in found:
            assert port["number"] in [
                each["containerPort"] for one in containers(template) for each in one.get("ports", [])
            ]
    (message,) = told(tree(qwen={"targetPorts": [8000, 8001]}))
    assert message.startswith("services.qwen.targetPorts: unknown key")


@every_stack
def test_every_pool_names_the_service_and_port_of_its_picker(stack):
    everything = rendered(stack)
    for pool in pools(everything):
        ref = pool["spec"]["endpointPickerRef"]
        service = exactly(everything, "Service", ref["name"])
        assert (ref["group"], ref["kind"]) == ("", "Service")
        assert service["metadata"]["namespace"] == pool["metadata"]["namespace"]
        (port,) = [one for one in service["spec"]["ports"] if one["name"] == "grpc-ext-proc"]
        assert (port["port"], port["appProtocol"]) == (ref["port"]["number"], "kubernetes.io/h2c")


def test_a_failure_mode_is_spelt_as_the_pool_takes_it():
    (message,) = told(picking(failureMode="FailClosed"))
    assert message == (
        "services.qwen.endpointPicker.failureMode: is not one of FailClose or FailOpen (FailClosed); choose one of them"
    )
    pool = find(rendered(tree()), "InferencePool", "qwen")
    validation.check([as_rendered(pool)])
    pool = copy.deepcopy(pool)
    pool["spec"]["endpointPickerRef"]["failureMode"] = "FailClosed"
    with pytest.raises(validation.SchemaError):
        validation.check([as_rendered(pool)])


def test_requests_go_past_a_picker_only_for_a_reason():
    assert find(rendered(tree()), "InferencePool", "qwen")["spec"]["endpointPickerRef"]["failureMode"] == "FailClose"
    (message,) = told(picking(failureMode="FailOpen"))
    assert message.startswith("services.qwen.endpointPicker.failOpenReason: is missing")


@every_stack
def test_a_route_names_no_port_of_a_pool(stack):
    for route in kind(rendered(stack), "HTTPRoute"):
        for ref in (ref for rule in route["spec"]["rules"] for ref in rule["backendRefs"]):
            assert (ref["group"], ref["kind"]) == ("inference.networking.k8s.io", "InferencePool")
            assert "port" not in ref


def test_a_cluster_with_the_old_pool_alone_is_told():
    needed = {f"{one['apiVersion']}/{one['kind']}" for one in rendered(tree())}
    pool, old = "inference.networking.k8s.io/v1/InferencePool", "inference.networking.x-k8s.io/v1alpha2/InferencePool"
    served = ClusterFacts(apis=Served(frozenset(needed - {pool} | {old})))
    (error,) = kinds(needed, served, "strict").errors
    assert error.startswith(f"{pool}: the cluster does not serve it; install ")


@every_channel
def test_one_api_group_is_read(release):
    everything = rendered(picking(release, replicas=2))
    assert not [one["apiVersion"] for one in everything if "x-k8s.io" in one["apiVersion"]]
    groups = {"llm-d.ai", "inference.networking.x-k8s.io"}
    rules = find(everything, "Role", "qwen-epp")["rules"]
    read = {group for rule in rules for group in rule["apiGroups"]} & groups
    assert read == {channel(release).picker.objectives_group}


# --- gateway


def test_istio_is_told_where_a_picker_speaks_tls():
    for spec, count in (
        ({}, 1),
        ({"tls": {"type": "certificate", "secret": "one"}}, 1),
        ({"tls": {"type": "none"}}, 0),
    ):
        everything = rendered(picking(**spec) | {"cluster": {"domain": "example.org"}})
        found = kind(everything, "DestinationRule")
        assert len(found) == count
        assert (flag(picker(everything), "--secure-serving") or "true") == str(bool(count)).lower()
        for rule in found:
            assert rule["apiVersion"] == "networking.istio.io/v1"
            assert rule["spec"]["host"] == "qwen-epp.models.svc.example.org"


def test_gke_gets_policies_and_no_timeouts_on_routes():
    wanted = tree(qwen={"drainTimeout": "10m", "health": {"livenessPath": "/alive"}})
    wanted["gateway"]["provider"] = "gke"
    everything = rendered(wanted)
    health, backend = find(everything, "HealthCheckPolicy", "qwen"), find(everything, "GCPBackendPolicy", "qwen")
    assert {one["spec"]["targetRef"]["kind"] for one in (health, backend)} == {"InferencePool"}
    assert health["spec"]["default"]["config"]["httpHealthCheck"] == {"requestPath": "/alive", "port": 8000}
    assert backend["spec"]["default"]["timeoutSec"] == 600
    (route,) = kind(everything, "HTTPRoute")
    assert "timeouts" not in json.dumps(route)


# --- picker


@pytest.mark.parametrize("tag", ["latest", "main"])
@pytest.mark.parametrize(
    ("at", "service"),
    [
        ("endpointPicker.image", {"endpointPicker": {"image": "registry.example:5000/epp:{tag}"}}),
        ("sidecar.image", {"prefill": {}, "sidecar": {"image": "registry.example/sidecar:{tag}"}}),
        ("engine.image", {"engine": {"image": "registry.example/vllm:{tag}"}}),
        ("prefill.engine.image", {"prefill": {"engine": {"image": "registry.example/vllm:{tag}"}}}),
        ("model.source", {"model": {"name": "m", "source": "image://registry.example/server:{tag}"}}),
        (
            "canary.endpointPicker.image",
            {"canary": {"weight": 1, "endpointPicker": {"image": "registry.example/epp:{tag}"}}},
        ),
    ],
)
def test_an_image_that_moves_is_refused(at, service, tag):
    def tagged(text):
        return tree(qwen=json.loads(json.dumps(service).replace("{tag}", text)))

    (message,) = told(tagged(tag))
    assert message.startswith(f"services.qwen.{at}: is another image from one day to the next ({tag}); ")
    assert rendered(tagged(f"{tag}-v1"))
    assert rendered(tagged(f"{tag}@sha256:{'0f' * 32}"))


def test_images_of_two_lines_are_refused():
    (message,) = told(picking("llm-d-0.9", image="ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0"))
    assert message.startswith("services.qwen.endpointPicker.image: belongs to another release line")
    sidecar = {"image": "ghcr.io/llm-d/llm-d-routing-sidecar:v0.6.0"}
    (message,) = told(stack(prefill={}, sidecar=sidecar))
    assert message.startswith("services.qwen.sidecar.image: belongs to another release line")


@every_channel
def test_every_flag_is_one_token(release):
    service = {"prefill": {}} if release in DISAGGREGATED else {}
    everything = rendered(stack(release, **service, endpointPicker={"replicas": 2, "flags": {"zap-devel": "false"}}))
    found = [picker(everything), *(one for template in serving(everything) for one in sidecars(template))]
    for argument in (argument for one in found for argument in one["args"]):
        assert re.fullmatch(r"--[a-z0-9-]+=\S+", argument), argument
    assert flag(picker(everything), "--zap-devel") == "false"
    (message,) = told(picking(release, flags={"zap-devel": "no"}))
    assert message.startswith("services.qwen.endpointPicker.flags.zap-devel: is not true or false")


@pytest.mark.parametrize(
    "name",
    [
        "total-queued-requests-metric",
        "total-running-requests-metric",
        "kv-cache-usage-percentage-metric",
        "lora-info-metric",
        "cache-info-metric",
    ],
)
def test_a_flag_that_ends_the_picker_is_refused(name):
    (message,) = told(picking(flags={name: "vllm:x"}))
    assert message.startswith(f"services.qwen.endpointPicker.flags.{name}: cannot be set ({name}); remove it: ")


@every_channel
@pytest.mark.parametrize(
    "name",
    [
        "pool-group",
        "pool-name",
        "ha-enable-leader-election",
        "endpoint-selector",
        "endpoint-target-ports",
        "config-text",
        "secure-serving",
        "grpc-health-port",
    ],
)
def test_what_objects_have_to_agree_about_is_no_flag(release, name):
    (message,) = told(picking(release, flags={name: "1"}))
    assert message.startswith(f"services.qwen.endpointPicker.flags.{name}: ")
    assert "; remove it" in message


@every_channel
@pytest.mark.parametrize("count", [1, 2])
def test_probes_ask_for_names_that_a_standby_answers(release, count):
    one = picker(rendered(picking(release, replicas=count)))
    assert one["livenessProbe"]["grpc"] == {"port": 9003, "service": "liveness"}
    assert one["readinessProbe"]["grpc"] == {"port": 9003, "service": "readiness"}


def test_the_pool_comes_first_and_goes_last():
    """Whatever is made after another is deleted before it; `tests/real/test_deploy.py` has the engine's own order."""
    assert Part.POOL in AFTER[Part.PICKER]
    assert AFTER[Part.POOL] == (Part.PICKER_SERVICE,)
    for wanted in EVERY.values():
        order = [one.id.part for one in objects(render(plan(wanted))) if one.id.owner == next(iter(wanted["services"]))]
        assert order.index(Part.POOL) < order.index(Part.PICKER)


def test_a_pool_of_another_name_has_a_picker_of_another_name():
    """So both pairs are there while the route moves; `tests/real/test_generations.py` deploys that."""
    ones, others = (
        {(one["kind"], one["metadata"]["name"]) for one in rendered(stack(prefill={}, **more))}
        for more in ({}, {"parallelism": {"tensor": 2}})
    )
    for what in ("InferencePool", "Deployment"):
        assert not {one for one in ones & others if one[0] == what}
    assert ("HTTPRoute", "qwen") in ones & others


@pytest.mark.parametrize("parser", ["vllmgrpc-parser", "vertexai-parser"])
def test_a_parser_of_one_protocol_is_said_on_the_pool_or_refused(parser):
    handler = {"requestHandler": {"parsers": [{"pluginRef": parser}]}}
    pool = find(rendered(configured(service={"engine": CUSTOM}, **handler)), "InferencePool", "qwen")
    assert pool["spec"]["appProtocol"] == "kubernetes.io/h2c"
    (message,) = told(configured(**handler))
    assert "takes kubernetes.io/h2c only, which vllm does not serve" in message
    assert "appProtocol" not in find(rendered(configured()), "InferencePool", "qwen")["spec"]


@pytest.mark.parametrize("drain", ["30s", "5m"])
def test_a_picker_outlives_its_requests(drain):
    (one,) = pickers(rendered(picking(flags={"drain-timeout": drain})))
    grace = one["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= 130
    assert grace > seconds(drain)


@every_stack
def test_a_picker_asks_for_what_it_needs(stack):
    for one in pickers(rendered(stack)):
        assert {"cpu", "memory"} <= engine(one["spec"]["template"])["resources"]["requests"].keys()


@every_channel
def test_token_reviews_are_allowed_in_the_whole_cluster(release):
    everything = rendered(picking(release))
    (binding,) = kind(everything, "ClusterRoleBinding")
    (one,) = pickers(everything)
    account = one["spec"]["template"]["spec"]["serviceAccountName"]
    assert binding["roleRef"]["name"] == "system:auth-delegator"
    assert [(each["name"], each["namespace"]) for each in binding["subjects"]] == [(account, "models")]
    assert "reviews" not in json.dumps(kind(everything, "Role"))


def scraped(collector, **services):
    return tree(**services) | {"observability": {"metrics": {"type": collector}}}


@pytest.mark.parametrize("collector", ["prometheus-operator", "gmp"])
def test_who_scrapes_may_get_metrics(collector):
    everything = rendered(scraped(collector))
    (secret,) = kind(everything, "Secret")
    account = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
    (role,) = kind(everything, "ClusterRole")
    assert role["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    bound = [
        one for one in kind(everything, "ClusterRoleBinding") if one["roleRef"]["name"] == role["metadata"]["name"]
    ]
    assert [each["name"] for one in bound for each in one["subjects"]] == [account]
    (service,) = [one for one in kind(everything, "Service") if one["metadata"]["name"] == "qwen-epp"]
    assert "http-metrics" in [one["name"] for one in service["spec"]["ports"]]


def test_no_two_services_share_a_secret():
    everything = rendered(scraped("prometheus-operator", a={}, b={"canary": {"weight": 10}}))
    names = [one["metadata"]["name"] for one in kind(everything, "Secret")]
    assert len(names) == len({*names}) == 3
    used = [
        each["authorization"]["credentials"]["name"]
        for one in kind(everything, "ServiceMonitor")
        for each in one["spec"]["endpoints"]
    ]
    assert sorted(used) == sorted(names)


def test_several_pickers_are_waited_for_as_they_become_ready():
    """What the real engine makes of these waits, no test shows."""
    (several,), (one,) = (pickers(rendered(picking(replicas=count))) for count in (2, 1))
    waits = json.loads(several["metadata"]["annotations"]["pulumi.com/waitFor"])
    assert {"jsonpath={.status.readyReplicas}=1", "jsonpath={.status.updatedReplicas}=2"} <= {*waits}
    assert "pulumi.com/skipAwait" not in several["metadata"]["annotations"]
    assert "annotations" not in one["metadata"]


@every_channel
def test_several_pickers_always_elect(release):
    for count, expected in ((1, None), (2, "true"), (3, "true")):
        everything = rendered(picking(release, replicas=count))
        assert flag(picker(everything), "--ha-enable-leader-election") == expected
        leases = [rule for rule in find(everything, "Role", "qwen-epp")["rules"] if "leases" in rule["resources"]]
        assert bool(leases) == (expected is not None)


# --- the picker's configuration


@every_channel
def test_another_configuration_is_another_pod(release):
    ones, others = (
        pickers(rendered(picking(release, scorerWeights={"queue-scorer": weight})))[0]["spec"]["template"]
        for weight in (1, 2)
    )
    assert ones["spec"] == others["spec"]
    assert ones["metadata"]["annotations"] != others["metadata"]["annotations"]


@every_channel
def test_the_api_version_follows_from_the_line(release):
    written = find(rendered(stack(release)), "ConfigMap", "qwen-epp")["data"]["config.yaml"]
    expected = {"llm-d-0.9": "llm-d.ai/v1alpha1", "llm-d-0.10": "llm-d.ai/v1alpha1"}
    assert yaml.safe_load(written)["apiVersion"] == expected.get(release, "inference.networking.x-k8s.io/v1alpha1")
    own = configured(release=release, apiVersion="llm-d.ai/v1", kind="EndpointPickerConfig")
    assert [message.partition(": ")[2] for message in told(own)] == [
        "follows from the release (apiVersion); remove it",
        "follows from the release (kind); remove it",
    ]


@pytest.mark.parametrize("gate", ["dataLayer", "enableLegacyMetrics", "prepareDataPlugins"])
def test_a_gate_that_is_gone_is_refused(gate):
    (message,) = told(configured(featureGates=[gate]))
    assert f"is no feature gate of llm-d-0.10 ({gate})" in message


@pytest.mark.parametrize(
    ("section", "at"),
    [
        ({"dataLayer": {"discovery": {"endpoints": {"pluginRef": "x"}}}}, "dataLayer.discovery.endpoints"),
        ({"dataLayer": {"crossReplica": {"syncInterval": "1s"}}}, "dataLayer.crossReplica"),
        ({"data": {"sources": []}}, "data"),
        (
            {"flowControl": {"priorityBands": [{"priority": 1, "queue": "MaxMinHeap"}]}},
            "flowControl.priorityBands[0].queue",
        ),
    ],
)
def test_a_key_of_another_api_is_refused(section, at):
    messages = told(configured(**section))
    assert any(one.startswith(f"services.qwen.endpointPicker.config.{at}: unknown key") for one in messages)


@pytest.mark.parametrize(
    ("section", "instead"),
    [
        ({"saturationDetector": {"pluginRef": "utilization-detector"}}, "flowControl.saturationDetector"),
        ({"parser": {"pluginRef": "openai-parser"}}, "requestHandler.parsers"),
    ],
)
def test_a_deprecated_key_is_told(section, instead):
    """The line still reads it."""
    (name,) = section
    assert f"endpointPicker.config.{name}: is deprecated ({name}); use {instead}" in warnings(configured(**section))
    assert warnings(configured()) == []


@every_channel
def test_an_unknown_parameter_is_refused(release):
    (message,) = told(configured({"type": "random-picker", "parameters": {"maxNumOfEndpoint": 1}}, release=release,
                                 schedulingProfiles=[{"name": "default", "plugins": [{"pluginRef": "queue-scorer"},
                                                                                     {"pluginRef": "random-picker"}]}],
                                 plugins=[{"type": "queue-scorer"}]))  # fmt: skip
    assert "unknown parameter of random-picker (maxNumOfEndpoint); did you mean maxNumOfEndpoints?" in message


@pytest.mark.parametrize(
    ("flow", "is_told"), [({}, True), ({"defaultRequestTTL": "60s"}, True), ({"defaultRequestTTL": "2h"}, False)]
)
def test_requests_that_give_up_before_a_pod_wakes_are_told(flow, is_told):
    service = {"autoscaling": SLEEPS, "endpointPicker": {"flowControl": flow}}
    found = warnings(tree(qwen=service) | {"observability": PROMETHEUS})
    assert [one for one in found if "defaultRequestTTL" in one] == (found if is_told else [])
    assert bool(found) == is_told


def test_nothing_sleeps_that_nothing_wakes():
    wanted = tree(qwen={"autoscaling": SLEEPS}) | {"observability": PROMETHEUS}
    (message,) = told(wanted)
    assert message.startswith("services.qwen.autoscaling.minReplicas: zero replicas cannot be woken without a queue")


def test_an_alpha_plugin_brings_its_flag():
    alpha = {"session-affinity-scorer": 1}
    assert flag(picker(rendered(picking(scorerWeights=alpha))), "--allow-experimental-plugins") == "true"
    assert flag(picker(rendered(tree())), "--allow-experimental-plugins") is None
    own = configured({"type": "utilization-filter"}, profile=["utilization-filter"])
    assert flag(picker(rendered(own)), "--allow-experimental-plugins") == "true"
    assert any("is experimental (utilization-filter)" in one for one in warnings(own))
    (message,) = told(picking(flags={"allow-experimental-plugins": "true"}))
    assert message.endswith("remove it: it follows from the plugins")


@pytest.mark.parametrize("name", ["active-request-filter", "qeue-scorer", "decode-filterr"])
def test_a_plugin_that_is_not_registered_is_refused(name):
    messages = told(configured({"type": name}, profile=[name]))
    assert any(f"plugins[2].type: is not in llm-d-0.10 ({name})" in one for one in messages)


@pytest.mark.parametrize(
    ("plugin", "profile", "instead"),
    [
        ({"type": "by-label", "parameters": {"label": "tier"}}, True, "label-selector-filter"),
        ({"type": "by-label-selector"}, True, "label-selector-filter"),
        ({"type": "tokenizer", "parameters": {"modelName": "org/model"}}, False, "token-producer"),
        ({"type": "disagg-headers-handler"}, False, "disagg-profile-handler"),
        ({"type": "prefill-header-handler"}, False, "disagg-profile-handler"),
        (
            {
                "type": "precise-prefix-cache-scorer",
                "parameters": {"tokenProcessorConfig": {"blockSizeTokens": 64}},
            },
            True,
            "precise-prefix-cache-producer and prefix-cache-scorer",
        ),
    ],
)
def test_a_deprecated_plugin_is_told(plugin, profile, instead):
    """The line still has it."""
    wanted = configured(plugin, profile=[plugin["type"]] if profile else [])
    table = channel("llm-d-0.10").picker.plugins.table
    assert {name for name, one in table.items() if one.deprecated is not None} == DEPRECATED
    (found,) = warnings(wanted)
    assert found.startswith(f"endpointPicker.config.plugins[2].type: is deprecated ({plugin['type']}); use {instead}")


@pytest.mark.parametrize("release", ["llm-d-0.9", "llm-d-0.10"])
@pytest.mark.parametrize("name", ["token-producer", "tokenizer"])
def test_a_tokenizer_that_nobody_serves_is_refused(release, name):
    parameters = {"modelName": "org/model", "udsTokenizerConfig": {"socketFile": "/tmp/tokenizer.sock"}}
    (message,) = told(configured({"type": name, "parameters": parameters}, release=release))
    assert f"unknown parameter of {name} (udsTokenizerConfig)" in message


@pytest.mark.parametrize("release", ["llm-d-0.6", "llm-d-0.9", "llm-d-0.10"])
def test_the_handler_of_several_ports_is_refused(release):
    (message,) = told(configured({"type": "data-parallel-profile-handler"}, release=release))
    what = (
        "plugins[2].type: cannot be used (data-parallel-profile-handler); remove it: it sends requests to primaryPort"
    )
    assert what in message


@pytest.mark.parametrize("key", ["blockSize", "blockSizeTokens"])
def test_block_sizes_agree(key):
    def precise(size):
        plugins = [
            {"type": "token-producer", "parameters": {"modelName": "org/model"}},
            {"type": "endpoint-notification-source"},
            {"type": "precise-prefix-cache-producer", "parameters": {"tokenProcessorConfig": {key: size}}},
        ]
        extractors = [{"pluginRef": "precise-prefix-cache-producer"}]
        sources = [{"pluginRef": "endpoint-notification-source", "extractors": extractors}]
        return configured(*plugins, dataLayer={"sources": sources}, service={"kvCache": {"blockSize": 32}})

    decode = engine(find(rendered(precise(32)), "Deployment", "qwen-decode")["spec"]["template"])
    assert flag(decode, "--block-size") == "32"
    (message,) = told(precise(64))
    assert f"tokenProcessorConfig.{key}: differs from the engine's (64, 32)" in message


def test_a_decider_stands_where_its_handler_finds_it():
    handler = {"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}}
    plugins = [handler, {"type": "always-disagg-pd-decider"}, {"type": "prefill-filter"}, {"type": "decode-filter"}]
    profiles = [{"name": role, "plugins": [{"pluginRef": f"{role}-filter"}]} for role in ("prefill", "decode")]

    def ordered(release, chosen):
        config = {"plugins": chosen, "schedulingProfiles": profiles}
        return stack(release, prefill={}, endpointPicker={"preset": "custom", "config": config})

    (message,) = told(ordered("llm-d-0.9", plugins))
    assert "names a plugin that stands behind it (always-disagg-pd-decider)" in message
    assert rendered(ordered("llm-d-0.9", [plugins[1], plugins[0], *plugins[2:]]))
    assert rendered(ordered("llm-d-0.10", plugins))


# --- sidecar


@every_stack
def test_the_sidecar_is_a_native_one_of_decode_pods_alone(stack):
    everything = rendered(stack)
    for template in templates(everything):
        assert "routing-proxy" not in [one["name"] for one in template["spec"]["containers"]]
        for one in sidecars(template):
            assert one["restartPolicy"] == "Always"
            assert label(template, "llm-d.ai/role") == "decode"
            (port,) = [each["containerPort"] for each in one["ports"]]
            assert flag(one, "--port") == str(port)


@every_disaggregated_channel
def test_the_sidecar_has_no_flag_that_its_line_has_not(release):
    tls = {"tls": {"prefill": True, "certificate": "serving"}}
    found = {one.partition("=")[0] for one in proxy(stack(release, prefill={}, sidecar=tls))["args"]}
    older = {"--connector", "--vllm-port", "--prefiller-use-tls", "--prefiller-tls-insecure-skip-verify"}
    newer = {"--kv-connector", "--enable-tls", "--tls-insecure-skip-verify", "--inference-pool"}
    expected = {
        "llm-d-0.6": older | {"--inference-pool-namespace", "--inference-pool-name"},
        "llm-d-0.9": newer | {"--vllm-port"},
        "llm-d-0.10": newer | {"--model-server-port"},
    }
    common = {"--port", "--secure-proxy", "--enable-ssrf-protection", "--pool-group"}
    assert found == common | expected[release]
    (message,) = told(stack(release, prefill={}, sidecar={"args": ["--connector=nixlv2"]}))
    assert message.startswith("services.qwen.sidecar.args: unknown key")


@every_disaggregated_channel
def test_the_sidecar_serves_what_the_gateway_speaks(release):
    assert flag(proxy(stack(release, prefill={})), "--secure-proxy") == "false"
    assert "appProtocol" not in find(rendered(stack(release, prefill={})), "InferencePool", "qwen")["spec"]


@every_disaggregated_channel
def test_the_sidecar_may_read_the_pool_that_it_is_told(release):
    wanted = stack(release, prefill={})
    everything, one = rendered(wanted), proxy(wanted)
    (pool,) = pools(everything)
    asked = (
        flag(one, "--inference-pool")
        or f"{flag(one, '--inference-pool-namespace')}/{flag(one, '--inference-pool-name')}"
    )
    assert asked == f"{pool['metadata']['namespace']}/{pool['metadata']['name']}"
    assert flag(one, "--pool-group") == pool["apiVersion"].partition("/")[0]
    (template,) = [each for each in serving(everything) if sidecars(each)]
    account = template["spec"]["serviceAccountName"]
    (binding,) = [each for each in kind(everything, "RoleBinding") if each["subjects"][0]["name"] == account]
    rules = exactly(everything, "Role", binding["roleRef"]["name"])["rules"]
    assert {resource for rule in rules for resource in rule["resources"]} == {"pods", "inferencepools"}


# --- engine


@every_disaggregated_channel
def test_both_roles_have_one_connector(release):
    decode, prefill = roles(stack(release, prefill={}))
    assert flag(decode, "--kv-transfer-config") == flag(prefill, "--kv-transfer-config")
    assert json.loads(flag(decode, "--kv-transfer-config"))["kv_role"] == "kv_both"


@every_disaggregated_channel
@pytest.mark.parametrize("connector", ["offloading", "shared-storage"])
def test_a_connector_that_a_line_has_not_is_refused(release, connector):
    assert connector not in channel(release).engine.kv_transfer
    (message,) = told(stack(release, prefill={}, kvCache={"connector": connector}))
    assert message.startswith(f"services.qwen.kvCache.connector: is not known to the engine of {release} ({connector})")


@every_disaggregated_channel
def test_both_roles_have_one_block_size(release):
    for service, size in (({}, "64"), ({"kvCache": {"blockSize": 16}}, "16")):
        assert [flag(one, "--block-size") for one in roles(stack(release, prefill={}, **service))] == [size, size]
    (message,) = told(stack(release, prefill={"engine": {"args": ["--block-size=32"]}}))
    assert message.startswith("services.qwen.prefill.engine.args[0]: repeats a field (--block-size)")


@every_disaggregated_channel
def test_prefill_is_found_and_keeps_its_connections(release):
    wanted = stack(release, prefill={})
    for one in roles(wanted):
        assert values(one)["VLLM_NIXL_SIDE_CHANNEL_HOST"] == "$(POD_IP)"
        assert values(one)["POD_IP"] == POD_IP
    _, prefill = roles(wanted)
    # The sidecar keeps a connection that idles for 90 seconds.
    assert int(values(prefill)["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"]) > 90


@pytest.mark.parametrize("release", ["llm-d-0.9", "llm-d-0.10"])
def test_engines_publish_under_their_own_address(release):
    decode = engine(
        find(rendered(picking(release, preset="precise-prefix-cache")), "Deployment", "qwen-decode")["spec"]["template"]
    )
    events = json.loads(flag(decode, "--kv-events-config"))
    assert events["topic"] == f"kv@$(POD_IP):8000@{SERVICE['model']['name']}"
    assert events["enable_kv_cache_events"] is True
    assert values(decode)["POD_IP"] == POD_IP


@every_stack
def test_an_engine_may_write_where_it_has_to(stack):
    for template in model_servers(rendered(stack)):
        one = engine(template)
        home = values(one)["HOME"]
        (mount,) = [each for each in one["volumeMounts"] if each["mountPath"] == home]
        assert "emptyDir" in volumes(template)[mount["name"]]


@every_stack
def test_ranks_of_an_engine_share_memory(stack):
    for template in model_servers(rendered(stack)):
        (mount,) = [each for each in engine(template)["volumeMounts"] if each["mountPath"] == "/dev/shm"]
        assert volumes(template)[mount["name"]]["emptyDir"]["medium"] == "Memory"


@every_channel
def test_an_engine_drains_before_it_is_killed(release):
    """No role goes faster, prefill's included: its cache may be on its way to a decode pod."""
    service = {"prefill": {}} if release in DISAGGREGATED else {}
    knows = channel(release).engine.shutdown_timeout
    for template in serving(rendered(stack(release, **service, drainTimeout="80s"))):
        one, grace = engine(template), template["spec"]["terminationGracePeriodSeconds"]
        sleeps = one["lifecycle"]["preStop"]["sleep"]["seconds"]
        drains = int(flag(one, knows)) if knows else 0
        assert sleeps >= 15
        assert sleeps + drains >= 80
        assert sleeps + drains < grace
        assert (flag(one, "--shutdown-timeout") is not None) == (knows is not None)


@every_channel
def test_metrics_have_their_present_names(release):
    series = {name: one.series for name, one in channel(release).engine.metrics.items()}
    assert series["kv-cache-utilization"] == "vllm:kv_cache_usage_perc"
    assert series["queue-size"] == "vllm:num_requests_waiting"
    assert "gpu_cache_usage_perc" not in str(channel(release))


@pytest.mark.parametrize("more", [{"engine": {"image": "registry.example/vllm:v2"}}, {"kvCache": {"blockSize": 16}}])
def test_an_incompatible_version_has_a_pool_of_its_own(more):
    before, after = (rendered(stack(prefill={}, **one)) for one in ({}, more))
    (old,), (new,) = pools(before), pools(after)
    assert len(members(before, old)) == len(members(after, new)) == 2
    assert members(after, old) == members(before, new) == []
    (route,) = kind(after, "HTTPRoute")
    assert route["metadata"]["name"] == "qwen"
    assert route["spec"]["rules"][0]["backendRefs"][0]["name"] == new["metadata"]["name"]


@pytest.mark.parametrize(("scaling", "made"), [("hpa", "HorizontalPodAutoscaler"), ("keda", "ScaledObject")])
def test_a_workload_has_one_autoscaler(scaling, made):
    wanted = {"type": scaling, "minReplicas": 1, "maxReplicas": 4, "metrics": SLEEPS["metrics"]}
    everything = rendered(tree(qwen={"autoscaling": wanted}))
    autoscalers = [one["kind"] for one in everything if one["kind"] in {"HorizontalPodAutoscaler", "ScaledObject"}]
    assert autoscalers == [made]
    assert "replicas" not in find(everything, "Deployment", "qwen-decode")["spec"]


@every_stack
def test_a_pod_has_one_of_two_roles(stack):
    for template in serving(rendered(stack)):
        assert label(template, "llm-d.ai/role") in {"decode", "prefill"}
    (message,) = told(tree(qwen={"pod": {"labels": {"llm-d.ai/role": "both"}}}))
    assert message.startswith("services.qwen.pod.labels.llm-d.ai/role: is decided by this program")
