"""Serving contracts: what pods of two renderings must have in common to serve alike.

The contract of a role has image, arguments as a set, environment, devices, replicas, ports, paths of probes, and
placement. Everything else about a pod may differ. Values are texts, and credentials in them are hidden.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from migration import announced, command_lines, pairing, renderings
from migration.announced import FileRole, Side, in_one_form
from migration.pairing import PodPair, ServiceFiles
from migration.renderings import RenderedWorkload
from models.trees import at, mapping, sequence
from planning.ground.names import PRIMARY

_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_API_VERSION = "apiVersion"
_PODS = "pods"
_LACKING: Mapping[Side, str] = {
    "ours": "the other rendering has no such pods",
    "theirs": "this program has no such pods",
}
_STRANGE = "no service of the configuration has its pods"


@dataclass(frozen=True, slots=True)
class RenderingDifference:
    """A value that only one of two renderings has."""

    place: str
    """The pods that have it, by service, variant and role; or a workload of the other system."""
    part: str
    side: Side
    value: str
    reason: str | None
    """Why this difference is announced; None if it is not."""

    def __str__(self) -> str:
        text = f"{self.place} {self.part}: only {self.side}: {self.value}"
        if self.reason is None:
            return text
        return f"{text} ({self.reason})"


@dataclass(frozen=True, slots=True)
class RenderingComparison:
    """The differences between two renderings, and what of the other one is not compared."""

    differences: tuple[RenderingDifference, ...]
    without_engine: tuple[RenderedWorkload, ...]
    """Workloads that do not serve, such as endpoint pickers."""
    other_kinds: Mapping[str, int]
    """Number of the objects that have no pods, by kind."""

    @property
    def surprising(self) -> tuple[RenderingDifference, ...]:
        """Return the differences that no reason excuses."""
        return tuple(difference for difference in self.differences if difference.reason is None)


Contract = Mapping[str, frozenset[str]]
"""Values by the part of the contract."""


def compare(
    ours: Iterable[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]], origins: Sequence[ServiceFiles]
) -> RenderingComparison:
    """Compare two renderings. `origins` are the services of the configuration, with their documents."""
    paired = pairing.pair(renderings.workloads(ours), renderings.workloads(theirs), origins)
    differences = [difference for pair in paired.pairs for difference in _of_pair(pair)]
    serving = [workload for workload in paired.strangers if workload.engine is not None]
    differences += [RenderingDifference(str(workload), _PODS, "theirs", _STRANGE, None) for workload in serving]
    return RenderingComparison(
        tuple(differences),
        tuple(workload for workload in paired.strangers if workload.engine is None),
        Counter(sorted(renderings.other_kinds(theirs))),
    )


def contract(workload: RenderedWorkload) -> Contract:
    """Return the contract of the pods of a workload."""
    engine = workload.engine or {}
    limits = {**mapping(at(engine, "resources", "requests")), **mapping(at(engine, "resources", "limits"))}
    ports = [mapping(port).get("containerPort") for port in sequence(engine.get("ports"))]
    return {
        "image": frozenset({str(engine.get("image"))}),
        "arguments": frozenset(command_lines.arguments(engine)),
        "environment": frozenset(_variables(engine)),
        "devices": frozenset(f"{name}={amount}" for name, amount in limits.items() if "/" in name),
        "replicas": frozenset({str(workload.replicas)}),
        "pods of a replica": frozenset({str(workload.size)}),
        "ports": frozenset(str(port) for port in ports),
        "probes": frozenset(_probes(engine)),
        "nodes": frozenset(f"{name}={text}" for name, text in mapping(workload.pod.get("nodeSelector")).items()),
        "affinity": frozenset(_affinity(workload.pod)),
        "tolerations": frozenset(in_one_form(item) for item in sequence(workload.pod.get("tolerations"))),
    }


def _of_pair(pair: PodPair) -> Iterator[RenderingDifference]:
    place = str(pair.place)
    if pair.ours is None or pair.theirs is None:
        side: Side = "theirs" if pair.ours is None else "ours"
        yield RenderingDifference(place, _PODS, side, _LACKING[side], None)
        return
    ours = contract(pair.ours)
    theirs = contract(pair.theirs)
    role = _role_of_file(pair)
    for part in ours:
        yield from _of_part(place, role, part, (ours[part] - theirs[part], theirs[part] - ours[part]))


def _of_part(
    place: str, role: FileRole, part: str, values: tuple[frozenset[str], frozenset[str]]
) -> Iterator[RenderingDifference]:
    """Yield the differences of a part. `values` are those that only ours has, and those that only theirs has."""
    reasons = announced.reasons(role, part, *values)
    sides: tuple[Side, Side] = ("ours", "theirs")
    for side, values_of_side in zip(sides, values, strict=True):
        for value in sorted(values_of_side):
            yield RenderingDifference(place, part, side, value, reasons.get((side, value)))


def _role_of_file(pair: PodPair) -> FileRole:
    """Return the role of the other system's service that a pair is about."""
    files = pair.origin
    rows = pairing.rows(files.source)
    fitting = [row for row in rows if row.role == pair.place.role]
    fitting.sort(key=lambda row: row.variant != pair.place.variant)
    place = next((row.place for row in fitting), "")
    original = files.originals.get(pair.place.variant, files.originals[PRIMARY])
    elsewhere = tuple(row.place for row in rows if row.place.startswith(f"{place}."))
    return FileRole(
        files.source, original, place, tuple(original.notes()), elsewhere, pairing.shared_fields(files.source)
    )


def _probes(engine: Mapping[str, Any]) -> Iterator[str]:
    """Yield the probes with their paths; those without a path with their kind, such as `exec`."""
    for name in _PROBES:
        probe = mapping(engine.get(name))
        path = at(probe, "httpGet", "path")
        kind = next((kind for kind in ("exec", "grpc", "tcpSocket") if kind in probe), None)
        if path is not None or kind is not None:
            yield f"{name} {path or kind}"


def _affinity(pod: Mapping[str, Any]) -> Iterator[str]:
    """Yield the terms of the nodes that pods need, and of other pods that they need or avoid."""
    for name, rules in mapping(pod.get("affinity")).items():
        for rule, terms in mapping(rules).items():
            yield f"{name}.{rule}={in_one_form(terms)}"


def _variables(engine: Mapping[str, Any]) -> Iterator[str]:
    for variable in map(mapping, sequence(engine.get("env"))):
        value = variable.get("value")
        if value is None and "valueFrom" in variable:
            value = in_one_form(_without_versions(variable["valueFrom"]))
        yield f"{variable.get('name')}={value or ''}"


def _without_versions(source: object) -> object:
    """Return the source of a variable without the API version of a field, which has a default."""
    entries = mapping(source)
    return {
        name: {key: text for key, text in mapping(of).items() if key != _API_VERSION} for name, of in entries.items()
    }
