"""Checks of the cluster: that it serves every kind that a stack needs, in a version that has all of its fields.

A preview does not notice that a CRD is missing. An update then fails halfway, after a minute of retries. Nor does it
notice that the API server drops fields which an older CRD does not have.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import Field

from models.base import Spec
from models.paths import Path
from models.problems import Problem, warning
from models.stack import Stack
from planning.ground import gateways, tables
from planning.ground.api_groups import CLAIM_TEMPLATE_API
from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.releases import channel

_CILIUM = "cilium.io/"
"""First part of Cilium's API versions. Its network does not match nodes by address (Cilium, Network Policy, CIDR
based, `policy-cidr-match-mode`)."""
_MIN_VERSION = "1.30"
_SINCE = {f"{CLAIM_TEMPLATE_API}/ResourceClaimTemplate": "1.34"}
"""First Kubernetes version that serves a kind, for kinds that need a newer version than `_MIN_VERSION`."""


class Bundle(Spec):
    """A set of CRDs that are installed together."""

    name: str
    version: str
    """Version of the software that provides the kinds."""
    install: str
    """Command that installs the CRDs."""
    kinds: list[str]
    """Kinds as `apiVersion/Kind`."""
    definition: str | None = None
    """Name of a CRD that says in an annotation which version of the bundle is installed; None if none does."""
    source: str


class _Bundles(Spec):
    bundles: list[Bundle] = Field(default=[])


def kinds(required: Iterable[str], facts: ClusterFacts, mode: Literal["strict", "warn", "skip"]) -> list[Problem]:
    """Return a problem for every kind (`apiVersion/Kind`) that a stack needs and the cluster does not serve.

    If the kinds of the cluster are unknown, the result is a warning that nothing was checked.
    """
    names = sorted(set(required))
    if mode == "skip":
        return []
    if isinstance(facts.apis, Unknown):
        what = f"whether the cluster serves {', '.join(names)} went unchecked: {facts.apis.reason}"
        return [warning(Path(), what)]
    severity = "error" if mode == "strict" else "warning"
    what = "the cluster does not serve it"
    missing = (kind for kind in names if kind not in facts.apis.kinds)
    return [Problem(Path(kind), what, _remedy(kind), severity=severity) for kind in missing]


def bundles(release: str, facts: ClusterFacts, mode: Literal["strict", "warn", "skip"]) -> list[Problem]:
    """Return a problem for every CRD in the cluster that is older than a release channel requires.

    If the versions are unknown, the result is a warning that nothing was checked.
    """
    if mode == "skip" or isinstance(facts.apis, Unknown):
        return []
    if isinstance(facts.bundles, Unknown):
        return [warning(Path(), f"whether the cluster's CRDs are new enough went unchecked: {facts.bundles.reason}")]
    severity = "error" if mode == "strict" else "warning"
    minimums = {requirement.group: requirement.version for requirement in channel(release).requirements.of_definitions}
    problems = list[Problem]()
    for bundle in all_bundles():
        installed = facts.bundles.bundles.get(bundle.definition or "", "")
        minimum = minimums.get((bundle.definition or "").partition(".")[2], "")
        if gateways.numbers(installed) and gateways.numbers(installed) < gateways.numbers(minimum):
            what = f"is of {bundle.name} {installed}, and release {release} needs {minimum} or newer"
            problems.append(Problem(Path(bundle.definition or ""), what, _installation(bundle), severity=severity))
    return problems


def addresses(stack: Stack, facts: ClusterFacts) -> Iterator[Problem]:
    """Yield a warning if the cluster's network may not match the API server by the addresses of `apiServerCIDRs`."""
    spec = stack.network_policies
    if spec is None or not spec.api_server_cidrs or isinstance(facts.apis, Unknown):
        return
    if any(kind.startswith(_CILIUM) for kind in facts.apis.kinds):
        what = (
            "may not match the API server: Cilium, which this cluster has, matches no node and no API server by address"
        )
        remedy = "remove it, or set Cilium's policy-cidr-match-mode to nodes"
        yield warning(Path("networkPolicies", "apiServerCIDRs"), what, remedy)


def versioned_definitions() -> tuple[str, ...]:
    """Return the names of the CRDs that say which version of their bundle is installed."""
    return tuple(bundle.definition for bundle in all_bundles() if bundle.definition is not None)


def all_bundles() -> list[Bundle]:
    """Return every bundle."""
    return tables.read(_Bundles, "bundles.yaml").bundles


def _remedy(kind: str) -> str:
    """Return what to install so that the cluster serves a kind."""
    for bundle in all_bundles():
        if kind in bundle.kinds:
            return _installation(bundle)
    minimum = _SINCE.get(kind, _MIN_VERSION)
    return f"Kubernetes {minimum} or newer does"


def _installation(bundle: Bundle) -> str:
    return f"install {bundle.name} {bundle.version}: {bundle.install}"
