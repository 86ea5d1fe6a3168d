"""Readers of a cluster's nodes, namespaces, classes, quotas, Secrets, devices, metered Services and pools."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from facts.connection import Connection
from facts.reading import Reader, item, items
from planning.ground import labels, marks
from planning.ground.api_groups import POOL_GROUP
from planning.ground.cluster_facts import Unknown
from planning.ground.inventory import (
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
    Secrets,
    Slice,
    Slices,
    StorageClasses,
    Taint,
)
from planning.ground.pools import verdict

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
"""Representation of an object without its spec, status and data."""
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Representation of a list without spec, status and data of its objects."""
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_RUNNING = "status.phase!=Succeeded,status.phase!=Failed"
"""Field selector of the pods that have not ended. Other pods use no devices."""
_MOST_NODES = 2000
"""Maximum number of nodes that a run reads: four pages, about ten megabytes."""
_OURS = "inference-stacks.io/"
"""Prefix of annotations. Of a namespace's annotations, only those with this prefix are read."""
_NONE: Mapping[str, Any] = {}


def namespaces(api: Connection, names: Collection[str]) -> Namespaces:
    """Read the namespaces in `names` that exist.

    The namespaces are read one by one. This requires fewer permissions than a list of all namespaces.
    """
    read = ((name, item(api, f"/api/v1/namespaces/{name}", METADATA)) for name in sorted(names))
    return Namespaces({name: _namespace(namespace) for name, namespace in read if namespace is not None})


def secrets(api: Connection, places: Collection[tuple[str, str]]) -> Secrets:
    """Read which of the Secrets in `places` (namespace and name) exist. Their values are not requested.

    The Secrets are read one by one, because the right to list Secrets includes the right to read all values.
    """
    paths = (f"/api/v1/namespaces/{namespace}/secrets/{name}" for namespace, name in sorted(places))
    read = (item(api, path, METADATA) for path in paths)
    return Secrets(tuple(_place(secret) for secret in read if secret is not None))


def all_secrets(api: Connection) -> Secrets:
    """Read namespace and name of all Secrets."""
    return Secrets(tuple(sorted(map(_place, items(api, "/api/v1/secrets", METADATA_LIST)))))


def storage_classes(api: Connection) -> StorageClasses:
    """Read the StorageClasses."""
    classes = items(api, "/apis/storage.k8s.io/v1/storageclasses", METADATA_LIST)
    metadata = [storage_class["metadata"] for storage_class in classes]
    return StorageClasses(
        {entry["name"]: entry.get("annotations", _NONE).get(_DEFAULT_CLASS) == "true" for entry in metadata}
    )


def priority_classes(api: Connection) -> PriorityClasses:
    """Read the PriorityClasses."""
    classes = items(api, "/apis/scheduling.k8s.io/v1/priorityclasses")
    return PriorityClasses({entry["metadata"]["name"]: bool(entry.get("globalDefault")) for entry in classes})


def _all_namespaces(api: Connection) -> Namespaces:
    listed = items(api, "/api/v1/namespaces", METADATA_LIST)
    return Namespaces({_place(namespace)[1]: _namespace(namespace) for namespace in listed})


def some_nodes(api: Connection) -> Nodes | Unknown:
    """Read the nodes of a cluster. The result is `Unknown` if the cluster has more than `_MOST_NODES` nodes."""
    nodes = tuple(map(_node, islice(items(api, "/api/v1/nodes"), _MOST_NODES + 1)))
    if len(nodes) > _MOST_NODES:
        return Unknown(f"a run reads at most {_MOST_NODES} nodes; use a facts file with all nodes")
    return Nodes(nodes)


def _nodes(api: Connection) -> Nodes:
    return Nodes(tuple(map(_node, items(api, "/api/v1/nodes"))))


def _device_requests(api: Connection) -> Requested:
    """Read how many devices the pods of each node have requested. Pods that wait for a node do not count."""
    requests = dict[str, dict[str, int]]()
    for pod in items(api, "/api/v1/pods", options={"fieldSelector": _RUNNING}):
        node = pod["spec"].get("nodeName")
        if not node:
            continue
        for name, number in _pod_devices(pod["spec"]).items():
            devices = requests.setdefault(node, {})
            devices[name] = devices.get(name, 0) + number
    return Requested(requests)


def quotas(api: Connection, namespaces: Collection[str]) -> Quotas:
    """Read the quotas of some namespaces. This requires fewer permissions than a list of all quotas."""
    paths = (f"/api/v1/namespaces/{namespace}/resourcequotas" for namespace in sorted(namespaces))
    return Quotas(tuple(_quota(quota) for path in paths for quota in items(api, path)))


