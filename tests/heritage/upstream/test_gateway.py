"""Misuses of what a gateway's provider wants to be told."""

import json

from tests.support.stacks import find, rendered, tree
from tests.support.stacks.misuses import picking
from tests.support.stacks.otterscale import kind, picker
from tests.support.stacks.shapes import flag


def test_istio_is_told_where_a_picker_speaks_tls():
    """See upstream gateway-1."""
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
    """See upstream gateway-2."""
    requested = tree(qwen={"drainTimeout": "10m", "health": {"livenessPath": "/alive"}})
    requested["gateway"]["provider"] = "gke"
    everything = rendered(requested)
    health, backend = find(everything, "HealthCheckPolicy", "qwen"), find(everything, "GCPBackendPolicy", "qwen")
    assert {policy["spec"]["targetRef"]["kind"] for policy in (health, backend)} == {"InferencePool"}
    assert health["spec"]["default"]["config"]["httpHealthCheck"] == {"requestPath": "/alive", "port": 8000}
    assert backend["spec"]["default"]["timeoutSec"] == 600
    (route,) = kind(everything, "HTTPRoute")
    assert "timeouts" not in json.dumps(route)
