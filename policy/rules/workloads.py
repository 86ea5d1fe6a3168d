"""Workloads: objects that make pods, with the highest numbers of their pods and devices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policy.rules import contracts, pods, trees
from policy.rules.pods import TemplateOfPods
from policy.rules.records import DeployedObject, ReadContract, View
from policy.rules.trees import Tree

_REPLICATED = ("Deployment", "LeaderWorkerSet", "ReplicaSet", "ReplicationController", "StatefulSet")
_DEFAULT_OF_KEDA = 100
"""Highest number of replicas of a ScaledObject that states none (keda, apis/keda/v1alpha1/scaledobject_types.go)."""
_BUILT_IN = ("hugepages-", "attachable-volumes-")
"""Begins of resources of Kubernetes itself, which have no domain, as devices have."""


@dataclass(frozen=True, slots=True)
class JudgedWorkload:
    """An object that makes pods, with its autoscaler."""

    item: DeployedObject
    replicas: int
    """Number of its replicas, the highest if it is scaled."""
    autoscaler: str
    """The object that scales it; empty if none does."""
    claims: Mapping[tuple[str, str], int]
    """Devices of each ResourceClaimTemplate, by namespace and name."""
    declared: Mapping[str, int]
    """Highest number of devices by class, as the contract of an inference stack has it; empty without a contract."""

    def key(self, key: str) -> str:
        """Return a key of the workload in the configuration; empty for objects of others."""
        return next((template.key(key) for template in pods.templates(self.item)), "")

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels of the workload and of its pods."""
        merged = dict[str, str]()
        for template in pods.templates(self.item):
            merged |= template.labels
        return merged | self.item.labels

    def devices(self) -> dict[str, int]:
        """Return the highest number of devices by resource, by class of the contract, or by name of the claim."""
        if self.declared:
            return dict(self.declared)
        devices = dict[str, int]()
        for template in pods.templates(self.item):
            count = self.replicas * _pods_of_replica(template)
            for resource, number in self._of_pod(template).items():
                devices[resource] = devices.get(resource, 0) + number * count
        return {resource: number for resource, number in devices.items() if number}

    def _of_pod(self, template: TemplateOfPods) -> dict[str, int]:
        devices = dict(device_limits(template))
        for claim in trees.mappings(template.spec, "resourceClaims"):
            name = trees.text(claim, "resourceClaimTemplateName")
            if name:
                resource = f"claim {name}"
                devices[resource] = devices.get(resource, 0) + self.claims.get((self.item.namespace, name), 1)
        return devices


def all_of(view: View) -> Iterator[JudgedWorkload]:
    """Yield the workloads of a view. Pods that a workload of the view makes are no resources of a program."""
    autoscalers = {key: value for key, value in _autoscalers(view)}  # noqa: C416, the last of two counts
    claims = dict(_claims(view))
    declared = dict(_contract_devices(view.contracts))
    for item in view.of_kinds(*pods.KINDS):
        highest, name = autoscalers.get((item.namespace, item.kind, item.name), (None, ""))
        replicas = highest
        if replicas is None:
            replicas = _stated_replicas(item)
        key = (item.namespace, item.kind, item.name)
        yield JudgedWorkload(item, replicas, name, claims, declared.get(key, {}))


def device_limits(template: TemplateOfPods) -> dict[str, int]:
    """Return the devices of a pod by resource: of all containers together, or of one init container that needs more."""
    together = dict[str, int]()
    alone = dict[str, int]()
    for container in pods.of_template(template):
        limits = {**trees.mapping(container.tree, "resources", "requests")}
        limits |= trees.mapping(container.tree, "resources", "limits")
        for resource, amount in limits.items():
            if not is_device(resource):
                continue
            number = count(amount)
            is_beside = container.field == "containers" or trees.text(container.tree, "restartPolicy") == "Always"
            if is_beside:
                together[resource] = together.get(resource, 0) + number
            else:
                alone[resource] = max(alone.get(resource, 0), number)
    return {resource: max(together.get(resource, 0), alone.get(resource, 0)) for resource in {**together, **alone}}


def is_device(resource: str) -> bool:
    """Tell whether a resource is a device: those have a domain before a slash."""
    domain, separator, _ = resource.partition("/")
    return bool(separator) and not resource.startswith(_BUILT_IN) and not domain.endswith("kubernetes.io")


def count(amount: object) -> int:
    """Return the number of devices of a quantity; Kubernetes takes whole numbers alone."""
    text = str(trees.value_of(amount))
    try:
        return int(float(text.removesuffix("k"))) * (1000 if text.endswith("k") else 1)
    except ValueError:
        return 0


def _stated_replicas(item: DeployedObject) -> int:
    spec = trees.mapping(item.manifest, "spec")
    if item.kind == "Job":
        return trees.number(spec, "parallelism", default=1)
    if item.kind == "CronJob":
        return trees.number(spec, "jobTemplate", "spec", "parallelism", default=1)
    if item.kind in _REPLICATED:
        return trees.number(spec, "replicas", default=1)
    return 1


def _pods_of_replica(template: TemplateOfPods) -> int:
    """Return the number of pods that a replica has of a template. A LeaderWorkerSet has one leader."""
    spec = trees.mapping(template.item.manifest, "spec", "leaderWorkerTemplate")
    if not spec:
        return 1
    size = trees.number(spec, "size", default=1)
    if template.at != pods.WORKERS:
        return 1
    if trees.mapping(spec, "leaderTemplate"):
        return size - 1
    return size


def _autoscalers(view: View) -> Iterator[tuple[tuple[str, str, str], tuple[int, str]]]:
    """Yield the target of each autoscaler with the highest number of replicas and the name of the autoscaler."""
    for item in view.of_kinds("HorizontalPodAutoscaler", "ScaledObject"):
        spec = trees.mapping(item.manifest, "spec")
        target = trees.mapping(spec, "scaleTargetRef")
        kind = trees.text(target, "kind") or "Deployment"
        highest = trees.number(spec, "maxReplicas", default=1)
        if item.kind == "ScaledObject":
            highest = trees.number(spec, "maxReplicaCount", default=_DEFAULT_OF_KEDA)
        yield (item.namespace, kind, trees.text(target, "name")), (highest, item.subject)


def _claims(view: View) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield the number of devices of each ResourceClaimTemplate."""
    for item in view.of_kinds("ResourceClaimTemplate"):
        requests = trees.mappings(item.manifest, "spec", "spec", "devices", "requests")
        yield (item.namespace, item.name), sum(_devices_of_request(request) for request in requests)


def _devices_of_request(request: Tree) -> int:
    """Return the number of devices of a request, the highest of its alternatives."""
    exact: list[Any] = [*trees.mappings(request, "firstAvailable")]
    exactly = trees.mapping(request, "exactly")
    if exactly or not exact:
        exact.append(exactly or request)
    return max(trees.number(entry, "count", default=1) for entry in exact)


def _contract_devices(declaring: tuple[ReadContract, ...]) -> Iterator[tuple[tuple[str, str, str], dict[str, int]]]:
    """Yield namespace, kind and name of each workload of an inference stack with the devices of its contract."""
    for contract in declaring:
        for service in contract.services.values():
            namespace = trees.text(service, "namespace")
            for variant in (trees.mapping(service, "primary"), trees.mapping(service, "canary")):
                for role in contracts.roles(variant).values():
                    workload = trees.mapping(role, "workload")
                    gpus = trees.mapping(role, "gpus")
                    key = (namespace, trees.text(workload, "kind"), trees.text(workload, "name"))
                    if gpus:
                        yield key, {trees.text(gpus, "class"): trees.number(gpus, "max", default=0)}
