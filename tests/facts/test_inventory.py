"""The inventory of a cluster is what its API server tells, and each read fails alone."""

import queue
import threading
import time
from dataclasses import replace
from urllib.parse import urlencode

import pytest
import yaml

from facts import cluster, facts_file, inventory, reading
from facts.cluster import KubeAccess
from judging.preflight import unread_facts
from models.paths import Path as ConfigPath
from models.stack import Cluster
from planning.ground.bundles import versioned_definitions
from planning.ground.cluster_facts import PARTS, GatewayRef, Gateways, LiveGateway, Unknown
from planning.ground.inventory import (
    Listener,
    LiveNamespace,
    LiveNode,
    LivePool,
    LivePools,
    Metered,
    MeteredService,
    Namespaces,
    Nodes,
    PriorityClasses,
    Quota,
    Quotas,
    Requested,
    Requirement,
    Secrets,
    Slice,
    Slices,
    StorageClasses,
    Taint,
)
from planning.ground.needs import NameReference, Needs
from tests.support.cluster import loopback
from tests.support.cluster.loopback import discovery
from tests.support.stacks import lines

GATEWAY_API = "gateway.networking.k8s.io"
PUBLIC = GatewayRef(GATEWAY_API, "Gateway", "gateways", "public")
REFUSED, ACCEPTED = (
    {"parents": [{"conditions": [{"type": "Accepted", "status": status, "reason": "R", "message": "m"}]}]}
    for status in ("False", "True")
)


def items(*found):
    return {"items": list(found)}


def metadata(name, namespace=None, **more):
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {}), **more}}


def using(name, node, **more):
    """Return a pod that requests devices."""
    containers = [{"resources": {"limits": {"nvidia.com/gpu": "2", "memory": "1Gi"}}}, {}]
    return {**metadata(name, "models"), "spec": {"nodeName": node, "containers": containers, **more}}


