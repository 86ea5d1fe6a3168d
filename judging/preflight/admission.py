"""Check of pods against the Pod Security levels of their namespaces."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from models.problems import SEVERITIES, Mode, Problem
from planning.ground import labels
from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.ground.inventory import LiveNamespace
from planning.ground.needs import RESTRICTED, Needs

_MINOR = re.compile(r"v1\.(\d+)")


class _Policy(NamedTuple):
    """Rules of Pod Security that a namespace enforces on its pods."""

    level: str
    minor: int | None
    """Minor version of Kubernetes whose rules apply; None for the newest rules."""


def judge(needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
    """Yield a problem for each group of pods that is not admitted at the Pod Security level of the pods' namespace.

    The API server accepts a workload with such pods, but the pods are never created. A namespace without a level has
    the cluster's default level. No object contains this default, so pods of such a namespace are not checked. Of a
    namespace that the stack creates, only settings are left that the newest version of Kubernetes admits.
    """
    if mode == "skip" or isinstance(facts.namespaces, Unknown):
        return
    version = None
    if facts.origin is not None:
        version = minor(facts.origin.version)
    for pods in needs.pods:
        live = facts.namespaces.namespaces.get(pods.namespace)
        is_created = pods.namespace in needs.created
        if is_created:
            policy = _Policy(RESTRICTED, version)
        else:
            policy = _namespace_policy(live, version)
        refused = ()
        if policy is not None:
            refused = pods.refusals(policy.level, policy.minor)
        if policy is None or not refused:
            continue
        newest = ""
        if pods.refusals(policy.level, None) != refused:
            newest = f" of Kubernetes 1.{policy.minor}"
        place = f"namespace {pods.namespace}, whose level is {policy.level}{newest} ({', '.join(refused)})"
        what = f"pods of {pods.pods_of} are not admitted in {place}"
        label = f"{labels.POD_SECURITY_LEVEL}: {pods.level(policy.minor)}"
        remedy = "write namespaceOptions: {create: false}"
        if not is_created:
            remedy = f"set {label} on the namespace"
        yield Problem(pods.section, what, f"remove these settings, or {remedy}", severity=SEVERITIES[mode])


def _namespace_policy(live: LiveNamespace | None, version: int | None) -> _Policy | None:
    """Return the policy of a namespace; None if its labels state no level. `version` is that of the cluster."""
    if live is None or live.level is None:
        return None
    stated = minor(live.labels.get(labels.POD_SECURITY_VERSION))
    minors = [number for number in (stated, version) if number is not None]
    return _Policy(live.level, min(minors, default=None))


def minor(version: str | None) -> int | None:
    """Return the minor version of a version of Kubernetes such as `v1.36.3`; None if there is none."""
    match = _MINOR.match(version or "")
    if match is None:
        return None
    return int(match[1])
