"""Requests to services without endpoint picker, and the way from a Service to a pool and back while they are served."""

from pathlib import Path

import pytest

from tests.support.cluster.server import read
from tests.support.stacks import GATEWAY, shipped
from tests.support.traffic.data_path import data_path
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "service"
KEYS = ("embeddings", "qwen")
PICKERS = ("embeddings-epp", "embeddings-canary-epp", "qwen-epp")
ROUTES = {f"routing-{key}-route" for key in KEYS}
ASKED = "x-went-into-resp-headers"
"""Header that a picker adds to the answers to its requests."""
PARTS = "serviceaccounts,roles,rolebindings,configmaps,services,deployments,inferencepools,destinationrules"


def stack(*, picked):
    """Return the shipped stack, whose services have pickers or none."""
    tree = shipped(Path("examples/service.yaml")) | {"namespace": NAMESPACE, "gateway": GATEWAY, "release": "gie-1.3"}
    tree["defaults"]["endpointPicker"] = {"enabled": picked}
    return tree


@pytest.fixture(scope="module")
def deployed(deploy_for_all, loopback_plane):
    return deploy_for_all(stack(picked=False), loopback_plane)


@pytest.fixture(scope="module")
def path(deployed, tools, tmp_path_factory):
    with data_path(deployed, tools, tmp_path_factory.mktemp("path"), NAMESPACE) as found:
        yield found


def pods(path, variant):
    """Return the names of a variant's pods."""
    return {name for name in path.servers if name.startswith(f"{variant}-decode-")}


def of_pickers(path):
    """Return the objects of pickers and pools in the namespace."""
    objects = {(item["kind"], item["metadata"]["name"]) for item in read(path.plane, PARTS, NAMESPACE)}
    return {(kind, name) for kind, name in objects if name.endswith("-epp") or kind == "InferencePool"}


def test_the_route_reaches_every_ready_pod_of_the_service(deployed, path):
    assert of_pickers(path) == set()
    everybody = pods(path, "embeddings") | pods(path, "embeddings-canary")
    assert len(everybody) == 3
    assert set(path.served("embeddings", 200)) == everybody
    assert set(path.served("qwen", 10)) == pods(path, "qwen")
    (gone, *_) = sorted(pods(path, "embeddings"))
    path.tell(gone, ready=False)
    eventually(lambda: set(path.served("embeddings", 100)) == everybody - {gone})
    path.tell(gone, ready=True)
    assert {service["primary"]["pool"] for service in deployed.outputs()["services"].values()} == {None}
    deployed.assert_unchanged()


def test_a_service_that_selects_other_pods_serves_nobody(path):
    label = {"op": "replace", "path": "/spec/selector/inference-stacks.io~1service", "value": "other"}
    with path.altered("service", "qwen", label):
        assert path.ask("qwen").status == 503
    assert path.ask("qwen").status == 200


def test_a_route_moves_to_a_picker_that_is_ready_and_back_before_it_goes(deployed, path):
    deployed.write(stack(picked=True))
    moved = deployed.operate()
    assert moved.that("update") >= ROUTES
    assert not moved.that("delete")
    made = {f"{name}-{part}" for name in PICKERS for part in ("pool", "deployment")}
    assert made <= moved.that("create")
    for key in KEYS:
        moved.assert_order({name for name in made if name.startswith(key)}, {f"routing-{key}-route"})
    path.start_pickers(*PICKERS)
    assert all(path.ask(key).headers[ASKED] == "true" for key in KEYS)
    deployed.write(stack(picked=False))
    back = deployed.operate()
    assert made <= back.that("delete")
    back.assert_order(ROUTES, made)
    path.stop_pickers(*PICKERS)
    assert of_pickers(path) == set()
    assert ASKED not in path.ask("qwen").headers
    assert set(path.served("embeddings", 200)) == pods(path, "embeddings") | pods(path, "embeddings-canary")
    deployed.assert_in_step()