LISTENER = {
    "name": "https",
    "port": 443,
    "protocol": "HTTPS",
    "hostname": "*.example.com",
    "allowedRoutes": {
        "namespaces": {
            "from": "Selector",
            "selector": {
                "matchLabels": {"team": "search"},
                "matchExpressions": [{"key": "stage", "operator": "Exists"}],
            },
        },
        "kinds": [{"kind": "HTTPRoute"}, {"group": "other", "kind": "OtherRoute"}],
    },
}
NODE = {
    **metadata("gpu-0", labels={"zone": "a"}),
    "spec": {"unschedulable": True, "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {"cpu": "8", "nvidia.com/gpu": "8"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
GPU_0 = LiveNode(
    "gpu-0",
    {"zone": "a"},
    ready=True,
    cordoned=True,
    taints=(Taint("nvidia.com/gpu", "", "NoSchedule"),),
    devices={"nvidia.com/gpu": 8},
)
MODELS = metadata("models", labels={"team": "search"}, annotations={"inference-stacks.io/stack": "a/b/c", "other": "x"})
GONE = metadata("gone", deletionTimestamp="today")
LISTS = {
    "/api/v1/namespaces": items(MODELS, GONE),
    "/api/v1/nodes": items(NODE),
    "/api/v1/resourcequotas": items(
        {**metadata("devices", "models"), "status": {"hard": {"pods": "9"}, "used": {"pods": "1"}}}
    ),
    "/apis/storage.k8s.io/v1/storageclasses": items(
        metadata("fast", annotations={"storageclass.kubernetes.io/is-default-class": "true"}), metadata("slow")
    ),
    "/apis/scheduling.k8s.io/v1/priorityclasses": items(metadata("high"), {**metadata("low"), "globalDefault": True}),
    "/apis/resource.k8s.io/v1/resourceslices": items(
        {"spec": {"driver": "gpu", "pool": {"name": "gpu-0"}, "nodeName": "gpu-0", "devices": [{}, {}]}}
    ),
    "/apis/inference.networking.k8s.io/v1/inferencepools": items(
        {**metadata("qwen", "models"), "spec": {"selector": {"matchLabels": {"a": "b"}}}, "status": REFUSED},
        {**metadata("bert", "models"), "spec": {}, "status": ACCEPTED},
        {**metadata("new", "models"), "spec": {}},
    ),
    f"/apis/{GATEWAY_API}/v1/gateways": items(),
    f"/apis/{GATEWAY_API}/v1/httproutes": items(),
    "/api/v1/secrets": items(metadata("registry", "models")),
}
PODS = "/api/v1/pods?" + urlencode({"limit": "500", "fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"})
SERVICES = "/api/v1/services?" + urlencode({"limit": "500", "labelSelector": "saturncloud.io/resource-id"})
GATEWAY = f"/apis/{GATEWAY_API}/v1/namespaces/gateways/gateways/public"
ANSWERS = {
    "/api": discovery(("", "v1", "Service")),
    "/apis": discovery(("apps", "v1", "Deployment")),
    "/version": {"gitVersion": "v1.36.0"},
    **{f"{path}?limit=500": answer for path, answer in LISTS.items()},
    PODS: items(
        using("a", "gpu-0", initContainers=[{"resources": {"limits": {"nvidia.com/gpu": "3"}}}]),
        using("b", "gpu-0"),
        using("waiting", None),
    ),
    SERVICES: items(metadata("qwen", "models", labels={"saturncloud.io/resource-id": "chat"})),
    GATEWAY: {**metadata("public", "gateways"), "spec": {"listeners": [LISTENER]}},
    "/api/v1/namespaces/models": MODELS,
    "/api/v1/namespaces/models/secrets/registry": metadata("registry", "models"),
    "/api/v1/namespaces/models/resourcequotas?limit=500": LISTS["/api/v1/resourcequotas"],
}
USED = Needs(
    gateways=frozenset({PUBLIC}),
    namespaces=frozenset({"models", "absent"}),
    secrets=tuple(NameReference(name, "models", ConfigPath("services", "qwen")) for name in ("registry", "lost")),
    storage_classes=(NameReference("fast", "models", ConfigPath("services", "qwen")),),
    priority_classes=(NameReference("high", "models", ConfigPath("services", "qwen")),),
    nodes=True,
    quotas=frozenset({"models"}),
    slices=True,
)
READS = {
    "namespaces": "/api/v1/namespaces/models",
    "gateways": GATEWAY,
    "secrets": "/api/v1/namespaces/models/secrets/registry",
    "storage_classes": "/apis/storage.k8s.io/v1/storageclasses?limit=500",
    "priority_classes": "/apis/scheduling.k8s.io/v1/priorityclasses?limit=500",
    "quotas": "/api/v1/namespaces/models/resourcequotas?limit=500",
    "slices": "/apis/resource.k8s.io/v1/resourceslices?limit=500",
    "nodes": "/api/v1/nodes?limit=500",
}
"""A path of each part that a stack may need."""
SUBJECTS = {
    "namespaces": "namespaces (absent, models)",
    "gateways": "listeners of gateways/public",
    "secrets": "Secrets of pods (2 in models)",
    "storage_classes": "StorageClasses (fast)",
    "priority_classes": "PriorityClasses (high)",
    "quotas": "quotas of models",
    "slices": "devices of nodes (ResourceSlices)",
    "nodes": "nodes",
}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(reading, "_PAUSE_SECONDS", 0)
    with loopback.serve(ANSWERS, authorization=None) as server:
        yield server


def access(server):
    return KubeAccess(
        yaml.safe_dump(
            {
                "current-context": "here",
                "contexts": [{"name": "here", "context": {"cluster": "one"}}],
                "clusters": [{"name": "one", "cluster": {"server": server.url}}],
            }
        ),
        None,
    )


def read(server, needs=USED):
    return cluster.read(Cluster(), access(server), None, needs)


def test_everything_is_read_for_a_file_and_survives_it(server, tmp_path):
    facts = cluster.read_all(access(server), secrets=True)
    assert {name for name in PARTS if isinstance(getattr(facts, name), Unknown)} == set()
    assert (facts.origin.cluster, facts.origin.version) == ("one", "v1.36.0")
    assert facts.nodes == Nodes((GPU_0,))
    assert facts.requested == Requested({"gpu-0": {"nvidia.com/gpu": 5}})
    assert facts.quotas == Quotas((Quota("models", "devices", {"pods": "9"}, {"pods": "1"}),))
    assert facts.slices == Slices((Slice("gpu", "gpu-0", "gpu-0", 2),))
    assert facts.metered == Metered((MeteredService("models", "qwen", "chat"),))
    assert facts.secrets == Secrets((("models", "registry"),))
    assert facts.live_pools == LivePools(
        (
            LivePool("models", "qwen", {"a": "b"}, accepted=False, reason="R: m"),
            LivePool("models", "bert", {}, accepted=True),
            LivePool("models", "new", {}, accepted=None),
        )
    )
    (tmp_path / "facts.json").write_text(facts_file.text(facts))
    assert facts_file.read(tmp_path / "facts.json") == facts


def test_the_version_is_read_for_pods_that_mount_images_alone(server):
    image = NameReference("registry.example/m:v1", "models", ConfigPath("services", "qwen"))
    facts = read(server, Needs(image_volumes=(image,)))
    assert (facts.version, facts.origin) == ("v1.36.0", None)
    assert read(server, Needs()).version is None


def test_what_a_stack_needs_is_read_and_nothing_else(server):
    found = read(server)
    assert found.namespaces == Namespaces(
        {"models": LiveNamespace({"team": "search"}, {"inference-stacks.io/stack": "a/b/c"})}
    )
    assert found.secrets == Secrets((("models", "registry"),))
    assert found.storage_classes == StorageClasses({"fast": True, "slow": False})
    assert found.priority_classes == PriorityClasses({"high": False, "low": True})
    selector = (Requirement("team", "In", ("search",)), Requirement("stage", "Exists"))
    listener = Listener("https", 443, "HTTPS", "*.example.com", "Selector", selector, ("HTTPRoute",))
    assert found.gateways == Gateways((LiveGateway(PUBLIC, False, False, listeners=(listener,)),))
    assert found.nodes == Nodes((GPU_0,))
    assert found.quotas == Quotas((Quota("models", "devices", {"pods": "9"}, {"pods": "1"}),))
    assert found.slices == Slices((Slice("gpu", "gpu-0", "gpu-0", 2),))
    assert isinstance(found.requested, Unknown)
    kinds, gateway, routes, named, classes, nodes, quotas = 2, 1, 1, 2 + 2, 2, 2, 1
    requests = kinds + gateway + routes + len(versioned_definitions()) + named + classes + nodes + quotas
    assert len(server.seen) == requests
    assert read(server, Needs()).namespaces == read(server, Needs()).nodes == found.requested


def test_a_run_reads_some_pages_of_nodes_and_a_file_all(server, monkeypatch):
    monkeypatch.setattr(inventory, "_MOST_NODES", 2)
    path, names = READS["nodes"], ("b", "c", "d", "e")
    pages = zip([path, *(f"{path}&continue={name}" for name in names)], ["a", *names], [*names, ""], strict=True)
    server.answers = ANSWERS | {
        at: items(metadata(name)) | {"metadata": {"continue": more}} for at, name, more in pages
    }
    assert read(server, Needs(nodes=True)).nodes == Unknown(
        "a run reads at most 2 nodes; use a facts file with all nodes"
    )
    kinds, nodes = 2, 3
    assert len(server.seen) == kinds + nodes
    assert len(cluster.read_all(access(server)).nodes.nodes) == 1 + len(names)


def test_an_empty_list_of_metadata_is_null(server):
    server.answers = {**ANSWERS, READS["storage_classes"]: {"items": None}}
    assert read(server).storage_classes == StorageClasses({})


def test_a_namespace_that_is_being_deleted_is_told(server):
    facts = cluster.read_all(access(server))
    assert facts.namespaces.namespaces["gone"] == LiveNamespace({}, {}, terminating=True)


def refuse(server, path):
    server.refused = {path}


def fail(server, path):
    server.statuses = {path: 503}


def cut(server, path):
    server.cut = {path}


def confuse(server, path):
    server.answers = {**server.answers, path: {"kind": "Status"}}


FAILURES = {
    refuse: "it answered 403",
    fail: "it answered 503",
    cut: "IncompleteRead",
    confuse: "KeyError",
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("part", READS)
def test_a_failed_read_is_unknown_alone_and_is_named(server, part, failure):
    failure(server, READS[part])
    found = read(server)
    reason = f"the cluster could not be read ({FAILURES[failure]})"
    assert getattr(found, part) == Unknown(reason)
    assert [name for name in READS if isinstance(getattr(found, name), Unknown)] == [part]
    assert lines(unread_facts.judge(USED, found, "strict"), "warning") == [f"{SUBJECTS[part]} went unchecked: {reason}"]


IN_A_FILE = {
    **{
        part: f"{path}?limit=500"
        for part, path in {
            "namespaces": "/api/v1/namespaces",
            "nodes": "/api/v1/nodes",
            "quotas": "/api/v1/resourcequotas",
            "storage_classes": "/apis/storage.k8s.io/v1/storageclasses",
            "priority_classes": "/apis/scheduling.k8s.io/v1/priorityclasses",
            "slices": "/apis/resource.k8s.io/v1/resourceslices",
            "live_pools": "/apis/inference.networking.k8s.io/v1/inferencepools",
            "gateways": f"/apis/{GATEWAY_API}/v1/gateways",
            "routes": f"/apis/{GATEWAY_API}/v1/httproutes",
            "secrets": "/api/v1/secrets",
        }.items()
    },
    "requested": PODS,
    "metered": SERVICES,
    "bundles": f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{min(versioned_definitions())}",
}
"""A path of each part that a facts file may have."""


def test_every_part_of_a_file_has_a_read_that_may_fail():
    assert IN_A_FILE.keys() == PARTS.keys() - {"metrics"}, "metrics are read with the kinds"


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("part", IN_A_FILE)
def test_a_failed_read_for_a_file_is_unknown_alone(server, part, failure):
    failure(server, IN_A_FILE[part])
    found = cluster.read_all(access(server), secrets=True)
    assert getattr(found, part) == Unknown(f"the cluster could not be read ({FAILURES[failure]})")
    assert [name for name in PARTS if isinstance(getattr(found, name), Unknown)] == [part]


@pytest.mark.parametrize("failure", FAILURES)
def test_without_the_kinds_everything_is_unknown_for_the_same_reason(server, failure):
    failure(server, "/apis")
    found = cluster.read_all(access(server), secrets=True)
    reason = Unknown(f"the cluster could not be read ({FAILURES[failure]})")
    assert {getattr(found, name) for name in ("apis", *PARTS)} == {reason}


def test_a_definition_of_another_name_is_no_definition(server):
    path = IN_A_FILE["bundles"]
    server.answers = {**ANSWERS, path: metadata("another")}
    assert cluster.read_all(access(server)).bundles == Unknown("the cluster could not be read (ValueError)")
    server.answers = {**ANSWERS, path: metadata(path.rpartition("/")[2], annotations=["no", "mapping/bundle-version"])}
    assert cluster.read_all(access(server)).bundles == Unknown("the cluster could not be read (TypeError)")


@pytest.fixture
def expired(server, monkeypatch):
    """End the time for reading as soon as the server is silent."""

    class Queue(queue.SimpleQueue):
        def get(self, timeout):
            until = time.monotonic() + timeout
            while self.empty():
                if server.reached.wait(0.001) or time.monotonic() > until:
                    return super().get(block=False)
            return super().get()

    monkeypatch.setattr(reading.queue, "SimpleQueue", Queue)


@pytest.mark.usefixtures("expired")
@pytest.mark.parametrize("part", ["apis", *IN_A_FILE])
def test_a_silent_read_for_a_file_leaves_what_was_read_before_known(server, part):
    server.hang, server.silent = threading.Event(), {IN_A_FILE.get(part, "/apis")}
    found = cluster.read_all(access(server), secrets=True)
    late = Unknown("the cluster did not answer within 15 seconds")
    unknown = {name for name in ("apis", *PARTS) if isinstance(getattr(found, name), Unknown)}
    assert part in unknown
    assert {getattr(found, name) for name in unknown} == {late}
    # Routes are read before most parts, and Secrets last.
    assert part in {"apis", "gateways", "routes"} or "routes" not in unknown
    assert part == "secrets" or "secrets" in unknown


@pytest.mark.parametrize("part", READS)
def test_a_silent_read_leaves_what_was_read_before_known(server, part, monkeypatch):
    server.hang, server.silent = threading.Event(), {READS[part]}
    # A busy machine may need longer than the shortest deadline for what is read before.
    for seconds in (0.2, 1, 5):
        monkeypatch.setattr(cluster, "_DEADLINE_SECONDS", seconds)
        found = read(server)
        if not isinstance(found.apis, Unknown):
            break
    assert not isinstance(found.apis, Unknown)
    assert getattr(found, part) == Unknown(f"the cluster did not answer within {seconds} seconds")
    (line,) = lines(unread_facts.judge(USED, found, "strict"), "warning")
    assert SUBJECTS[part] in line


def test_a_read_that_breaks_once_is_repeated_on_another_connection(server):
    server.cut = {READS["secrets"]}
    server.mended = True
    assert read(server).secrets == Secrets((("models", "registry"),))
    assert server.connections == 2


def test_nothing_is_unchecked_where_nothing_is_asked_or_needed(server):
    found = read(server)
    assert list(unread_facts.judge(USED, found, "strict")) == []
    broken = replace(found, secrets=Unknown("no"))
    assert list(unread_facts.judge(USED, broken, "skip")) == list(unread_facts.judge(Needs(), broken, "strict")) == []
