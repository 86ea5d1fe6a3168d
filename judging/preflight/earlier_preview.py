"""Comparison of a cluster with an earlier facts file, such as the file of an approved preview."""

from collections.abc import Iterator, Mapping
from typing import Any

from models.config_keys import PREVIEWED
from models.paths import Path
from models.problems import Problem, warning
from planning.ground.cluster_facts import PARTS, ClusterFacts, Gateways, LiveRoute, Routes, Served, Unknown
from planning.ground.differences import differences
from planning.ground.inventory import Metered, Namespaces, PriorityClasses, Secrets, StorageClasses
from planning.ground.marks import Identity, Verdict
from planning.ground.needs import NameReference, Needs

FILE = Path(PREVIEWED)
"""Key that names the file with earlier facts."""
_REMEDY = "name a file that python -m cli facts wrote"
_OTHER = Unknown("it is not compared")


def judge(earlier: ClusterFacts | None, facts: ClusterFacts, needs: Needs, identity: Identity) -> Iterator[Problem]:
    """Yield a warning for each difference between earlier facts and present facts that concerns a stack.

    The compared objects are those that the stack needs, and routes and metered Services of others. Facts that are
    unknown in `earlier` or `facts` are not compared.
    """
    if earlier is None:
        return
    if isinstance(earlier.apis, Unknown):
        yield warning(FILE, earlier.apis.reason, _REMEDY)
    elif not isinstance(facts.apis, Unknown):
        before, after = (
            dict((*_narrow(reading, needs, identity), *_narrow_references(reading, needs, identity)))
            for reading in (earlier, facts)
        )
        known = before.keys() & after.keys()
        for line in differences(*(_only({name: parts[name] for name in known}) for parts in (before, after))):
            yield warning(FILE, f"the cluster has changed since this file was written ({line})")


def _only(parts: Mapping[str, Any]) -> ClusterFacts:
    """Return facts with these fields. All other fields are unknown."""
    others: dict[str, Any] = dict.fromkeys(PARTS, _OTHER)
    return ClusterFacts(**{**others, **parts})


def _narrow(facts: ClusterFacts, needs: Needs, identity: Identity) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the known facts about kinds, Gateways, routes and bundles.

    Objects that do not concern the stack are left out.
    """
    if not isinstance(facts.apis, Unknown):
        yield "apis", Served(facts.apis.kinds & needs.kinds)
    if not isinstance(facts.gateways, Unknown):
        yield "gateways", Gateways(tuple(live for live in facts.gateways.gateways if live.ref in needs.gateways))
    if not isinstance(facts.routes, Unknown):
        yield "routes", Routes(tuple(route for route in facts.routes.routes if _is_beside(route, needs, identity)))
    if not isinstance(facts.bundles, Unknown):
        yield "bundles", facts.bundles


def _narrow_references(facts: ClusterFacts, needs: Needs, identity: Identity) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the known facts about namespaces, Secrets, metered Services and classes.

    Objects that do not concern the stack are left out.
    """
    if not isinstance(facts.namespaces, Unknown):
        live = facts.namespaces.namespaces
        names = needs.namespaces - needs.created
        yield "namespaces", Namespaces({name: live[name] for name in live.keys() & names})
    if not isinstance(facts.secrets, Unknown):
        places = {(reference.namespace, reference.name) for reference in needs.secrets}
        yield "secrets", Secrets(tuple(place for place in facts.secrets.secrets if place in places))
    if not isinstance(facts.metered, Unknown):
        others = (service for service in facts.metered.metered if service.namespace in needs.metered)
        yield "metered", Metered(tuple(other for other in others if identity.verdict(other.mark) is not Verdict.OURS))
    if not isinstance(facts.storage_classes, Unknown):
        classes = _classes(facts.storage_classes.storage_classes, needs.storage_classes)
        yield "storage_classes", StorageClasses(classes)
    if not isinstance(facts.priority_classes, Unknown):
        classes = _classes(facts.priority_classes.priority_classes, needs.priority_classes)
        yield "priority_classes", PriorityClasses(classes)


def _is_beside(route: LiveRoute, needs: Needs, identity: Identity) -> bool:
    """Tell whether a route does not belong to the stack, but is attached to a Gateway that the stack uses."""
    is_attached = any(parent.gateway in needs.gateways for parent in route.parents)
    return is_attached and identity.verdict(route.mark) is not Verdict.OURS


def _classes(classes: Mapping[str, bool], references: tuple[NameReference, ...]) -> dict[str, bool]:
    """Return the classes that references name. A reference without a name refers to the default class."""
    names = {reference.name for reference in references}
    return {name: is_default for name, is_default in classes.items() if name in names or ("" in names and is_default)}
