"""The cluster that a configuration is composed for: one that is asked, or facts that are given."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from facts import cluster
from models.stack import Cluster
from planning.ground.cluster_facts import ClusterFacts, GatewayRef, Pools, Unknown


class Target(Protocol):
    """Answers questions about a cluster. Never raises for a failed read."""

    def facts(self, spec: Cluster, used: Iterable[GatewayRef]) -> ClusterFacts:
        """Return kinds, and Gateways and routes of those that are used."""
        ...

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:
        """Return the InferencePools of some namespaces."""
        ...


@dataclass(frozen=True, slots=True)
class Live:
    """A cluster that is asked where the configuration lets it be asked (`cluster.facts`)."""

    kubeconfig: str | None
    """Text of a kubeconfig; absent: KUBECONFIG's own rules."""
    root: Path
    """The folder that paths in the configuration start from."""

    def access(self, spec: Cluster) -> cluster.Access:
        """Return how the cluster is reached."""
        return cluster.Access(self.kubeconfig, spec.context)

    def facts(self, spec: Cluster, used: Iterable[GatewayRef]) -> ClusterFacts:
        """Read what the configuration asks for."""
        return cluster.read(spec, self.access(spec), self.root, used)

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:
        """Read pools, of a live cluster only."""
        return cluster.pools(spec, self.access(spec), namespaces)


@dataclass(frozen=True, slots=True)
class Given:
    """Facts that hold whatever the configuration says about reading them; no cluster is asked."""

    known: ClusterFacts

    def facts(self, spec: Cluster, used: Iterable[GatewayRef]) -> ClusterFacts:  # noqa: ARG002, the protocol's
        """Return the given facts."""
        return self.known

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:  # noqa: ARG002, the protocol's
        """Return that pools are not known."""
        return Unknown("the cluster was not asked")
