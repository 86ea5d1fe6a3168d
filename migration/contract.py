"""Serving contracts: what pods of two renderings must have in common to serve alike.

The contract of a role has image, arguments as a set, environment, devices, replicas, ports, paths of probes, and
placement. Everything else about a pod may differ. Values are texts, and credentials in them are hidden.
"""

import fnmatch
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from migration.accounts import without_credentials
from models import flags
from models.base import Spec
from models.trees import at, mapping, sequence
from planning.ground import tables

Side = Literal["ours", "theirs"]
_ROLE_LABEL = "llm-d.ai/role"
_ONLY_ROLE = "decode"
_ENGINES = ("vllm", "main", "engine")
"""Names of the engine's container in renderings, the most certain first."""
_PROGRAM = frozenset({"vllm", "serve", "python", "python3", "-m", "vllm.entrypoints.openai.api_server", "--"})
_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_WORKLOADS = frozenset({"Deployment", "LeaderWorkerSet", "StatefulSet"})


class Announced(Spec):
    """A difference that holds for every service of a source."""

    part: str
    value: str
    only: Side
    reason: str


class _AnnouncementFile(Spec):
    """The table of announced differences."""

    all: list[Announced]
    """Differences of all sources."""
    sources: dict[str, list[Announced]]
    """Differences by the name of the source."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that only one of two renderings has."""

    role: str
    part: str
    side: Side
    value: str
    reason: str | None
    """Why this difference is announced; None if it is not."""

    def __str__(self) -> str:
        text = f"{self.role} {self.part}: only {self.side}: {self.value}"
        if self.reason is None:
            return text
        return f"{text} ({self.reason})"


Contract = Mapping[str, frozenset[str]]
"""Values by the part of the contract."""


def contracts(objects: Iterable[Mapping[str, Any]]) -> dict[str, Contract]:
    """Return the contracts of the serving pods among some objects, by role."""
    roles = dict[str, Contract]()
    for manifest in objects:
        hidden, _ = without_credentials(manifest)
        if hidden.get("kind") in _WORKLOADS:
            template = _template(hidden)
            engine = _engine(at(template, "spec"))
            if engine is not None:
                roles[_role(hidden, template)] = _contract(hidden, mapping(at(template, "spec")), engine)
    return roles


def differences(
    ours: Mapping[str, Contract], theirs: Mapping[str, Contract], source: str | None
) -> Iterator[Difference]:
    """Yield the differences between two renderings. `source` is the name of the source, whose differences are known."""
    for role in sorted({*ours, *theirs}):
        if role not in ours or role not in theirs:
            side: Side = "ours" if role in ours else "theirs"
            yield Difference(role, "role", side, role, None)
            continue
        for part in ours[role]:
            yield from _of_part(role, part, ours[role][part], theirs[role][part], source)


def _of_part(
    role: str, part: str, ours: frozenset[str], theirs: frozenset[str], source: str | None
) -> Iterator[Difference]:
    sides: tuple[tuple[Side, frozenset[str]], ...] = (("ours", ours - theirs), ("theirs", theirs - ours))
    for side, values in sides:
        for value in sorted(values):
            yield Difference(role, part, side, value, _reason(part, side, value, source))


def _reason(part: str, side: Side, value: str, source: str | None) -> str | None:
    table = _announcements()
    for row in (*table.all, *table.sources.get(source or "", ())):
        if (row.part, row.only) == (part, side) and fnmatch.fnmatchcase(value, row.value):
            return row.reason
    return None


def _announcements() -> _AnnouncementFile:
    return tables.read(_AnnouncementFile, "tables/announced.yaml", "migration")


def _template(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the pod template of a workload; that of the leader if a replica has several pods."""
    group = at(manifest, "spec", "leaderWorkerTemplate")
    if group is None:
        return mapping(at(manifest, "spec", "template"))
    return mapping(at(group, "leaderTemplate") or at(group, "workerTemplate"))


def _engine(pod: object) -> Mapping[str, Any] | None:
    """Return the engine's container of a pod; None if the pod has none."""
    containers = [mapping(container) for container in sequence(at(pod, "containers"))]
    for name in _ENGINES:
        for container in containers:
            if container.get("name") == name:
                return container
    return next((container for container in containers if _serves(container)), None)


def _serves(container: Mapping[str, Any]) -> bool:
    words = [*sequence(container.get("command")), *sequence(container.get("args"))]
    return "serve" in words or any("vllm" in str(word) for word in words)


def _role(manifest: Mapping[str, Any], template: Mapping[str, Any]) -> str:
    role = mapping(at(template, "metadata", "labels")).get(_ROLE_LABEL)
    if isinstance(role, str):
        return _known_role(role)
    return _known_role(str(at(manifest, "metadata", "name")).rpartition("-")[2])


def _known_role(text: str) -> str:
    if text in {"prefill", "encode"}:
        return text
    return _ONLY_ROLE


def _contract(manifest: Mapping[str, Any], pod: Mapping[str, Any], engine: Mapping[str, Any]) -> Contract:
    limits = {**mapping(at(engine, "resources", "requests")), **mapping(at(engine, "resources", "limits"))}
    ports = [mapping(port).get("containerPort") for port in sequence(engine.get("ports"))]
    paths = (f"{name} {at(engine, name, 'httpGet', 'path')}" for name in _PROBES if at(engine, name, "httpGet"))
    return {
        "image": frozenset({str(engine.get("image"))}),
        "arguments": frozenset(_arguments(engine)),
        "environment": frozenset(_variables(engine)),
        "devices": frozenset(f"{name}={amount}" for name, amount in limits.items() if "/" in name),
        "replicas": frozenset({str(_replicas(manifest))}),
        "ports": frozenset(str(port) for port in ports),
        "probes": frozenset(paths),
        "nodes": frozenset(f"{name}={text}" for name, text in mapping(pod.get("nodeSelector")).items()),
        "tolerations": frozenset(json.dumps(item, sort_keys=True) for item in sequence(pod.get("tolerations"))),
    }


def _replicas(manifest: Mapping[str, Any]) -> object:
    """Return the number of replicas. Without one, Kubernetes has one."""
    replicas = at(manifest, "spec", "replicas")
    if replicas is None:
        return 1
    return replicas


def _arguments(engine: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arguments in one form, `--flag=value`, without the program."""
    words = [str(word) for word in (*sequence(engine.get("command")), *sequence(engine.get("args")))]
    for flag in flags.parse([word for word in words if word not in _PROGRAM]):
        if flag.name and flag.value is not None:
            yield f"{flag.name}={_one_form(flag.value)}"
        elif flag.name:
            yield flag.name
        else:
            yield from flag.tokens


def _one_form(value: str) -> str:
    """Return a value in one form: JSON objects without spaces, and with sorted keys."""
    if not value.startswith("{"):
        return value
    try:
        return json.dumps(json.loads(value), sort_keys=True, separators=(",", ":"))
    except ValueError:
        return value


def _variables(engine: Mapping[str, Any]) -> Iterator[str]:
    for variable in map(mapping, sequence(engine.get("env"))):
        value = variable.get("value")
        if value is None and "valueFrom" in variable:
            value = json.dumps(variable["valueFrom"], sort_keys=True)
        yield f"{variable.get('name')}={value or ''}"
