"""Check that the cluster serves every kind that a stack needs.

A preview does not notice that a CRD is missing. An update then fails halfway, after a minute of retries.
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


def _remedy(kind: str) -> str:
    """Return what to install so that the cluster serves a kind."""
    for bundle in tables.read(_Bundles, "bundles.yaml").bundles:
        if kind in bundle.kinds:
            return f"install {bundle.name} {bundle.version}: {bundle.install}"
    minimum = _SINCE.get(kind, _MIN_VERSION)
    return f"Kubernetes {minimum} or newer does"
