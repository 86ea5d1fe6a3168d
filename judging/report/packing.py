"""Packing of pods onto nodes: whether pods fit in any order, only if packed tightly, or not at all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import gcd

_MOST_STEPS = 2000
"""Maximum number of placements that the exact search tries before it gives up."""
_MOST_PODS = 200
"""Maximum number of pods for which an exact search is made."""


class Tightness(Enum):
    """Answer to the question whether pods fit."""

    FITS = "fits"
    """All pods fit, whichever nodes the scheduler chooses."""
    TIGHT = "fits only if packed tightly"
    """All pods fit if the nodes are chosen well. A scheduler that spreads pods may leave a pod without a node."""
    SHORT = "does not fit"
    """Not all pods fit, whichever nodes are chosen."""


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Pods of one size that wait for nodes."""

    owner: str
    """Name of the pods' workload."""
    size: int
    """Number of devices of a pod; at least 1."""
    count: int
    nodes: frozenset[str]
    """Names of the nodes that take the pods."""


@dataclass(frozen=True, slots=True)
class Packing:
    """The answer whether pods fit, and a way to place the pods on nodes."""

    verdict: Tightness
    places: Mapping[str, Sequence[tuple[str, int]]]
    """Placed pods by node: owner and number of devices. Pods without a place are missing."""


def pack(free: Mapping[str, int], pods: Iterable[PodGroup]) -> Packing:
    """Place pods on nodes with `free` devices.

    Larger pods are placed first (first-fit decreasing). Among pods of the same size, pods with fewer nodes come first.
    """
    waiting = [pod for pod in pods if pod.count]
    ordered = sorted(waiting, key=lambda pod: (-pod.size, len(pod.nodes), pod.owner))
    places, is_complete = _greedy(dict(free), ordered)
    if is_complete:
        return Packing(Tightness.FITS if _always(free, waiting) else Tightness.TIGHT, places)
    if _impossible(free, waiting) or not _search(dict(free), ordered):
        return Packing(Tightness.SHORT, places)
    return Packing(Tightness.TIGHT, places)


def _greedy(free: dict[str, int], ordered: Iterable[PodGroup]) -> tuple[dict[str, list[tuple[str, int]]], bool]:
    """Place each pod on the node with the fewest free devices that suffice; tell whether all pods have a place."""
    places = dict[str, list[tuple[str, int]]]()
    is_complete = True
    for pod in ordered:
        for _ in range(pod.count):
            node = min(_takers(free, pod), key=lambda name: (free[name], name), default=None)
            if node is None:
                is_complete = False
                break
            free[node] -= pod.size
            places.setdefault(node, []).append((pod.owner, pod.size))
    return places, is_complete


def _takers(free: Mapping[str, int], pod: PodGroup) -> Iterator[str]:
    return (name for name in pod.nodes if free.get(name, 0) >= pod.size)


def _impossible(free: Mapping[str, int], pods: Iterable[PodGroup]) -> bool:
    """Tell whether counts prove that the pods do not fit: too few free devices, or too few places for large pods."""
    waiting = tuple(pods)
    everywhere = frozenset(name for pod in waiting for name in pod.nodes)
    for nodes in {*(pod.nodes for pod in waiting), everywhere}:
        inside = [pod for pod in waiting if pod.nodes <= nodes]
        rooms = [free.get(name, 0) for name in nodes]
        if sum(pod.size * pod.count for pod in inside) > sum(rooms):
            return True
        for size in {pod.size for pod in inside}:
            large = sum(pod.count for pod in inside if pod.size >= size)
            if large > sum(room // size for room in rooms):
                return True
    return False


def _search(free: dict[str, int], ordered: Sequence[PodGroup]) -> bool:
    """Tell whether the pods fit, by trying placements. If there are too many pods or steps, the answer is yes."""
    sizes = [pod for pod in ordered for _ in range(pod.count)]
    return len(sizes) > _MOST_PODS or _Search(free, sizes, ordered).place(0)


@dataclass(slots=True)
class _Search:
    """Exact search for places: it places one pod after the other, and takes pods back if a later pod finds no place."""

    free: dict[str, int]
    """Free devices by node; the numbers change while pods are placed and taken back."""
    sizes: Sequence[PodGroup]
    """One item for each pod: the group that the pod belongs to."""
    ordered: Sequence[PodGroup]
    steps: int = 0

    def place(self, index: int) -> bool:
        """Place the pods from `index` on, and tell whether all of them have a place.

        After too many steps, the answer is yes. Of nodes with equally many free devices that take the same groups of
        pods, only the first node is tried.
        """
        if index == len(self.sizes) or self.steps > _MOST_STEPS:
            return True
        pod = self.sizes[index]
        seen = set[tuple[int, tuple[bool, ...]]]()
        for node in sorted(_takers(self.free, pod), key=lambda name: (self.free[name], name)):
            kind = (self.free[node], tuple(node in pod.nodes for pod in self.ordered))
            if kind not in seen:
                seen.add(kind)
                self.steps += 1
                self.free[node] -= pod.size
                if self.place(index + 1):
                    return True
                self.free[node] += pod.size
        return False


def _always(free: Mapping[str, int], pods: Sequence[PodGroup]) -> bool:
    """Tell whether every pod finds a node, however the other pods are placed before it.

    The other pods block a node if they leave fewer devices there than the pod needs. If blocking all nodes takes more
    devices than the other pods request, the pod always finds a node.
    """
    for pod in pods:
        rivals = [other for other in pods if other.nodes & pod.nodes]
        taken = sum(other.size * other.count for other in rivals) - pod.size
        step = gcd(*(other.size for other in rivals if other is not pod or pod.count > 1))
        cost = 0
        for name in pod.nodes:
            room = free.get(name, 0)
            if room < pod.size:
                continue
            least = room - pod.size + 1
            if step:
                blocked = -(-least // step) * step
            else:
                blocked = room + 1
            if blocked > room:
                break
            cost += blocked
        else:
            if taken >= cost:
                return False
    return True
