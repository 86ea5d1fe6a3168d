"""Problems of engines with published advisories that a stack meets; `checks.advisories` decides the severity."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from models.paths import Path
from models.problems import SEVERITIES, Problem, gap
from models.stack import Stack
from planning.advisories import table
from planning.advisories.table import Advisory, AdvisoryCondition
from planning.advisories.verdicts import Exposure
from planning.releases import engine_versions
from planning.variant.context import RoleContext

_RELEASE = Path("release")
_FLAG = re.compile(r"--[a-z-]+")
"""Pattern of a flag in a remedy."""


@dataclass(frozen=True, slots=True)
class _Exposed:
    """Roles with the same image, and the advisories that all of them meet by the same condition."""

    condition: AdvisoryCondition
    advisories: dict[str, Advisory]
    """The advisories by id."""
    roles: dict[Path, RoleContext]
    """The roles by path."""

    @property
    def first(self) -> RoleContext:
        """Return the first of the roles."""
        return next(iter(self.roles.values()))


def judge(stack: Stack, exposures: Collection[Exposure]) -> Iterator[Problem]:
    """Yield one problem for each image and each condition that roles with this image meet.

    An advisory that every service meets is reported of the release channel's own images only if the check is strict.
    Only a strict check reports engines whose version is unknown.
    """
    mode = stack.checks.advisories
    if mode == "skip":
        return
    for group in _groups(exposures, is_strict=mode == "strict"):
        dependencies = tuple(path for role in group.roles.values() for path in _dependencies(role))
        at = _path(group.first)
        yield Problem(at, _what(group), _remedy(group), dependencies, severity=SEVERITIES[mode])
    roles = [exposure.role for exposure in exposures]
    unknown = [str(role.path) for role in roles if not role.kind.vllm_tables or _version(role) is None]
    if mode == "strict" and unknown:
        reason = "no table says which version of vLLM their images hold"
        yield gap(Path("checks", "advisories"), "advisories of the engine", reason, unknown)


def _groups(exposures: Collection[Exposure], *, is_strict: bool) -> Iterator[_Exposed]:
    """Yield the roles that meet advisories, grouped by their image and by the condition that they meet."""
    groups = dict[tuple[str | bool | None, ...], _Exposed]()
    for exposure in exposures:
        role = exposure.role
        written = role.role.engine.image
        for advisory in exposure.met:
            if not is_strict and _is_of_release(role, advisory):
                continue
            condition = table.read().conditions[advisory.condition]
            key = (role.image, written, _has_own_release(role), advisory.condition, *advisory.words)
            group = groups.setdefault(key, _Exposed(condition, {}, {}))
            group.advisories[advisory.id] = advisory
            group.roles[role.path] = role
    yield from groups.values()


def _is_of_release(role: RoleContext, advisory: Advisory) -> bool:
    """Tell whether every service with the release channel's image meets an advisory, whatever else a team writes."""
    return role.role.engine.image is None and table.read().conditions[advisory.condition].general


def _path(role: RoleContext) -> Path:
    """Return the path of the value that decides the engine's image."""
    if role.role.engine.image is not None:
        return role.path / "engine" / "image"
    if _has_own_release(role):
        return role.variant.path / "release"
    return _RELEASE


def _has_own_release(role: RoleContext) -> bool:
    """Tell whether a service or a canary has a release channel of its own, which wins over the stack's."""
    return role.variant.spec.release is not None


def _what(group: _Exposed) -> str:
    """Return what is wrong: the roles, and each advisory with its effect, its severity and the version of its fix."""
    named = ", ".join(map(str, group.roles))
    verb = "meets"
    if len(group.roles) > 1:
        verb = "meet"
    noun = "a published advisory"
    if len(group.advisories) > 1:
        noun = f"{len(group.advisories)} published advisories"
    entries = ", ".join(
        f"{advisory.id} ({advisory.severity}, fixed in {advisory.fixed_in}: {advisory.summary})"
        for advisory in group.advisories.values()
    )
    version = _version(group.first)
    return f"gives vLLM {version}, and {named} {verb} {noun} for a service that {group.condition.about}: {entries}"


def _remedy(group: _Exposed) -> str:
    """Return the remedy: the first version without all of the advisories, or a change of the services.

    A change that names a flag is a remedy only if the engine knows the flag.
    """
    newest = max((advisory.fixed_in for advisory in group.advisories.values()), key=engine_versions.order)
    upgrade = f"set engine.image to an image with vLLM {newest} or newer"
    change = group.condition.remedy
    engine = group.first.engine_version
    if not change or engine is None or not all(map(engine.knows_flag, _FLAG.findall(change))):
        return upgrade
    return f"{upgrade}, or {change}"


def _version(role: RoleContext) -> str | None:
    """Return the version of vLLM in the image of a role; None if it is unknown."""
    if role.image is None:
        return None
    return engine_versions.number_in(role.image)


def _dependencies(role: RoleContext) -> tuple[Path, ...]:
    """Return the paths of the keys on which the advisories of a role depend."""
    variant = role.variant.path
    return role.path / "engine", role.path / "parallelism", variant / "model", variant / "kvCache"
