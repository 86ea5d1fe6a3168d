"""The target of a composition: the cluster that the configuration names, or given facts."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from facts import cluster, facts_file
from models.stack import Cluster, LiveFacts
from planning.ground.cluster_facts import ClusterFacts, LiveObjects, Permissions, Pools, Unknown
from planning.ground.needs import Needs

ListedKind = tuple[str, str]
"""Kind (`apiVersion/Kind`) and namespace of objects. The namespace of cluster-scoped objects is empty."""


class Target(Protocol):
    """A source of cluster facts. If a read fails, no method raises an exception: results have `Unknown` or None."""

    def facts(self, spec: Cluster, needs: Needs) -> ClusterFacts:
        """Return the facts of the cluster: its kinds, and the objects that `needs` lists."""
        ...

    def name(self, spec: Cluster) -> str | None:
        """Return the name of the cluster in the kubeconfig; None if it is unknown."""
        ...

    def earlier_facts(self) -> ClusterFacts | None:
        """Return the facts of an earlier preview, to compare with; None if no earlier preview is known."""
        ...

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:
        """Return the InferencePools of some namespaces."""
        ...

    def objects(
        self, spec: Cluster, kinds: Iterable[ListedKind], names: Mapping[ListedKind, Collection[str]]
    ) -> LiveObjects | Unknown:
        """Return the objects of `kinds` that stacks made, and the marks of all objects whose name is in `names`."""
        ...

    def permissions(self, spec: Cluster, namespaces: Iterable[str]) -> Permissions | Unknown | None:
        """Return the user's RBAC rules in some namespaces; None if the run does not deploy, as in a preview."""
        ...


@dataclass(frozen=True, slots=True)
class Live:
    """Facts from the source that `cluster.facts` names: the live cluster, or a file, or no source at all."""

    kubeconfig: str | None
    """Text of a kubeconfig. If it is None, the files that KUBECONFIG names are read, or else the default file."""
    root: Path
    """Folder to which paths in the configuration are relative."""
    previewed_file: str | None = None
    """Path of the file with the facts of an earlier preview."""
    deploys: bool = False
    """Whether the run changes the cluster. A preview does not."""

    def access(self, spec: Cluster) -> cluster.KubeAccess:
        """Return the kubeconfig and the context of the cluster."""
        return cluster.KubeAccess(self.kubeconfig, spec.context)

    def facts(self, spec: Cluster, needs: Needs) -> ClusterFacts:
        """Read the facts from the source that the configuration names."""
        return cluster.read(spec, self.access(spec), self.root, needs)

    def name(self, spec: Cluster) -> str | None:
        """Return the name of the cluster in the kubeconfig."""
        return cluster.name(self.access(spec))

    def earlier_facts(self) -> ClusterFacts | None:
        """Read the facts of an earlier preview, if a file is named."""
        if self.previewed_file is None:
            return None
        return facts_file.read(self.root / self.previewed_file)

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:
        """Read the InferencePools of some namespaces. Return `Unknown` unless `cluster.facts.type` is `live`."""
        return cluster.pools(spec, self.access(spec), namespaces)

    def objects(
        self, spec: Cluster, kinds: Iterable[ListedKind], names: Mapping[ListedKind, Collection[str]]
    ) -> LiveObjects | Unknown:
        """Read objects and marks. Return `Unknown` unless `cluster.facts.type` is `live`."""
        return cluster.objects(spec, self.access(spec), kinds, names)

    def permissions(self, spec: Cluster, namespaces: Iterable[str]) -> Permissions | Unknown | None:
        """Read the user's RBAC rules. Return None in a preview, and unless `cluster.facts.type` is `live`."""
        is_asked = self.deploys and isinstance(spec.facts, LiveFacts)
        if is_asked:
            return cluster.permissions(self.access(spec), namespaces)
        return None


@dataclass(frozen=True, slots=True)
class Given:
    """Given facts, in place of the facts that the configuration names. No cluster is read."""

    known: ClusterFacts
    cluster: str | None = None
    """Name of the cluster, if it is known."""
    earlier: ClusterFacts | None = None
    """Facts of an earlier preview."""

    def facts(self, spec: Cluster, needs: Needs) -> ClusterFacts:  # noqa: ARG002, the protocol's
        """Return the given facts."""
        return self.known

    def name(self, spec: Cluster) -> str | None:  # noqa: ARG002, the protocol's
        """Return the given name."""
        return self.cluster

    def earlier_facts(self) -> ClusterFacts | None:
        """Return the given facts of an earlier preview."""
        return self.earlier

    def pools(self, spec: Cluster, namespaces: Iterable[str]) -> Pools | Unknown:  # noqa: ARG002, the protocol's
        """Return `Unknown`, because the given facts contain no pools."""
        return Unknown("the cluster was not asked")

    def objects(
        self,
        spec: Cluster,  # noqa: ARG002, the protocol's
        kinds: Iterable[ListedKind],  # noqa: ARG002
        names: Mapping[ListedKind, Collection[str]],  # noqa: ARG002
    ) -> LiveObjects | Unknown:
        """Return no objects, because given facts contain none."""
        return LiveObjects({})

    def permissions(self, spec: Cluster, namespaces: Iterable[str]) -> None:
        """Return None, because a run with given facts deploys nothing."""
