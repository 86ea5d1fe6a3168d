"""Checks that the cluster serves every kind that a stack needs.

A missing CRD is not seen by a preview, and fails a deployment half-way after a minute of retries; so it is found here.
"""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from models.base import Spec
from models.paths import Path
from models.problems import Problem, warning
from planning.ground import tables
from planning.ground.api_groups import CLAIM_TEMPLATE_API
from planning.ground.cluster_facts import ClusterFacts, Unknown

_LEAST = "1.30"
_SINCE = {f"{CLAIM_TEMPLATE_API}/ResourceClaimTemplate": "1.34"}
"""The Kubernetes version that first serves a kind, where that is not the least that everything else needs."""


class Bundle(Spec):
    """A set of CRDs that is installed together."""

    name: str
    version: str
    """The version whose kinds we use."""
    install: str
    """The command that installs it."""
    kinds: list[str]
    """`apiVersion/Kind`."""
    source: str


class _Bundles(Spec):
    bundles: list[Bundle] = Field(default=[])


def kinds(needed: Iterable[str], facts: ClusterFacts, mode: Literal["strict", "warn", "skip"]) -> list[Problem]:
    """Compare the kinds that a stack needs (`apiVersion/Kind`) with those that the cluster serves.

    What could not be read is never taken for absent: it is a warning that says what went unchecked.
    """
    wanted = sorted(set(needed))
    if mode == "skip":
        return []
    if isinstance(facts.apis, Unknown):
        unchecked = f"whether the cluster serves {', '.join(wanted)} went unchecked: {facts.apis.reason}"
        return [warning(Path(), unchecked)]
    severity = "error" if mode == "strict" else "warning"
    what = "the cluster does not serve it"
    missing = (kind for kind in wanted if kind not in facts.apis.kinds)
    return [Problem(Path(kind), what, _installed(kind), severity=severity) for kind in missing]


def _installed(kind: str) -> str:
    """Return what makes the cluster serve a kind."""
    for bundle in tables.read(_Bundles, "bundles.yaml").bundles:
        if kind in bundle.kinds:
            return f"install {bundle.name} {bundle.version}: {bundle.install}"
    minimum = _SINCE.get(kind, _LEAST)
    return f"Kubernetes {minimum} or newer does"
