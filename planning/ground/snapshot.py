"""Objects of a cluster at one moment, as the API server returned them: the facts from which a status is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from planning.ground.api_groups import DEPLOYMENT_API, GATEWAY_GROUP, LEADER_WORKER_SET_API, POOL_GROUP
from planning.ground.cluster_facts import Unknown

Manifest = Mapping[str, Any]
"""An object as the API server returned it. Another program may have written anything into it."""

DEPLOYMENT = f"{DEPLOYMENT_API}/Deployment"
LEADER_WORKER_SET = f"{LEADER_WORKER_SET_API}/LeaderWorkerSet"
POD = "v1/Pod"
EVENT = "v1/Event"
NODE = "v1/Node"
CLAIM = "v1/PersistentVolumeClaim"
JOB = "batch/v1/Job"
LEASE = "coordination.k8s.io/v1/Lease"
AUTOSCALER = "autoscaling/v2/HorizontalPodAutoscaler"
SCALED_OBJECT = "keda.sh/v1alpha1/ScaledObject"
POOL = f"{POOL_GROUP}/v1/InferencePool"
ROUTE = f"{GATEWAY_GROUP}/v1/HTTPRoute"
GATEWAY = f"{GATEWAY_GROUP}/v1/Gateway"
SERVICE = "v1/Service"
TLS_CERTIFICATE = "v1/Secret"
"""Secrets with the certificates of listeners. A snapshot has of them nothing but their names and certificates."""
CERTIFICATE = "cert-manager.io/v1/Certificate"
KINDS = (
    DEPLOYMENT,
    POD,
    EVENT,
    NODE,
    CLAIM,
    JOB,
    LEASE,
    AUTOSCALER,
    POOL,
    ROUTE,
    GATEWAY,
    SERVICE,
    LEADER_WORKER_SET,
    SCALED_OBJECT,
)
"""Kinds from which every status is made, as `apiVersion/Kind`.

All kinds are read for every stack: the cluster may have objects of kinds that an edited file of the stack has no more.
Of Gateways only the parents of routes are read. Of Services only those are read among which an interceptor finds the
address of a request, and those of the proxies beside pickers.
"""
KINDS_OF_VARIANTS = (DEPLOYMENT, POD, POOL, ROUTE, LEADER_WORKER_SET)
"""Kinds from which the variants of a service, their pods and their shares of the requests are made."""
CLUSTER_SCOPED = frozenset({NODE})
"""Kinds whose objects have no namespace."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Objects by kind."""

    read_at: datetime
    """Time of the reading, in UTC."""
    objects: Mapping[str, Sequence[Manifest] | Unknown]
    """Objects by kind (`apiVersion/Kind`). A kind that the cluster does not serve has no objects. `Unknown` if the kind
    could not be read."""
    namespaces: frozenset[str] | None = None
    """Namespaces whose Deployments and Pods were read, those of interceptors included; None for all namespaces."""

    def of(self, kind: str) -> Sequence[Manifest]:
        """Return the objects of a kind; none if the kind could not be read."""
        objects = self.objects.get(kind, ())
        if isinstance(objects, Unknown):
            return ()
        return objects

    def unread(self) -> Mapping[str, str]:
        """Return the reason of each kind that could not be read, by kind."""
        return {kind: objects.reason for kind, objects in self.objects.items() if isinstance(objects, Unknown)}
