"""Services without endpoint picker: what they consist of, what they need of a cluster, and in which order they move."""

import pytest

from judging.preflight.kinds import bundles
from manifests.assembly import objects, render
from planning import outputs
from planning.ground import parts
from planning.ground.cluster_facts import Bundles, ClusterFacts, Served
from planning.ground.order import Id
from tests.support.stacks import find, plan, rendered, tree

ABSENT = {"endpointPicker": {"enabled": False}}
SCRAPED = {"observability": {"metrics": {"type": "prometheus-operator"}}, "networkPolicies": {}}
GOOGLE = {"gateway": {"name": "gateway", "namespace": "gateways", "provider": "gke"}}


def kinds(stack):
    return sorted((manifest["kind"], manifest["metadata"]["name"]) for manifest in rendered(stack))


def backends(stack):
    (rule,) = find(rendered(stack), "HTTPRoute", "qwen")["spec"]["rules"]
    return rule["backendRefs"]


def test_without_a_picker_there_is_nothing_of_it_and_no_pool():
    assert kinds(tree(qwen=ABSENT) | SCRAPED) == [
        ("Deployment", "qwen-decode"),
        ("HTTPRoute", "qwen"),
        ("NetworkPolicy", "qwen-decode"),
        ("PodMonitor", "qwen-decode"),
        ("Service", "qwen"),
    ]


def test_the_route_leads_to_the_port_of_the_service_that_selects_decode_pods():
    stack = tree(qwen=ABSENT | {"engine": {"port": 8123}})
    assert backends(stack) == [{"group": "", "kind": "Service", "name": "qwen", "port": 8000, "weight": 1}]
    spec = find(rendered(stack), "Service", "qwen")["spec"]
    assert [(port["port"], port["targetPort"]) for port in spec["ports"]] == [(8000, 8123)]
    labels = find(rendered(stack), "Deployment", "qwen-decode")["spec"]["template"]["metadata"]["labels"]
    assert spec["selector"].items() <= labels.items()


def test_a_canary_has_its_share_between_services():
    targets = backends(tree(qwen=ABSENT | {"canary": {"weight": 10}}))
    assert [(backend["kind"], backend["name"], backend["weight"]) for backend in targets] == [
        ("Service", "qwen-canary", 10),
        ("Service", "qwen", 90),
    ]


def test_the_metered_service_is_the_one_that_the_interceptor_finds():
    stack = tree(qwen=ABSENT) | {"interceptor": {"mode": "label", "namespace": "metering"}}
    labels = find(rendered(stack), "Service", "qwen")["metadata"]["labels"]
    assert labels["saturncloud.io/resource-id"] == "qwen"
    assert [backend["name"] for backend in backends(stack)] == ["phoebe-interceptor"]


def test_what_is_inherited_for_pickers_is_passed_over():
    above = {
        "endpointPicker": {"preset": "precise-prefix-cache", "replicas": 2, "flowControl": {}},
        "objectives": {"batch": {"priority": -1}},
        "metrics": {"picker": True},
    }
    assert rendered(tree(qwen=ABSENT) | {"defaults": above}) == rendered(tree(qwen=ABSENT))
    below = plan(tree(qwen={"endpointPicker": {"enabled": True}}, bert={}) | {"defaults": ABSENT})
    assert {service.key: service.primary.endpoint_picker is None for service in below.services} == {
        "bert": True,
        "qwen": False,
    }


def test_the_route_follows_pods_and_service_and_waits_for_no_picker():
    order = {item.id: set(item.after) for item in objects(render(plan(tree(qwen=ABSENT) | GOOGLE)))}
    assert order[Id("qwen", parts.ROUTE)] == {
        Id("qwen", part)
        for part in (
            parts.DECODE.workload,
            parts.SERVICE,
            parts.SERVICE_HEALTH_CHECK_POLICY,
            parts.SERVICE_BACKEND_POLICY,
        )
    }


def test_policies_of_google_are_not_those_of_the_pool_that_a_service_leaves():
    without, beside = (
        {(item.manifest["kind"], item.manifest["metadata"]["name"]): item for item in objects(render(plan(stack)))}
        for stack in (tree(qwen=ABSENT) | GOOGLE, tree() | GOOGLE)
    )
    policies = {place for place in without if place[0] in {"HealthCheckPolicy", "GCPBackendPolicy"}}
    assert len(policies) == 2
    assert policies & beside.keys() == set()
    targets = [without[place].manifest["spec"]["targetRef"] for place in policies]
    assert targets == [{"group": "", "kind": "Service", "name": "qwen"}] * 2


OLD = {"inferencepools.inference.networking.k8s.io": "v0.5.0"}


@pytest.mark.parametrize(("others", "count"), [({}, 0), ({"bert": {}}, 1)])
def test_definitions_of_pools_matter_only_if_a_service_has_a_pool(others, count):
    live = ClusterFacts(Served(frozenset()), bundles=Bundles(OLD))
    assert len(bundles(plan(tree(qwen=ABSENT, **others)), live, "strict")) == count


def test_a_gateway_that_is_too_old_for_pools_serves_a_service():
    stack = tree(qwen=ABSENT)
    stack["gateway"]["version"] = "1.20.0"
    assert backends(stack)


def test_the_outputs_have_no_pool_and_no_picker():
    output = outputs.of_stack(plan(tree(qwen=ABSENT)), None)["services"]["qwen"]
    assert output["awaited"] == ["replicas", "workload"]
    assert (output["primary"]["pool"], output["primary"]["endpointPickerHost"]) == (None, None)
    assert output["primary"]["serviceHost"] == "qwen.models.svc.cluster.local:8000"


def test_pods_are_the_same_with_a_picker_and_without():
    """A service that moves to a Service or back restarts none of its pods."""
    pods = [
        find(rendered(tree(qwen=picker)), "Deployment", "qwen-decode")
        for picker in ({}, ABSENT, {"endpointPicker": {"enabled": True}})
    ]
    assert pods[0] == pods[1] == pods[2]


def test_a_header_that_pickers_read_may_be_set_if_there_is_none():
    header = "x-gateway-inference-objective"
    assert rendered(tree(qwen=ABSENT | {"route": {"setHeaders": {header: "batch"}}}))
