"""Names of the checks that could not be made, because a read failed or was not allowed."""

from collections.abc import Iterator

from models.paths import Path
from models.problems import Problem, warning
from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.ground.needs import Needs
from planning.preflight.severity import Mode


def unchecked(needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
    """Yield a warning for each reason for which facts are unknown, with all that it leaves unchecked."""
    if mode == "skip":
        return
    by_reason = dict[str, list[str]]()
    for part, what in _questions(needs):
        fact = getattr(facts, part)
        if isinstance(fact, Unknown):
            by_reason.setdefault(fact.reason, []).append(what)
    for reason, questions in by_reason.items():
        yield warning(Path(), f"whether {_enumeration(questions)} went unchecked: {reason}")


def _questions(needs: Needs) -> Iterator[tuple[str, str]]:
    """Yield part of the facts and text of each question that a stack has."""
    if needs.namespaces:
        what = "exist, are not somebody else's and admit the pods"
        yield "namespaces", f"namespaces ({', '.join(sorted(needs.namespaces))}) {what}"
    if needs.gateways:
        gateways = ", ".join(sorted(map(str, needs.gateways)))
        yield "gateways", f"listeners of {gateways} admit the routes"
    if needs.secrets:
        namespaces = ", ".join(sorted({reference.namespace for reference in needs.secrets}))
        yield "secrets", f"the Secrets that pods need exist ({len(needs.secrets)} in {namespaces})"
    if needs.storage_classes:
        names = sorted({reference.name or "the default" for reference in needs.storage_classes})
        yield "storage_classes", f"StorageClasses exist ({', '.join(names)})"
    if needs.priority_classes:
        names = sorted({reference.name for reference in needs.priority_classes})
        yield "priority_classes", f"PriorityClasses exist ({', '.join(names)})"


def _enumeration(questions: list[str]) -> str:
    *others, last = questions
    return f"{', '.join(others)} and {last}" if others else last
