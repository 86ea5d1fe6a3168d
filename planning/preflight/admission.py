"""Check of pods against the Pod Security levels of namespaces that a stack does not create."""

from collections.abc import Iterator

from models.paths import Path
from models.problems import Problem
from planning.ground import labels
from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.ground.needs import LEVELS, Needs
from planning.preflight.owners import Owners
from planning.preflight.severity import SEVERITIES, Mode


def levels(needs: Needs, facts: ClusterFacts, owners: Owners, mode: Mode) -> Iterator[Problem]:
    """Yield a problem for each group of pods that is not admitted at the Pod Security level of the pods' namespace.

    The API server accepts a workload with such pods, but the pods are never created. A namespace without a level has
    the cluster's default level. No object contains this default, so pods of such a namespace are not checked.
    """
    if mode == "skip" or isinstance(facts.namespaces, Unknown):
        return
    for pods in needs.pods:
        live = None if pods.namespace in needs.created else facts.namespaces.namespaces.get(pods.namespace)
        level = None if live is None else live.level
        if level in LEVELS and LEVELS.index(pods.level) < LEVELS.index(level):
            place = f"namespace {pods.namespace}, whose level is {level} ({', '.join(pods.causes)})"
            what = f"pods of {pods.pods_of} are not admitted in {place}"
            remedy = f"remove these settings, or set {labels.POD_SECURITY_LEVEL}: {pods.level} on the namespace"
            yield Problem(owners.paths.get(pods.owner, Path()), what, remedy, severity=SEVERITIES[mode])
