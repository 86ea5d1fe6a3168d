"""Roles of a variant: the workloads that its configuration asks for, one for each stage that has pods of its own."""

from collections.abc import Iterator
from dataclasses import dataclass

from models.paths import Path
from models.role import Role
from models.service import Variant
from planning.ground import stages
from planning.ground.stages import STAGES, RequestStage
from planning.releases import engine_kinds
from planning.releases.engine_kinds import EngineKind


@dataclass(frozen=True, slots=True)
class RoleSpecAt:
    """Spec of a role, with its name and its place in the configuration."""

    name: str
    """Name of the role, which no other role of the variant has."""
    stage: RequestStage
    """Stage that the pods process. The destination processes each stage that has no pods of its own, too."""
    path: Path
    spec: Role
    kind: EngineKind
    """Kind of the engine, by `engine.type`."""


def further(spec: Variant) -> dict[str, Role]:
    """Return the specs of the stages that have pods of their own, beside the destination, by key of the variant."""
    specs = {stage.key: getattr(spec, stage.key) for stage in STAGES.values() if stage.key}
    return {key: role for key, role in specs.items() if role is not None}


def of(spec: Variant, at: Path) -> Iterator[RoleSpecAt]:
    """Yield the roles of a variant, the destination first. `at` is the path of the variant."""
    yield RoleSpecAt(stages.DECODE.name, stages.DECODE, at, spec, engine_kinds.of(spec, spec))
    others = further(spec)
    for stage in STAGES.values():
        if stage.key in others:
            role = others[stage.key]
            yield RoleSpecAt(stage.name, stage, at / stage.key, role, engine_kinds.of(spec, role))
