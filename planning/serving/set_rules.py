"""Verdicts on sets of pods: a role that is divided into sets has no workload of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.paths import Path
from models.problems import Problem
from models.role import Role
from models.service import RoleSet
from planning.ground import stages
from planning.ground.stages import STAGES
from planning.releases import engine_kinds
from planning.variant import roles
from planning.variant.context import VariantContext

_OF_WORKLOADS = ("replicas", "autoscaling", "patch")
"""Keys that each workload has for itself."""


@dataclass(frozen=True, slots=True)
class _Divided:
    """A role that is divided into sets."""

    noun: str
    """Name of the section with the keys that the sets inherit, for messages."""
    path: Path
    """Place of that section."""
    role: Role
    sets_path: Path
    sets: Mapping[str, RoleSet]


def judge(variant: VariantContext) -> Iterator[Problem]:
    """Reject keys of divided roles that have no effect, and sets whose pods could not be in one pool."""
    for divided in _divided_roles(variant):
        yield from _keys_without_effect(divided)
        for name, pods in sorted(divided.sets.items()):
            yield from _port(divided, name, pods)
    if variant.is_divided:
        yield from _engines(variant)


def _divided_roles(variant: VariantContext) -> Iterator[_Divided]:
    spec = variant.spec
    further = roles.further(spec)
    for stage in STAGES.values():
        sets = roles.sets(spec, stage)
        sets_path = Path(*variant.path, stage.name, "sets")
        if sets and stage is stages.DECODE:
            yield _Divided("the service", variant.path, spec, sets_path, sets)
        elif sets:
            yield _Divided(stage.key, variant.path / stage.key, further[stage.key], sets_path, sets)


def _keys_without_effect(divided: _Divided) -> Iterator[Problem]:
    for name in _OF_WORKLOADS:
        if name in divided.role.explicit_fields:
            what = f"has no effect, because each set of {divided.sets_path[-2]} has its own"
            remedy = f"write it in the sets ({', '.join(sorted(divided.sets))})"
            yield Problem(divided.path / name, what, remedy, (divided.sets_path,))


def _port(divided: _Divided, name: str, pods: RoleSet) -> Iterator[Problem]:
    ports = (pods.engine.port, divided.role.engine.port)
    if ports[0] != ports[1]:
        what = f"differs from that of {divided.noun} ({ports[0]}, {ports[1]})"
        yield Problem(divided.sets_path / name / "engine" / "port", what, "remove it")


def _engines(variant: VariantContext) -> Iterator[Problem]:
    """Reject sets of decode pods with another engine: cache, picker and sidecar have the settings of one engine."""
    kind = engine_kinds.of(variant.spec, variant.spec)
    for role in variant.destinations:
        if role.kind.name != kind.name:
            what = f"is another engine than the service's ({role.kind.name}, {kind.name})"
            yield Problem(role.path / "engine" / "type", what, "write it in the service's engine.type alone")
