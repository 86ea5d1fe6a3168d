"""Warnings about checks that did not run, because facts could not be read."""

from collections.abc import Iterator

from models.paths import Path
from models.problems import Mode, Problem, gap
from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.ground.needs import Needs


def judge(needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
    """Yield one warning for each reason why facts are unknown. The warning lists the checks that did not run."""
    if mode == "skip":
        return
    by_reason = dict[str, list[str]]()
    for part, what in _subjects(needs):
        fact = getattr(facts, part)
        if isinstance(fact, Unknown):
            by_reason.setdefault(fact.reason, []).append(what)
    for reason, subjects in by_reason.items():
        yield gap(Path(), ", ".join(subjects), reason)


def _subjects(needs: Needs) -> Iterator[tuple[str, str]]:
    """Yield two texts for each need of a stack: the name of a field of `ClusterFacts`, and words for the objects."""
    if needs.namespaces:
        yield "namespaces", f"namespaces ({', '.join(sorted(needs.namespaces))})"
    if needs.gateways:
        yield "gateways", f"listeners of {', '.join(sorted(map(str, needs.gateways)))}"
    if needs.secrets:
        namespaces = ", ".join(sorted({reference.namespace for reference in needs.secrets}))
        yield "secrets", f"Secrets of pods ({len(needs.secrets)} in {namespaces})"
    if needs.metered:
        yield "metered", f"other metered Services ({', '.join(sorted(needs.metered))})"
    if needs.storage_classes:
        names = sorted({reference.name or "the default" for reference in needs.storage_classes})
        yield "storage_classes", f"StorageClasses ({', '.join(names)})"
    if needs.priority_classes:
        names = sorted({reference.name for reference in needs.priority_classes})
        yield "priority_classes", f"PriorityClasses ({', '.join(names)})"
    if needs.nodes:
        yield "nodes", "nodes"
    if needs.quotas:
        yield "quotas", f"quotas of {', '.join(sorted(needs.quotas))}"
    if needs.slices:
        yield "slices", "devices of nodes (ResourceSlices)"
