"""The cluster that a configuration is composed for: a live cluster, or given facts."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from facts import cluster
from models.stack import Cluster
from planning.ground.cluster_facts import ClusterFacts, GatewayRef, Pools, Unknown


class Target(Protocol):
    """A source of cluster facts. It never raises for a failed read."""

    def facts(self, spec: Cluster, used: Iterable[GatewayRef]) -> ClusterFacts:
        """Return the kinds of the cluster, the Gateways in use and their routes."""
        ...

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:
        """Return the InferencePools of some namespaces."""
        ...


@dataclass(frozen=True, slots=True)
class Live:
    """The cluster of the configuration, read as far as `cluster.facts` allows."""

    kubeconfig: str | None
    """Text of a kubeconfig; None for the files that KUBECONFIG names, or the default file."""
    root: Path
    """Folder that paths in the configuration are relative to."""

    def access(self, spec: Cluster) -> cluster.Access:
        """Return kubeconfig and context by which the cluster is reached."""
        return cluster.Access(self.kubeconfig, spec.context)

    def facts(self, spec: Cluster, used: Iterable[GatewayRef]) -> ClusterFacts:
        """Read the facts that the configuration asks for."""
        return cluster.read(spec, self.access(spec), self.root, used)

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:
        """Read the InferencePools of some namespaces; `Unknown` unless the configuration has live facts."""
        return cluster.pools(spec, self.access(spec), namespaces)


@dataclass(frozen=True, slots=True)
class Given:
    """Given facts, which replace those that the configuration asks for; no cluster is read."""

    known: ClusterFacts

    def facts(self, spec: Cluster, used: Iterable[GatewayRef]) -> ClusterFacts:  # noqa: ARG002, the protocol's
        """Return the given facts."""
        return self.known

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:  # noqa: ARG002, the protocol's
        """Return that the pools are unknown."""
        return Unknown("the cluster was not asked")
