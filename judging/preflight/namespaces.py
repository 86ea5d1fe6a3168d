"""Checks of namespaces: whether they exist, and whether those that a stack creates belong to somebody else."""

from collections.abc import Iterator, Mapping

from models.paths import Path
from models.problems import SEVERITIES, Mode, Problem, warning
from planning.ground import marks
from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.ground.inventory import LiveNamespace
from planning.ground.marks import Identity, Verdict
from planning.ground.needs import Needs

_CREATE = Path("namespaceOptions", "create")


def judge(
    needs: Needs, facts: ClusterFacts, origins: Mapping[str, Path], identity: Identity, mode: Mode
) -> Iterator[Problem]:
    """Yield a problem for every namespace that is missing, is being deleted, or would be created but belongs to others.

    Creating a namespace of others is a problem because the Kubernetes provider would take over the existing
    namespace. A later `destroy` would then delete this namespace and all objects in it. `origins` has the path of each
    namespace's name in the configuration.
    """
    if mode == "skip" or isinstance(facts.namespaces, Unknown):
        return
    for name in sorted(needs.namespaces):
        live = facts.namespaces.namespaces.get(name)
        if live is None:
            verdict = _missing(name, needs, origins)
        else:
            verdict = _verdict(name, live, needs, origins, identity)
        if verdict is not None:
            yield Problem(*verdict, severity=SEVERITIES[mode])
        elif live is not None and name in needs.created and _read(live, identity) is Verdict.UNMARKED:
            what = f"namespace {name} exists without the mark of a stack; this run takes it over"
            yield warning(_CREATE, what, "if it belongs to another stack, write create: false")


def _missing(name: str, needs: Needs, origins: Mapping[str, Path]) -> tuple[Path, str, str] | None:
    if name in needs.created:
        return None
    remedy = "create it, or write namespaceOptions: {create: true}"
    return origins[name], f"the cluster has no namespace of this name ({name})", remedy


def _verdict(
    name: str, live: LiveNamespace, needs: Needs, origins: Mapping[str, Path], identity: Identity
) -> tuple[Path, str, str] | None:
    if live.terminating:
        what = f"this namespace is being deleted ({name})"
        return origins[name], what, "wait until it is gone"
    if name not in needs.created or _read(live, identity) in {Verdict.OURS, Verdict.UNMARKED}:
        return None
    owner = marks.read(_metadata(live)).owner
    whose = "somebody else"
    if owner is not None:
        whose = f"stack {owner}"
    what = f"namespace {name} belongs to {whose}; destroying this stack would delete it and all its objects"
    return _CREATE, what, "write create: false, or choose another namespace"


def _read(live: LiveNamespace, identity: Identity) -> Verdict:
    return identity.verdict(marks.read(_metadata(live)))


def _metadata(live: LiveNamespace) -> Mapping[str, Mapping[str, str]]:
    return {"labels": live.labels, "annotations": live.annotations}
