"""Digests of images that run, from the status of pods."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from models.trees import at, mapping, sequence

Running = Mapping[str, Mapping[str, int]]
"""Number of pods by digest, by the image as the pods name it. Digests that no registry knows are an empty text."""

_REPO_DIGEST = re.compile(r"(?:docker-pullable://)?[^@\s]+@(sha256:[0-9a-f]{64})")
"""Pattern of an imageID with a digest of a registry. Without a repository, it is a digest of the node alone."""
_ENDED = frozenset({"Failed", "Succeeded"})
_CONTAINERS = {"containers": "containerStatuses", "initContainers": "initContainerStatuses"}
"""Lists of a pod's status, by the lists of its spec."""


def of_pods(pods: Iterable[Mapping[str, Any]]) -> Running:
    """Return the digests that run in pods. Pods that have ended, or are being deleted, do not count."""
    numbers = dict[str, Counter[str]]()
    for pod in pods:
        for image, digest in set(_images(pod)):
            numbers.setdefault(image, Counter())[digest] += 1
    return numbers


def union(parts: Iterable[Running]) -> Running:
    """Return the digests that run in all pods of some sets of pods."""
    numbers = dict[str, Counter[str]]()
    for part in parts:
        for image, digests in part.items():
            numbers.setdefault(image, Counter()).update(digests)
    return numbers


def _images(pod: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the images of a pod's containers, each with the digest that the node has pulled."""
    if str(at(pod, "status", "phase")) in _ENDED or at(pod, "metadata", "deletionTimestamp") is not None:
        return
    for specs, statuses in _CONTAINERS.items():
        states = {str(at(state, "name")): mapping(state) for state in sequence(at(pod, "status", statuses))}
        for container in map(mapping, sequence(at(pod, "spec", specs))):
            image = container.get("image")
            identifier = states.get(str(container.get("name")), {}).get("imageID")
            if isinstance(image, str) and isinstance(identifier, str) and identifier:
                digest = _REPO_DIGEST.fullmatch(identifier)
                yield image, digest[1] if digest else ""
