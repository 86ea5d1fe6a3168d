"""Misuses of the picker: images, flags, order, rights and numbers."""

import json
import re

import pytest

from manifests.assembly import objects, render
from models.vocabulary import seconds
from planning.ground import parts
from tests.support.stacks import find, plan, rendered, tree
from tests.support.stacks.misuses import DISAGGREGATED, configured, every_channel, pickers, picking, stack
from tests.support.stacks.otterscale import kind, picker
from tests.support.stacks.shapes import PICKED, engine, every_picked_rendering, flag, serving, sidecars, told

CUSTOM = {"type": "custom", "image": "registry.example/server:v1"}


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
    """See upstream picker-1."""

    def tagged(text):
        return tree(qwen=json.loads(json.dumps(service).replace("{tag}", text)))

    (message,) = told(tagged(tag))
    assert message.startswith(f"services.qwen.{at}: names a tag that moves to newer images ({tag}); ")
    assert rendered(tagged(f"{tag}-v1"))
    assert rendered(tagged(f"{tag}@sha256:{'0f' * 32}"))


def test_images_of_two_lines_are_refused():
    """See upstream picker-2."""
    (message,) = told(picking("llm-d-0.8", image="ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0"))
    assert message.startswith("services.qwen.endpointPicker.image: belongs to another release line")
    sidecar = {"image": "ghcr.io/llm-d/llm-d-routing-sidecar:v0.6.0"}
    (message,) = told(stack(prefill={}, sidecar=sidecar))
    assert message.startswith("services.qwen.sidecar.image: belongs to another release line")


@every_channel
def test_every_flag_is_one_token(release):
    """See upstream picker-3."""
    service = {"prefill": {}} if release in DISAGGREGATED else {}
    everything = rendered(stack(release, **service, endpointPicker={"replicas": 2, "flags": {"zap-devel": "false"}}))
    found = [picker(everything), *(sidecar for template in serving(everything) for sidecar in sidecars(template))]
    for argument in (argument for container in found for argument in container["args"]):
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
    """See upstream picker-4."""
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
    """See upstream picker-5."""
    (message,) = told(picking(release, flags={name: "1"}))
    assert message.startswith(f"services.qwen.endpointPicker.flags.{name}: ")
    assert "; remove it" in message


@every_channel
@pytest.mark.parametrize("count", [1, 2])
def test_probes_ask_for_names_that_a_standby_answers(release, count):
    """See upstream picker-6."""
    container = picker(rendered(picking(release, replicas=count)))
    assert container["livenessProbe"]["grpc"] == {"port": 9003, "service": "liveness"}
    assert container["readinessProbe"]["grpc"] == {"port": 9003, "service": "readiness"}


def test_the_pool_comes_first_and_goes_last():
    """Whatever is made after another is deleted before it; `tests/real/test_deploy.py` has the engine's own order.

    See upstream picker-7.
    """
    assert parts.POOL in parts.PICKER.after
    assert parts.POOL.after == (parts.PICKER_SERVICE,)
    for requested in PICKED.values():
        order = [
            item.id.part
            for item in objects(render(plan(requested)))
            if item.id.owner == next(iter(requested["services"]))
        ]
        assert order.index(parts.POOL) < order.index(parts.PICKER)


def test_a_pool_of_another_name_has_a_picker_of_another_name():
    """So both pairs are there while the route moves; `tests/real/test_generations.py` deploys that.

    See upstream picker-8.
    """
    ones, others = (
        {(manifest["kind"], manifest["metadata"]["name"]) for manifest in rendered(stack(prefill={}, **more))}
        for more in ({}, {"parallelism": {"tensor": 2}})
    )
    for what in ("InferencePool", "Deployment"):
        assert not {place for place in ones & others if place[0] == what}
    assert ("HTTPRoute", "qwen") in ones & others


