"""The shipped profiles on the nodes of the local cluster: the real scheduler places what selection finds fit, alone."""

import copy
import json
import time
from pathlib import Path

import pytest

from composition import Live, compose
from models.stack import Cluster
from planning.ground.needs import Needs
from planning.selection.records import Reason
from tests.support import catalogue, selected
from tests.support.cluster.server import read
from tests.support.scheduling import settled
from tests.support.stacks import NAME, exactly, lines, rendered, tree

pytestmark = pytest.mark.real

NAMESPACE = "profiles"
LONGEST = 120
KINDS = {"gpu-h100": "nvidia-h100-80gb", "gpu-l40s": "nvidia-l40s", "gpu-mi300x": "amd-mi300x", "cpu": "cpu"}
"""Accelerator class of each kind of node. The name of a node is that of its kind, and a number."""
ANY_TYPE = {"minimumType": "unoptimized"}
UNFIT = {Reason.ABSENT, Reason.NODES}
H100 = "nvidia-h100-80gb"
MI300X = "amd-mi300x"
SERVICES = {
    "only-h100": ("gpu-h100", "Qwen/Qwen3-235B-A22B-Instruct-2507", {}),
    "only-mi300x": ("gpu-mi300x", "Qwen/Qwen3-235B-A22B", {}),
    "rather-h100": ("gpu-h100", "Qwen/Qwen3-VL-235B-A22B-Instruct", {"accelerators": [H100, MI300X]}),
    "rather-mi300x": ("gpu-mi300x", "Qwen/Qwen3-VL-235B-A22B-Instruct", {"accelerators": [MI300X, H100]}),
}
"""Services that name a model, with the kind of node on which they run: its profiles are for one kind, or for both."""
STACK = {
    "namespace": NAMESPACE,
    "services": {
        key: {"model": {"name": model}, "selection": selection} for key, (_, model, selection) in SERVICES.items()
    },
}
ABSENT = "nvidia-b200"
"""A class that no node has."""


def kind(node):
    return node.rpartition("-")[0]


def target(plane):
    return Live(plane.kubeconfig.read_text(), Path())


@pytest.fixture(scope="module")
def plane(new_plane):
    """Return a control plane whose nodes nobody else uses: pods of other tests would hold devices."""
    found = new_plane()
    yield found
    found.remove()


@pytest.fixture(scope="module")
def nodes(plane):
    """Return the nodes as a preview reads them."""
    return target(plane).facts(Cluster(), Needs(nodes=True)).nodes.nodes


@pytest.fixture(scope="module")
def namespace(plane):
    apply(plane, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
    yield plane
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture(scope="module")
def places(nodes, namespace):
    """Return the kind of node of each shipped profile's pod; None if the pod stays pending on empty nodes."""
    fit = {key for key, reason in reasons(selected.of_nodes(nodes)).items() if reason not in UNFIT}
    services = {key: catalogue.service(key) for key in catalogue.profiles()}
    running = placed(namespace, pods(services, "fit", fit))
    return running | looked_at(namespace, pods(services, "unfit", {*services} - fit))


def reasons(fleet):
    """Return the reason of each shipped profile in the table of its model, whatever its type is."""
    tables = [selected.table(model, fleet, **ANY_TYPE) for model in selected.shipped().models]
    return {row.candidate.id: row.reason for table in tables for row in table.rows}


def pods(services, batch, names):
    """Return a pod of some of the services, called as its service."""
    objects = rendered(tree(**{f"p{number}": service for number, service in enumerate(services.values())}))
    return [pod(objects, f"p{number}", key, batch) for number, key in enumerate(services) if key in names]


def pod(objects, service, name, batch):
    spec = copy.deepcopy(exactly(objects, "Deployment", f"{service}-decode")["spec"]["template"]["spec"])
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"batch": batch}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def apply(plane, items):
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    plane.kubectl("apply", "--server-side", "--filename=-", input=document)


