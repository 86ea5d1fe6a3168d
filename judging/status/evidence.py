"""The evidence for the judgement of all links: time, events, nodes, unread kinds, and expectations of the plan."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from judging.status.records import time
from judging.status.topology import name_of
from models.trees import at, mapping
from planning.ground.snapshot import CERTIFICATE, EVENT, LEASE, NODE, POD, TLS_CERTIFICATE, Manifest, Snapshot


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expectations of the plan of a stack about a workload. Without a stack file there are none."""

    replicas: int | None
    """Configured number of replicas; None if an autoscaler decides it."""
    weights: int | None
    """Size of the weights in bytes; None if it is unknown."""
    fetch_seconds: int | None
    """Time in which a pod usually fetches its weights; None if it fetches none or the size is unknown."""
    load_seconds: int | None
    """Time from the start of the engine in which it usually becomes ready; None if the size is unknown."""
    manifest: Manifest | None = field(default=None, hash=False)
    """The rendered workload; None if it is unknown."""


@dataclass(frozen=True, slots=True)
class RouteExpectation:
    """Expectations of the plan of a stack about a route."""

    percents: Mapping[str, int]
    """Share of requests of each backend, by the backend's name; 0 for a canary that only a header selects."""
    asks_each_picker: bool = True
    """Whether the gateway asks the picker of each pool of a rule. If not, it asks the picker of the last pool with a
    share (`planning.ground.gateways.asks_each_picker`)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A snapshot, by what the judges of links look for."""

    now: datetime
    """Time of the snapshot, in UTC."""
    events: Mapping[tuple[str, str, str], Sequence[Manifest]]
    """Warnings by kind, namespace and name of the object that they are about; the latest is the last."""
    nodes: Mapping[str, Manifest]
    """Nodes by name."""
    unread: Mapping[str, str]
    """Reasons of the kinds that could not be read, by kind (`apiVersion/Kind`)."""
    expected: Mapping[tuple[str, str], Expectation] = field(default_factory=dict[tuple[str, str], Expectation])
    """Expectations by namespace and name of the workload."""
    routes: Mapping[tuple[str, str], RouteExpectation] = field(default_factory=dict[tuple[str, str], RouteExpectation])
    """Expectations by namespace and name of the route."""
    leases: Mapping[tuple[str, str], Manifest] = field(default_factory=dict[tuple[str, str], Manifest])
    """Leases by namespace and name."""
    placed: Mapping[str, Sequence[Manifest]] = field(default_factory=dict[str, Sequence[Manifest]])
    """Pods of this program's stacks that have not ended, by the name of their node."""
    secrets: Mapping[tuple[str, str], Manifest] = field(default_factory=dict[tuple[str, str], Manifest])
    """Secrets with certificates of listeners by namespace and name; empty if nobody asked for them."""
    renewals: Mapping[tuple[str, str], Manifest] = field(default_factory=dict[tuple[str, str], Manifest])
    """Certificates of cert-manager by namespace and name of their Secret; empty if nobody asked for them."""
    emptying: frozenset[str] = frozenset()
    """Names of the nodes with such pods that were deleted."""
    namespaces: frozenset[str] | None = None
    """Namespaces whose Deployments and Pods were read; None for all."""

    def has_read(self, namespace: str) -> bool:
        """Tell whether the Deployments and Pods of a namespace were read."""
        return self.namespaces is None or namespace in self.namespaces

    def events_of(self, kind: str, item: Manifest) -> Sequence[Manifest]:
        """Return the warnings about an object of a kind, such as `Pod`; the latest is the last."""
        return self.events.get((kind, *name_of(item)), ())


def of(
    snapshot: Snapshot,
    expected: Mapping[tuple[str, str], Expectation],
    routes: Mapping[tuple[str, str], RouteExpectation],
) -> Evidence:
    """Return the evidence of a snapshot, with the expectations of workloads and of routes."""
    events = defaultdict[tuple[str, str, str], list[Manifest]](list)
    for event in sorted(snapshot.of(EVENT), key=last_seen):
        about = mapping(event.get("involvedObject"))
        key = tuple(str(about.get(name, "")) for name in ("kind", "namespace", "name"))
        events[key[0], key[1], key[2]].append(event)
    nodes = {name_of(node)[1]: node for node in snapshot.of(NODE)}
    leases = {name_of(lease): lease for lease in snapshot.of(LEASE)}
    placed = _by_node(snapshot)
    emptying = frozenset(node for node, pods in placed.items() if any(map(_is_deleted, pods)))
    return Evidence(
        snapshot.read_at,
        events,
        nodes,
        snapshot.unread(),
        expected,
        routes,
        leases,
        placed,
        secrets={name_of(secret): secret for secret in snapshot.of(TLS_CERTIFICATE)},
        renewals={_secret_of(certificate): certificate for certificate in snapshot.of(CERTIFICATE)},
        emptying=emptying,
        namespaces=snapshot.namespaces,
    )


def _secret_of(certificate: Manifest) -> tuple[str, str]:
    """Return namespace and name of the Secret that cert-manager fills for a Certificate."""
    return name_of(certificate)[0], str(at(certificate, "spec", "secretName"))


def _by_node(snapshot: Snapshot) -> Mapping[str, Sequence[Manifest]]:
    """Return the pods that have not ended by the name of their node."""
    pods = defaultdict[str, list[Manifest]](list)
    for pod in snapshot.of(POD):
        if mapping(pod.get("status")).get("phase") not in ("Succeeded", "Failed"):
            pods[str(mapping(pod.get("spec")).get("nodeName") or "")].append(pod)
    return pods


def _is_deleted(pod: Manifest) -> bool:
    return "deletionTimestamp" in mapping(pod.get("metadata"))


def last_seen(event: Manifest) -> str:
    """Return the time of an event's last occurrence, as text that sorts by time; empty if the event has none."""
    series = mapping(event.get("series"))
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return next((str(moment) for moment in times if moment), "")


def first_seen(event: Manifest) -> datetime | None:
    """Return the time of an event's first occurrence."""
    return time(event.get("firstTimestamp")) or time(event.get("eventTime"))
