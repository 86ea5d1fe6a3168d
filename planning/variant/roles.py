"""Roles of a variant: the workloads that its configuration asks for, for each stage that has pods of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.paths import Path
from models.role import Role
from models.service import Prefill, RoleSet, Variant
from planning.ground import stages
from planning.ground.stages import STAGES, RequestStage
from planning.releases import engine_kinds
from planning.releases.engine_kinds import EngineKind


@dataclass(frozen=True, slots=True)
class RoleSpecAt:
    """Spec of a role, with its name and its place in the configuration."""

    set_name: str
    """Name of the set of pods; empty if all pods of the stage are one set."""
    stage: RequestStage
    """Stage that the pods process. The destination processes each stage that has no pods of its own, too."""
    path: Path
    spec: Role
    kind: EngineKind
    """Kind of the engine, by `engine.type`."""

    @property
    def name(self) -> str:
        """Return the name of the role, which no other role of the variant has."""
        if not self.set_name:
            return self.stage.name
        return f"{self.stage.name}-{self.set_name}"

    @property
    def labels(self) -> Mapping[str, str]:
        """Return the labels that users wrote for the pods. Those of a set win over those of the pods."""
        if isinstance(self.spec, RoleSet):
            return {**self.spec.pod.labels, **self.spec.labels}
        return self.spec.pod.labels

    @property
    def profile_path(self) -> Path:
        """Return the path of the section whose serving profile the role has: its own, or that of its sets."""
        if not self.set_name:
            return self.path
        section = self.path.parent.parent
        if self.stage is stages.DECODE:
            return section.parent
        return section


def sets(spec: Variant, stage: RequestStage) -> Mapping[str, RoleSet]:
    """Return the sets of pods of a stage, by name; empty if the stage is not divided, or has no pods of its own."""
    if stage is stages.DECODE:
        return spec.decode.sets
    role = getattr(spec, stage.key)
    if isinstance(role, Prefill):
        return role.sets
    return {}


def further(spec: Variant) -> dict[str, Role]:
    """Return the specs of the stages that have pods of their own, beside the destination, by key of the variant."""
    specs = {stage.key: getattr(spec, stage.key) for stage in STAGES.values() if stage.key}
    return {key: role for key, role in specs.items() if role is not None}


def of(spec: Variant, at: Path) -> Iterator[RoleSpecAt]:
    """Yield the roles of a variant, the destination first. `at` is the path of the variant."""
    others = further(spec)
    for stage in STAGES.values():
        divided = sets(spec, stage)
        for name in sorted(divided):
            path = Path(*at, stage.name, "sets", name)
            yield RoleSpecAt(name, stage, path, divided[name], engine_kinds.of(spec, divided[name]))
        if divided:
            continue
        if stage is stages.DECODE:
            yield RoleSpecAt("", stage, at, spec, engine_kinds.of(spec, spec))
        elif stage.key in others:
            role = others[stage.key]
            yield RoleSpecAt("", stage, at / stage.key, role, engine_kinds.of(spec, role))