def placed(plane, pods):
    """Apply pods of one batch, and return the kind of node of each. Each leaves its node once it has one."""
    apply(plane, pods)
    found = {each["metadata"]["name"]: None for each in pods}
    end = time.monotonic() + LONGEST
    selector = f"batch={pods[0]['metadata']['labels']['batch']}"
    while None in found.values() and time.monotonic() < end:
        bound = {name: node for name, node in nodes_of(read(plane, "pods", NAMESPACE, selector)).items() if node}
        found |= bound
        if bound:
            plane.kubectl("delete", "pod", "-n", NAMESPACE, "--grace-period=0", "--force", *bound)
        time.sleep(0.2)
    return found


def looked_at(plane, pods):
    """Apply pods of one batch, and return the kind of node that the scheduler finds for each; None if it finds none."""
    apply(plane, pods)
    selector = f"batch={pods[0]['metadata']['labels']['batch']}"
    return nodes_of(settled(lambda label: read(plane, "pods", NAMESPACE, label), selector, len(pods)))


def nodes_of(pods):
    found = {each["metadata"]["name"]: each["spec"].get("nodeName") for each in pods}
    return {name: node and kind(node) for name, node in found.items()}


def test_pods_of_profiles_are_scheduled_if_selection_finds_them_fit_and_stay_pending_if_not(places, nodes):
    """The scheduler decides; the table of no profile says otherwise."""
    sizes = {KINDS[kind(node.name)]: max(node.devices.values(), default=0) for node in nodes}
    expected = dict.fromkeys(catalogue.profiles())
    for key, profile in catalogue.profiles().items():
        if profile["deviceCount"] <= sizes.get(profile["service"]["accelerator"], 0):
            (expected[key],) = (name for name, each in KINDS.items() if each == profile["service"]["accelerator"])
    assert places == expected
    assert {*places.values()} == {*KINDS, None} - {"cpu"}


@pytest.mark.parametrize("name", KINDS)
def test_each_model_selects_a_profile_that_runs_on_a_kind_of_node_or_tells_why_none_does(name, nodes, places):
    fleet = selected.of_nodes([node for node in nodes if kind(node.name) == name])
    for model in selected.shipped().models:
        for selection in ({}, ANY_TYPE):
            table = selected.table(model, fleet, **selection)
            if table.chosen is not None:
                assert places[table.chosen.id] == name
                continue
            found = {row.candidate.id: row.reason for row in table.rows}
            assert {*found} == {key for key, each in catalogue.profiles().items() if each["model"] == model}
            assert {*found.values()} <= ({Reason.TYPE, *UNFIT} if selection == {} else UNFIT)
            assert selection == {} or name not in {places[key] for key in found}


@pytest.fixture(scope="module")
def composed(namespace):
    return compose(STACK, target(namespace), NAME)


def test_services_that_name_a_model_run_on_the_nodes_of_the_profile_that_they_get(composed, namespace):
    objects = [each.manifest for each in composed.objects]
    found = placed(namespace, [pod(objects, key, key, "named") for key in SERVICES])
    assert found == {key: place for key, (place, _, _) in SERVICES.items()}


def test_without_its_profile_the_same_pod_stays_pending(composed, namespace):
    """The pods differ in the class alone, which nothing but the profile says."""
    profiles = {service.key: service.primary.profiles["decode"].id for service in composed.plan.services}
    others = {key: catalogue.service(profile) | {"accelerator": ABSENT} for key, profile in profiles.items()}
    found = looked_at(namespace, pods(others, "other", {*others}))
    assert found == dict.fromkeys(SERVICES)


def test_a_cordoned_node_changes_nothing_but_a_warning(composed, namespace):
    namespace.kubectl("cordon", "gpu-mi300x-0")
    try:
        cordoned = compose(STACK, target(namespace), NAME)
    finally:
        namespace.kubectl("uncordon", "gpu-mi300x-0")
    assert cordoned.plan == composed.plan
    assert cordoned.objects == composed.objects
    assert lines(cordoned.preflight, "error") == lines(composed.preflight, "error") == []
    more = {*lines(cordoned.preflight, "warning")} - {*lines(composed.preflight, "warning")}
    assert {line for line in more if "no node of this class takes pods (gpu-mi300x-0: cordoned" not in line} == set()
    assert len(more) == sum(place == "gpu-mi300x" for place, _, _ in SERVICES.values())
