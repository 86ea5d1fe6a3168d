"""The cluster that a configuration is composed for: the one that the configuration names, or given facts."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from facts import cluster
from models.stack import Cluster
from planning.ground.cluster_facts import ClusterFacts, GatewayRef, LiveObjects, Pools, Unknown

ListedKind = tuple[str, str]
"""Kind (`apiVersion/Kind`) and namespace of objects; an empty namespace for cluster-scoped objects."""


class Target(Protocol):
    """A source of cluster facts. It never raises for a failed read."""

    def facts(self, spec: Cluster, used: Iterable[GatewayRef]) -> ClusterFacts:
        """Return the kinds of the cluster, the Gateways in `used`, and the routes that attach to them."""
        ...

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:
        """Return the InferencePools of some namespaces."""
        ...

    def objects(
        self, spec: Cluster, kinds: Iterable[ListedKind], names: Mapping[ListedKind, Collection[str]]
    ) -> LiveObjects | Unknown:
        """Return the objects of some kinds that stacks made, and the marks of all objects with one of `names`."""
        ...


@dataclass(frozen=True, slots=True)
class Live:
    """Facts from the source that `cluster.facts` of the configuration names: a live cluster, a file or none."""

    kubeconfig: str | None
    """Text of a kubeconfig. If it is None, the files that KUBECONFIG names are read, or else the default file."""
    root: Path
    """Folder to which paths in the configuration are relative."""

    def access(self, spec: Cluster) -> cluster.Access:
        """Return the kubeconfig and the context of the cluster."""
        return cluster.Access(self.kubeconfig, spec.context)

    def facts(self, spec: Cluster, used: Iterable[GatewayRef]) -> ClusterFacts:
        """Read the facts from the source that the configuration names."""
        return cluster.read(spec, self.access(spec), self.root, used)

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:
        """Read the InferencePools of some namespaces. `Unknown` if `cluster.facts` is not of type live."""
        return cluster.pools(spec, self.access(spec), namespaces)

    def objects(
        self, spec: Cluster, kinds: Iterable[ListedKind], names: Mapping[ListedKind, Collection[str]]
    ) -> LiveObjects | Unknown:
        """Read objects and marks. `Unknown` if `cluster.facts` is not of type live."""
        return cluster.objects(spec, self.access(spec), kinds, names)


@dataclass(frozen=True, slots=True)
class Given:
    """Given facts, which are used instead of those that the configuration names. No cluster is read."""

    known: ClusterFacts

    def facts(self, spec: Cluster, used: Iterable[GatewayRef]) -> ClusterFacts:  # noqa: ARG002, the protocol's
        """Return the given facts."""
        return self.known

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:  # noqa: ARG002, the protocol's
        """Return `Unknown`, because the given facts contain no pools."""
        return Unknown("the cluster was not asked")

    def objects(
        self,
        spec: Cluster,  # noqa: ARG002, the protocol's
        kinds: Iterable[ListedKind],  # noqa: ARG002
        names: Mapping[ListedKind, Collection[str]],  # noqa: ARG002
    ) -> LiveObjects | Unknown:
        """Return no objects: given facts have none."""
        return LiveObjects({})