def _all_quotas(api: Connection) -> Quotas:
    return Quotas(tuple(map(_quota, items(api, "/api/v1/resourcequotas"))))


def _quota(manifest: Mapping[str, Any]) -> Quota:
    status = manifest.get("status", _NONE)
    return Quota(*_place(manifest), dict(status.get("hard", _NONE)), dict(status.get("used", _NONE)))


def slices(api: Connection) -> Slices:
    """Read the devices that drivers offer on nodes."""
    specs = (entry["spec"] for entry in items(api, "/apis/resource.k8s.io/v1/resourceslices"))
    return Slices(
        tuple(
            Slice(spec["driver"], spec["pool"]["name"], spec.get("nodeName"), len(spec.get("devices") or ()))
            for spec in specs
        )
    )


def metered_services(api: Connection, namespaces: Collection[str]) -> Metered:
    """Read the Services of some namespaces. Services without a resource id are left out."""
    paths = (f"/api/v1/namespaces/{namespace}/services" for namespace in sorted(namespaces))
    return Metered(tuple(service for path in paths for service in _services_with_ids(api, path)))


def _all_metered_services(api: Connection) -> Metered:
    return Metered(tuple(_services_with_ids(api, "/api/v1/services")))


def _services_with_ids(api: Connection, path: str) -> Iterator[MeteredService]:
    for manifest in items(api, path, METADATA_LIST, {labels.RESOURCE_ID: ""}):
        metadata: Mapping[str, Any] = manifest["metadata"]
        label_values = metadata["labels"]
        key = metadata.get("annotations", _NONE).get(labels.SERVICE_KEY)
        mark = marks.read(metadata)
        yield MeteredService(
            *_place(manifest), label_values[labels.RESOURCE_ID], label_values.get(labels.SERVICE_TYPE), key, mark
        )


def _pools(api: Connection) -> LivePools:
    return LivePools(tuple(map(_pool, items(api, f"/apis/{POOL_GROUP}/v1/inferencepools"))))


READERS: Mapping[str, Reader] = {
    "namespaces": _all_namespaces,
    "storage_classes": storage_classes,
    "priority_classes": priority_classes,
    "nodes": _nodes,
    "requested": _device_requests,
    "quotas": _all_quotas,
    "slices": slices,
    "metered": _all_metered_services,
    "live_pools": _pools,
}
"""Readers that read a whole cluster, by the name that their result has in `cluster_facts.PARTS`."""


def _pool(manifest: Mapping[str, Any]) -> LivePool:
    """Return an InferencePool, and whether the controllers of gateways accept it."""
    selector = manifest["spec"].get("selector", _NONE).get("matchLabels", _NONE)
    return LivePool(*_place(manifest), {str(key): str(value) for key, value in selector.items()}, *verdict(manifest))


def _place(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """Return namespace and name; the namespace of a cluster-scoped object is empty."""
    return manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


def _namespace(manifest: Mapping[str, Any]) -> LiveNamespace:
    metadata = manifest["metadata"]
    annotations = {key: text for key, text in metadata.get("annotations", _NONE).items() if key.startswith(_OURS)}
    return LiveNamespace(dict(metadata.get("labels", _NONE)), annotations, "deletionTimestamp" in metadata)


def _node(manifest: Mapping[str, Any]) -> LiveNode:
    spec = manifest.get("spec", _NONE)
    status = manifest.get("status", _NONE)
    conditions = {entry["type"]: entry["status"] for entry in status.get("conditions", ())}
    return LiveNode(
        manifest["metadata"]["name"],
        dict(manifest["metadata"].get("labels", _NONE)),
        conditions.get("Ready") == "True",
        bool(spec.get("unschedulable")),
        tuple(Taint(taint["key"], taint.get("value", ""), taint["effect"]) for taint in spec.get("taints", ())),
        dict(_devices(status.get("allocatable", _NONE))),
    )


def _pod_devices(pod: Mapping[str, Any]) -> Mapping[str, int]:
    """Return how many devices of each name a pod requests.

    The number is the sum over the containers, or the largest number of an init container if that is larger.
    """
    total = dict[str, int]()
    for container in pod["containers"]:
        for name, number in _devices(container.get("resources", _NONE).get("limits", _NONE)):
            total[name] = total.get(name, 0) + number
    for name, number in _init_devices(pod.get("initContainers", ())):
        total[name] = max(total.get(name, 0), number)
    return total


def _init_devices(containers: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    for container in containers:
        yield from _devices(container.get("resources", _NONE).get("limits", _NONE))


def _devices(resources: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield name and number of each extended resource. The name of an extended resource has a domain."""
    for name, quantity in resources.items():
        if "/" in name and quantity.isdigit():
            yield name, int(quantity)
