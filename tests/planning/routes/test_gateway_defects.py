"""Known defects of gateways: each row of the table beside a stack that meets it, and stacks that do not."""

import pytest

from models.routing import Gateway
from planning.ground import gateways
from tests.support.stacks import lines, plan, tree
from tests.support.stacks.routed import told as refused

OPEN = {"endpointPicker": {"failureMode": "FailOpen", "failOpenReason": "any pod will do"}}
PLUGINS = [{"type": "random-picker"}, {"type": "vllmgrpc-parser"}]
GRPC = {
    "engine": {"type": "custom", "image": "registry.example/engine:v1"},
    "endpointPicker": {
        "preset": "custom",
        "config": {
            "plugins": PLUGINS,
            "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "random-picker"}]}],
            "requestHandler": {"parsers": [{"pluginRef": "vllmgrpc-parser"}]},
        },
    },
}
SEVERAL = "asks no picker for the other routes of a host than the first one created"
REMEDY = "upgrade Istio to 1.28.5, 1.29.0 or newer, or give each of these services a hostname of its own"


def gateway(provider, version=None, **fields):
    written = {"name": "gateway", "namespace": "gateways", "provider": provider} | fields
    return written | ({} if version is None else {"version": version})


def on(at, **services):
    return tree(**services) | {"gateway": at}


def warned(stack):
    return [line for line in lines(plan(stack).warnings, "warning") if "known defect" in line]


@pytest.mark.parametrize(
    ("version", "is_told"),
    [("1.0.1", False), ("1.1.0", True), ("1.4.1", True), ("v1.5.0", True), ("1.5.1", False), (None, False)],
)
def test_agentgateway_that_does_not_fail_open(version, is_told):
    at = gateway("agentgateway", version)
    what = (
        f"gateway.version: has a known defect: agentgateway {version} answers 500 to requests with a body while no "
        "picker answers, despite failureMode FailOpen (qwen); run pickers that are all active "
        "(endpointPicker.replicas and replication)"
    )
    assert warned(on(at, qwen=OPEN, bert={})) == [what for _ in [what] if is_told]
    assert warned(on(at, qwen={}, bert={})) == []
    assert warned(on(gateway("istio", "1.31.2"), qwen=OPEN)) == []


def test_a_canary_that_fails_open_counts_and_a_service_without_a_route_does_not():
    at = gateway("agentgateway", "1.4.1")
    (line,) = warned(on(at, qwen={"canary": {"weight": 10, **OPEN}}, bert={**OPEN, "route": {"enabled": False}}))
    assert "(qwen)" in line


@pytest.mark.parametrize(
    ("version", "is_told"),
    [("1.28.1", True), ("1.28.4", True), ("1.28.5", False), ("1.29.0", False), ("1.31.2", False), (None, False)],
)
def test_istio_that_keeps_the_picker_of_one_route(version, is_told):
    what = f"gateway.version: has a known defect: Istio {version} {SEVERAL} (bert, qwen); {REMEDY}"
    found = warned(on(gateway("istio", version), qwen={}, bert={}))
    assert found == [what for _ in [what] if is_told]


@pytest.mark.parametrize(
    ("bert", "is_told"),
    [
        ({}, True),
        ({"route": {"hostnames": ["bert.example.com"]}}, False),
        ({"route": {"enabled": False}}, False),
        ({"endpointPicker": {"enabled": False}}, False),
        ({"route": {"gateway": gateway("istio", "1.28.1", name="other")}}, False),
        ({"route": {"gateway": gateway("istio", "1.28.1", sectionName="https")}}, True),
    ],
)
def test_only_routes_to_pools_on_one_listener_and_host_lose_a_picker(bert, is_told):
    found = warned(on(gateway("istio", "1.28.1"), qwen={}, bert=bert))
    assert bool(found) is is_told


def test_sections_and_hosts_tell_routes_apart():
    services = {
        name: {"route": {"gateway": gateway("istio", "1.28.1", sectionName=name)}} for name in ("http", "https")
    }
    assert warned(on(gateway("istio", "1.28.1"), **services)) == []
    hosts = {"route": {"hostnames": ["one.example.com", "two.example.com"]}}
    other = {"route": {"hostnames": ["two.example.com"]}}
    (line,) = warned(on(gateway("istio", "1.28.1"), qwen=hosts, bert=other))
    assert "(bert, qwen)" in line


def test_a_message_names_three_services():
    services = {name: {} for name in ("a", "b", "c", "d", "e")}
    (line,) = warned(on(gateway("istio", "1.28.1"), **services))
    assert "(a, b, c and 2 more)" in line


@pytest.mark.parametrize("version", ["1.28.5", "1.29.6", "1.30.0"])
def test_istio_that_speaks_the_wrong_protocol_is_refused(version):
    (line,) = refused(on(gateway("istio", version), qwen=GRPC))
    what = "sends HTTP/1.1 to pods that serve gRPC alone, because it ignores the appProtocol of a pool (qwen)"
    assert line == (
        f"gateway.version: has a known defect: Istio {version} {what}; upgrade Istio to 1.30.1, 1.31.0 or newer"
    )


@pytest.mark.parametrize("version", ["1.30.1", "1.31.0", None])
def test_istio_that_speaks_the_protocol_of_a_pool_is_taken(version):
    assert warned(on(gateway("istio", version), qwen=GRPC)) == []
    assert warned(on(gateway("istio", "1.30.0"), qwen={})) == []


def test_each_row_of_the_table_has_a_test_here():
    tested = {("istio", "severalRoutes"), ("istio", "poolProtocol"), ("agentgateway", "failOpen")}
    rows = set()
    for provider in ("istio", "gke", "agentgateway"):
        facts = gateways.facts(Gateway.model_validate(gateway(provider)))
        rows |= {(provider, defect.when) for defect in facts.defects}
    assert rows == tested
