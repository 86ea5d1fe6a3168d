"""Sections that inherit: what a section has to state so that it has certain values and no others."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from models.flags import parse

_ENTRIES = frozenset({"claims", "containers", "env", "initContainers", "volumes"})
"""Mappings whose entries are removed as a whole."""
_WHOLE = frozenset({"affinity", "encode", "prefill", "privileges", "sidecar"})
"""Mappings that are removed as a whole."""
_VARIABLES = "env"
"""Mapping whose entries are replaced as a whole."""
_NUMBERS = frozenset({"autoscaling", "replicas"})
"""Keys that no section inherits."""
_ENGINE = "engine"
_ARGUMENTS = "args"
_WITHOUT = "withoutArgs"


def differing(inherited: Mapping[str, Any], target: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    """Return what a section states to have the values of `target`, if it inherits those of `inherited`.

    null removes an inherited value. Neither mapping changes. `name` is the key of the section.
    """
    stated = dict[str, Any]()
    for key, value in target.items():
        if key in _NUMBERS or key not in inherited:
            stated[key] = value
        elif isinstance(value, dict) and isinstance(inherited[key], dict) and name != _VARIABLES:
            below = _below(key, inherited[key], cast("dict[str, Any]", value))
            if below:
                stated[key] = below
        elif value != inherited[key]:
            stated[key] = value
    for key, value in inherited.items():
        if key not in target and key not in _NUMBERS and value is not None:
            removal = None if name in _ENTRIES else _removal(key, value)
            if removal != {}:
                stated[key] = removal
    return stated


def without_arguments(inherited: Sequence[str], target: Sequence[str]) -> list[str]:
    """Return the flags that only the inherited arguments have, in their order."""
    names = {flag.switch for flag in parse(target)}
    switches = dict.fromkeys(flag.switch for flag in parse(inherited) if flag.name)
    return [switch for switch in switches if switch not in names]


def _below(key: str, inherited: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a mapping under a key states. A mapping with another type replaces the inherited one."""
    if inherited.get("type") != target.get("type") and key != _ENGINE:
        return dict(target)
    stated = differing(inherited, target, key)
    arguments = target.get(_ARGUMENTS)
    if key == _ENGINE and arguments and inherited.get(_ARGUMENTS):
        without = [*without_arguments(inherited[_ARGUMENTS], arguments), *target.get(_WITHOUT, ())]
        if without:
            stated[_WITHOUT] = list(dict.fromkeys(without))
    return stated


def _removal(key: str, value: object) -> object:
    """Return what removes an inherited value: null, or a mapping with null for each of its values."""
    if not isinstance(value, dict) or key in _WHOLE or "type" in value:
        return None
    entries = cast("dict[str, Any]", value)
    if key in _ENTRIES:
        return dict.fromkeys(entries)
    return {name: _removal(name, inner) for name, inner in entries.items() if inner is not None}
