"""Checks that the cluster serves every kind that a stack needs.

A missing CRD is not seen by a preview, and fails a deployment half-way after a minute of retries; so it is found here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from models.base import Spec
from planning.ground import tables
from planning.ground.cluster_facts import ClusterFacts, Unknown

_LEAST = "1.30"
_SINCE = {"resource.k8s.io/v1/ResourceClaimTemplate": "1.34"}
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


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found; errors stop before anything is registered."""

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def kinds(needed: Iterable[str], facts: ClusterFacts, mode: Literal["strict", "warn", "skip"]) -> Verdict:
    """Compare the kinds that a stack needs (`apiVersion/Kind`) with those that the cluster serves.

    What could not be read is never taken for absent: it is a warning that says what went unchecked.
    """
    wanted = sorted(set(needed))
    if mode == "skip":
        return Verdict()
    if isinstance(facts.apis, Unknown):
        unchecked = f"whether the cluster serves {', '.join(wanted)} went unchecked: {facts.apis.reason}"
        return Verdict(warnings=(unchecked,))
    missing = tuple(_missing(kind) for kind in wanted if kind not in facts.apis.kinds)
    return Verdict(errors=missing) if mode == "strict" else Verdict(warnings=missing)


def _missing(kind: str) -> str:
    for bundle in tables.read(_Bundles, "bundles.yaml").bundles:
        if kind in bundle.kinds:
            return f"{kind}: the cluster does not serve it; install {bundle.name} {bundle.version}: {bundle.install}"
    minimum = _SINCE.get(kind, _LEAST)
    return f"{kind}: the cluster does not serve it; Kubernetes {minimum} or newer does"
