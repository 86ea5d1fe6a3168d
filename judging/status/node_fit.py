"""Nodes on which a pod that finds no node could run, if they were not cordoned, tainted or full."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from models.trees import at, mapping, sequence
from models.vocabulary import amount, is_quantity
from planning.ground.inventory import Requirement
from planning.ground.snapshot import Manifest

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_REPELLING = ("NoSchedule", "NoExecute")
"""Effects of taints that keep pods away."""


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """A node whose labels match a pod, and which has enough of what the pod requests."""

    name: str
    is_cordoned: bool
    taints: tuple[str, ...]
    """Taints that the pod does not tolerate, as `key=value:effect`."""

    @property
    def is_open(self) -> bool:
        """Tell whether pods may be placed on the node."""
        return not self.is_cordoned and not self.taints


def candidates(pod: Manifest, nodes: Mapping[str, Manifest]) -> tuple[NodeVerdict, ...]:
    """Return the nodes that match a pod and are big enough for it, by name. What runs on them does not count."""
    requested = requests(pod)
    return tuple(
        NodeVerdict(name, at(node, "spec", "unschedulable") is True, tuple(repelling_taints(pod, node)))
        for name, node in sorted(nodes.items())
        if matches(pod, node) and _is_big_enough(node, requested)
    )


def has_room(pod: Manifest, node: Manifest, lasting: Iterable[Manifest]) -> bool:
    """Tell whether a pod has room on a node beside some pods that last."""
    free = dict(_amounts(at(node, "status", "allocatable")))
    for other in lasting:
        for name, number in requests(other).items():
            free[name] = free.get(name, Decimal(0)) - number
    return all(number <= free.get(name, Decimal(0)) for name, number in requests(pod).items())


def matches(pod: Manifest, node: Manifest) -> bool:
    """Tell whether the labels of a node meet the node selector and the required node affinity of a pod.

    Source: Kubernetes API, PodSpec.nodeSelector and NodeAffinity. Conditions in `matchFields` count as met.
    """
    labels = mapping(at(node, "metadata", "labels"))
    if not mapping(at(pod, "spec", "nodeSelector")).items() <= labels.items():
        return False
    terms = sequence(at(pod, "spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms"))
    return not terms or any(_meets(mapping(term), labels) for term in terms)


def repelling_taints(pod: Manifest, node: Manifest) -> Iterator[str]:
    """Yield the taints of a node that keep a pod away, as `key=value:effect`."""
    tolerations = [mapping(toleration) for toleration in sequence(at(pod, "spec", "tolerations"))]
    for taint in map(mapping, sequence(at(node, "spec", "taints"))):
        # A cordoned node has a taint, too; the scheduler reports it as unschedulable.
        is_cordon = taint.get("key") == "node.kubernetes.io/unschedulable"
        tolerated = any(_tolerates(toleration, taint) for toleration in tolerations)
        if taint.get("effect") in _REPELLING and not is_cordon and not tolerated:
            value = f"={taint['value']}" if taint.get("value") else ""
            yield f"{taint.get('key')}{value}:{taint.get('effect')}"


def requests(pod: Manifest) -> Mapping[str, Decimal]:
    """Return what a pod requests, by resource: the sum over containers, or the largest request of an init container."""
    init: dict[str, Decimal] = {}
    total: dict[str, Decimal] = {}
    for container in map(mapping, sequence(at(pod, "spec", "containers"))):
        for name, number in _amounts(at(container, "resources", "requests")):
            total[name] = total.get(name, Decimal(0)) + number
    for container in map(mapping, sequence(at(pod, "spec", "initContainers"))):
        target = total if container.get("restartPolicy") == "Always" else init
        for name, number in _amounts(at(container, "resources", "requests")):
            target[name] = (
                target.get(name, Decimal(0)) + number if target is total else max(target.get(name, Decimal(0)), number)
            )
    return {name: max(total.get(name, Decimal(0)), init.get(name, Decimal(0))) for name in {**total, **init}}


def _is_big_enough(node: Manifest, requested: Mapping[str, Decimal]) -> bool:
    allocatable = mapping(at(node, "status", "allocatable"))
    return all(number <= _amount(allocatable.get(name)) for name, number in requested.items())


def _amount(quantity: object) -> Decimal:
    """Return a quantity as a number; 0 for anything else."""
    return amount(quantity) if isinstance(quantity, str) and is_quantity(quantity) else Decimal(0)


def _amounts(quantities: object) -> Iterator[tuple[str, Decimal]]:
    for name, quantity in mapping(quantities).items():
        if is_quantity(quantity):
            yield name, amount(quantity)


def _meets(term: Manifest, labels: Mapping[str, str]) -> bool:
    expressions = [mapping(expression) for expression in sequence(term.get("matchExpressions"))]
    if not expressions and not term.get("matchFields"):
        return False
    return all(_holds(expression, labels) for expression in expressions)


def _holds(expression: Manifest, labels: Mapping[str, str]) -> bool:
    key = str(expression.get("key"))
    operator = str(expression.get("operator"))
    values = tuple(str(value) for value in sequence(expression.get("values")))
    if operator not in {"Gt", "Lt"}:
        return Requirement(key, operator, values).admits(labels)
    try:
        value = int(labels.get(key, ""))
        bound = int(values[0])
    except (ValueError, IndexError):
        return False
    return value > bound if operator == "Gt" else value < bound


def _tolerates(toleration: Manifest, taint: Manifest) -> bool:
    """Tell whether a toleration matches a taint (Kubernetes API, Toleration)."""
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    exists = toleration.get("operator") == "Exists"
    if not toleration.get("key"):
        return exists
    return toleration["key"] == taint.get("key") and (
        exists or toleration.get("value", "") == (taint.get("value") or "")
    )
