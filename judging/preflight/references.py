"""Checks of references from pods and claims: whether their StorageClasses, PriorityClasses and Secrets exist."""

from collections.abc import Collection, Iterator, Mapping

from models.problems import SEVERITIES, Mode, Problem, warning
from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.ground.needs import NameReference, Needs

_MOST_NAMES = 6
"""Maximum number of classes that a message lists."""


def classes(needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
    """Yield a problem for every StorageClass and PriorityClass that the stack needs and the cluster does not have.

    A claim is never bound while its StorageClass is missing. Pods are refused while their PriorityClass is missing.
    """
    if mode == "skip":
        return
    if not isinstance(facts.storage_classes, Unknown):
        by_name = facts.storage_classes.storage_classes
        for reference in needs.storage_classes:
            if reference.name:
                yield from _missing("StorageClass", reference, by_name, mode)
            elif not any(by_name.values()):
                what = "takes the default StorageClass, but the cluster has none"
                remedy = f"set storageClassName to {_alternatives(by_name)}"
                yield Problem(reference.origin, what, remedy, severity=SEVERITIES[mode])
    if not isinstance(facts.priority_classes, Unknown):
        for reference in needs.priority_classes:
            by_name = facts.priority_classes.priority_classes
            yield from _missing("PriorityClass", reference, by_name, mode)


def secrets(needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
    """Yield a warning for every Secret that pods need and the cluster does not have.

    A missing Secret is never an error: somebody may create the Secret while pods wait, or after this run creates the
    namespace.
    The message does not contain the name of the Secret, because a user may have written a token instead of the name.
    """
    if mode == "skip" or isinstance(facts.secrets, Unknown):
        return
    for reference in needs.secrets:
        if (reference.namespace, reference.name) not in facts.secrets.secrets:
            what = f"namespace {reference.namespace} has no Secret of this name, and pods wait until the Secret exists"
            yield warning(reference.origin, what, "create it, or correct its name")


def _missing(kind: str, reference: NameReference, by_name: Collection[str], mode: Mode) -> Iterator[Problem]:
    if reference.name not in by_name:
        what = f"the cluster has no {kind} of this name ({reference.name})"
        remedy = f"create it, or write {_alternatives(by_name)}"
        yield Problem(reference.origin, what, remedy, severity=SEVERITIES[mode])


def _alternatives(by_name: Collection[str] | Mapping[str, object]) -> str:
    """Return the names that a user can write, as text."""
    names = sorted(by_name)
    more = ""
    if len(names) > _MOST_NAMES:
        more = f" and {len(names) - _MOST_NAMES} more"
    if names:
        return f"one of {', '.join(names[:_MOST_NAMES])}{more}"
    return "the name of a class that you create"