@pytest.mark.parametrize("parser", ["vllmgrpc-parser", "vertexai-parser"])
def test_a_parser_of_one_protocol_is_said_on_the_pool_or_refused(parser):
    """See upstream picker-9."""
    handler = {"requestHandler": {"parsers": [{"pluginRef": parser}]}}
    pool = find(rendered(configured(service={"engine": CUSTOM}, **handler)), "InferencePool", "qwen")
    assert pool["spec"]["appProtocol"] == "kubernetes.io/h2c"
    (message,) = told(configured(**handler))
    assert "takes kubernetes.io/h2c only, which vllm does not serve" in message
    assert "appProtocol" not in find(rendered(configured()), "InferencePool", "qwen")["spec"]


@pytest.mark.parametrize("drain", ["30s", "5m"])
def test_a_picker_outlives_its_requests(drain):
    """See upstream picker-10."""
    (workload,) = pickers(rendered(picking(flags={"drain-timeout": drain})))
    grace = workload["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= 130
    assert grace > seconds(drain)


@every_picked_rendering
def test_a_picker_asks_for_what_it_needs(everything):
    """See upstream picker-11."""
    for workload in pickers(everything):
        assert {"cpu", "memory"} <= engine(workload["spec"]["template"])["resources"]["requests"].keys()


@every_channel
def test_token_reviews_are_allowed_in_the_whole_cluster(release):
    """See upstream picker-12."""
    everything = rendered(picking(release))
    (binding,) = kind(everything, "ClusterRoleBinding")
    (workload,) = pickers(everything)
    account = workload["spec"]["template"]["spec"]["serviceAccountName"]
    assert binding["roleRef"]["name"] == "system:auth-delegator"
    assert [(each["name"], each["namespace"]) for each in binding["subjects"]] == [(account, "models")]
    assert "reviews" not in json.dumps(kind(everything, "Role"))


def scraped(collector, **services):
    return tree(**services) | {"observability": {"metrics": {"type": collector}}}


@pytest.mark.parametrize("collector", ["prometheus-operator", "gmp"])
def test_a_scraper_may_get_metrics(collector):
    """See upstream picker-13."""
    everything = rendered(scraped(collector))
    (secret,) = kind(everything, "Secret")
    account = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
    (role,) = kind(everything, "ClusterRole")
    assert role["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    bound = [
        binding
        for binding in kind(everything, "ClusterRoleBinding")
        if binding["roleRef"]["name"] == role["metadata"]["name"]
    ]
    assert [each["name"] for binding in bound for each in binding["subjects"]] == [account]
    (service,) = [service for service in kind(everything, "Service") if service["metadata"]["name"] == "qwen-epp"]
    assert "http-metrics" in [port["name"] for port in service["spec"]["ports"]]


def test_no_two_services_share_a_secret():
    """See upstream picker-14."""
    everything = rendered(scraped("prometheus-operator", a={}, b={"canary": {"weight": 10}}))
    names = [secret["metadata"]["name"] for secret in kind(everything, "Secret")]
    assert len(names) == len({*names}) == 3
    used = [
        each["authorization"]["credentials"]["name"]
        for monitor in kind(everything, "ServiceMonitor")
        for each in monitor["spec"]["endpoints"]
    ]
    assert sorted(used) == sorted(names)


def test_several_pickers_are_waited_for_as_they_become_ready():
    """No test shows how the real engine takes these waits. See upstream picker-15."""
    (several,), (single,) = (pickers(rendered(picking(replicas=count))) for count in (2, 1))
    waits = json.loads(several["metadata"]["annotations"]["pulumi.com/waitFor"])
    assert {"jsonpath={.status.readyReplicas}=1", "jsonpath={.status.updatedReplicas}=2"} <= {*waits}
    assert "pulumi.com/skipAwait" not in several["metadata"]["annotations"]
    assert "annotations" not in single["metadata"]


@every_channel
def test_several_pickers_always_elect(release):
    """See upstream picker-16."""
    for count, expected in ((1, None), (2, "true"), (3, "true")):
        everything = rendered(picking(release, replicas=count))
        assert flag(picker(everything), "--ha-enable-leader-election") == expected
        leases = [rule for rule in find(everything, "Role", "qwen-epp")["rules"] if "leases" in rule["resources"]]
        assert bool(leases) == (expected is not None)
