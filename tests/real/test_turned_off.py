"""Turning a feature off takes away its own objects, and nothing of anybody else's that is called alike.

The rows are those of OtterScale's operator (5.5), which deletes whatever has the name that it would have given; those
about scraping are in test_monitoring too, several pickers in test_picker_rollout, the canary in test_canary.
"""

import pytest

from tests.support.cluster.deployments import model, provide, weights
from tests.support.cluster.plane import serve_googles_kinds
from tests.support.cluster.theirs import Theirs
from tests.support.stacks import GATEWAY, tree

pytestmark = pytest.mark.real

READER = {f"qwen-decode-{part}" for part in ("service-account", "role", "role-binding")}
SCRAPER = {f"bert-epp-metrics-reader{part}" for part in ("", "-token", "-role", "-binding")}
PICKER = ("service-account", "role", "role-binding", "config", "service", "pool", "deployment", "monitor")
SCALING = {"type": "hpa", "minReplicas": 2, "maxReplicas": 3, "metrics": [{"type": "cpu", "targetPercent": 80}]}
INTERCEPTOR = {"interceptor": {"mode": "label", "namespace": "metering"}}


def stack(namespace, gateway=GATEWAY, more=None, **services):
    """Return a scraped stack in a namespace that exists."""
    whole = tree(**services) | {"namespace": namespace, "gateway": gateway} | (more or {})
    whole["observability"] = {"metrics": {"type": "prometheus-operator"}}
    return {key: value for key, value in whole.items() if value is not None}


@pytest.fixture
def beside_theirs(deploy):
    """Deploy a stack beside objects of somebody else's."""
    made = []

    def new(stack):
        deployed = deploy(stack)
        made.append(Theirs(deployed, stack, f"{stack['namespace']}-theirs"))
        deployed.up()
        made[-1].look()
        return deployed, made[-1]

    yield new
    for theirs in made:
        theirs.deployed.discard()
        theirs.remove()


def turned(deployed, theirs, stack):
    """Deploy, assert that nobody else's objects changed, and return what was done."""
    deployed.write(stack)
    done = deployed.operate()
    theirs.assert_untouched()
    return done


def test_roles_numbers_budgets_and_weights_take_away_what_is_their_own(beside_theirs, plane):
    """See otterscale 5.5, N6."""
    name = "off-serving"
    provide(plane, name)
    both = {"model": model(1), "rollout": {"type": "Recreate"}}
    stored = {**both, "storage": {"type": "dedicated", "storageClassName": name}}
    full = {"autoscaling": SCALING, "prefill": {"replicas": 2}}
    deployed, theirs = beside_theirs(stack(name, qwen={**stored, **full}))
    claim_and_fill = weights(deployed.names())
    fixed = {"replicas": 2, "prefill": {"replicas": 2}, "disruptionBudget": {"enabled": False}}
    smaller = turned(deployed, theirs, stack(name, qwen={**stored, **fixed}))
    assert smaller.done == {
        "qwen-decode": "update",
        **dict.fromkeys(("qwen-decode-autoscaler", "qwen-decode-budget", "qwen-prefill-budget"), "delete"),
    }
    assert deployed.get("deployment", "qwen-decode", name)["spec"]["replicas"] == 2
    alone = turned(deployed, theirs, stack(name, qwen={**both, "disruptionBudget": {"enabled": False}}))
    changed = ("qwen-decode", "qwen-decode-monitor", "qwen-epp-config", "qwen-epp-deployment")
    gone = {*READER, "qwen-prefill", "qwen-prefill-monitor", *claim_and_fill}
    assert alone.done == {**dict.fromkeys(changed, "update"), **dict.fromkeys(gone, "delete")}
    alone.assert_order({"qwen-decode"}, {*READER, *claim_and_fill})


def test_another_gateways_policies_go_with_it(beside_theirs, plane):
    """See otterscale 5.5, N6."""
    serve_googles_kinds(plane)
    name = "off-google"
    google = {**GATEWAY, "provider": "gke"}
    deployed, theirs = beside_theirs(stack(name, google, {}, qwen={}))
    policies = {"qwen-epp-health-check-policy", "qwen-epp-backend-policy"}
    done = turned(deployed, theirs, stack(name, GATEWAY, {}, qwen={})).done
    # Engines keep idle connections as long as their gateway does.
    beside = {"qwen-epp-destination-rule": "create", "qwen-decode": "update"}
    assert done == {**dict.fromkeys(policies, "delete"), **beside}
    done = turned(deployed, theirs, stack(name, google, {}, qwen={})).done
    beside = {"qwen-epp-destination-rule": "delete", "qwen-decode": "update"}
    assert done == {**dict.fromkeys(policies, "create"), **beside}
    deployed.assert_in_step()


def test_gateway_route_transport_interceptor_and_service_take_away_what_is_their_own(beside_theirs):
    """See otterscale 5.5, N6."""
    name = "off-routing"
    both = {"bert": {}, "qwen": {}}
    plain = {"tls": {"type": "none"}, "metricsAuth": True}
    deployed, theirs = beside_theirs(stack(name, GATEWAY, INTERCEPTOR, **both))
    # How pickers are asked: the gateway in plain text, the scraper without a token.
    asked = {"bert": {"endpointPicker": {"metricsAuth": False}}, "qwen": {"endpointPicker": plain}}
    done = turned(deployed, theirs, stack(name, GATEWAY, INTERCEPTOR, **asked)).done
    gone = {"qwen-epp-destination-rule", "bert-epp-metrics-auth", *SCRAPER}
    changed = {"qwen-epp-deployment", "bert-epp-deployment", "bert-epp-monitor"}
    assert done == {**dict.fromkeys(changed, "update"), **dict.fromkeys(gone, "delete")}
    # Another gateway than Istio's, and a service without a route.
    none = {**GATEWAY, "provider": "none"}
    unrouted = {"bert": {**asked["bert"], "route": {"enabled": False}}, "qwen": asked["qwen"]}
    done = turned(deployed, theirs, stack(name, none, INTERCEPTOR, **unrouted)).done
    assert done == dict.fromkeys(("bert-epp-destination-rule", "routing-bert-route"), "delete")
    # A service: no request is sent to pods that go.
    alone = stack(name, none, INTERCEPTOR, bert=asked["bert"]) | {"allow": ["removal"]}
    removed = turned(deployed, theirs, alone)
    pods = {"qwen-decode", *(f"qwen-epp-{part}" for part in PICKER)}
    rest = {"qwen-service", "qwen-decode-monitor", "qwen-epp-metrics-auth"}
    rest |= {part.replace("bert", "qwen") for part in SCRAPER}
    gone = {"routing-qwen-route", *pods, *rest}
    assert removed.done == {"routing-bert-route": "create", **dict.fromkeys(gone, "delete")}
    removed.assert_order(
        {"routing-qwen-route"}, {"qwen-decode", "qwen-epp-deployment", "qwen-epp-pool", "qwen-service"}
    )
    # No gateway, and no metering: neither the label nor the engine's flag that reports usage.
    done = turned(deployed, theirs, stack(name, None, {}, bert=asked["bert"])).done
    gone = {"routing-bert-route", *(f"routing-{name}-interceptor-{part}" for part in ("role", "binding"))}
    assert done == {**dict.fromkeys(("bert-service", "bert-decode"), "update"), **dict.fromkeys(gone, "delete")}
    deployed.assert_in_step()
    # The negative control: a touch of what is not ours shows.
    deployed.plane.kubectl("label", "configmap", "qwen-epp", "-n", f"{name}-theirs", "touched=yes")
    with pytest.raises(AssertionError):
        theirs.assert_untouched()
