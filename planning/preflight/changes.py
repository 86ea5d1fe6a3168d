"""Check of a cluster against an earlier facts file, such as that of the preview that was approved."""

from collections.abc import Iterator, Mapping
from typing import Any

from models.config_keys import PREVIEWED
from models.paths import Path
from models.problems import Problem, warning
from planning.ground.cluster_facts import PARTS, ClusterFacts, Gateways, LiveRoute, Routes, Served, Unknown
from planning.ground.differences import differences
from planning.ground.inventory import Namespaces, PriorityClasses, Secrets, StorageClasses
from planning.ground.marks import Identity, Verdict
from planning.ground.needs import Needs, Reference

EARLIER = Path(PREVIEWED)
"""Key that names the file with earlier facts."""
_REMEDY = "name a file that python -m cli facts wrote"
_OTHER = Unknown("it is not compared")


def changes(previewed: ClusterFacts | None, facts: ClusterFacts, needs: Needs, identity: Identity) -> Iterator[Problem]:
    """Yield a warning for everything that a stack needs and that is different from the facts of an earlier preview.

    The stack's own routes are left out. Facts that one of the readings lacks are not compared.
    """
    if previewed is None:
        return
    if isinstance(previewed.apis, Unknown):
        yield warning(EARLIER, previewed.apis.reason, _REMEDY)
    elif not isinstance(facts.apis, Unknown):
        readings = tuple(_needed(each, needs, identity) for each in (previewed, facts))
        known = set[str].intersection(*(set(parts) for parts in readings))
        before, after = (_only({name: parts[name] for name in known}) for parts in readings)
        for line in differences(before, after):
            yield warning(EARLIER, f"the cluster has changed since ({line})")


def _only(parts: Mapping[str, Any]) -> ClusterFacts:
    """Return facts with some parts alone."""
    others: dict[str, Any] = dict.fromkeys(PARTS, _OTHER)
    return ClusterFacts(**{**others, **parts})


def _needed(facts: ClusterFacts, needs: Needs, identity: Identity) -> dict[str, Any]:
    """Return the known parts of facts by name, without what a stack does not need."""
    narrowed: Mapping[str, Any] = {
        "apis": lambda part: Served(part.kinds & needs.kinds),
        "gateways": lambda part: Gateways(tuple(each for each in part.gateways if each.ref in needs.gateways)),
        "routes": lambda part: Routes(tuple(each for each in part.routes if _is_beside(each, needs, identity))),
        "bundles": lambda part: part,
        "namespaces": lambda part: Namespaces(_of(part.namespaces, needs.namespaces - needs.created)),
        "secrets": lambda part: Secrets(tuple(place for place in part.secrets if place in _places(needs))),
        "storage_classes": lambda part: StorageClasses(_classes(part.storage_classes, needs.storage_classes)),
        "priority_classes": lambda part: PriorityClasses(_classes(part.priority_classes, needs.priority_classes)),
    }
    parts = {name: getattr(facts, name) for name in narrowed}
    return {name: narrowed[name](part) for name, part in parts.items() if not isinstance(part, Unknown)}


def _is_beside(route: LiveRoute, needs: Needs, identity: Identity) -> bool:
    """Tell whether a route of somebody else is on a Gateway of the stack."""
    is_attached = any(parent.gateway in needs.gateways for parent in route.parents)
    return is_attached and identity.verdict(route.mark) is not Verdict.OURS


def _places(needs: Needs) -> set[tuple[str, str]]:
    return {(reference.namespace, reference.name) for reference in needs.secrets}


def _of(found: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: found[name] for name in found.keys() & names}


def _classes(found: Mapping[str, bool], references: tuple[Reference, ...]) -> dict[str, bool]:
    """Return the classes that references name. A reference without a name is to the default class."""
    names = {reference.name for reference in references}
    return {name: is_default for name, is_default in found.items() if name in names or ("" in names and is_default)}
