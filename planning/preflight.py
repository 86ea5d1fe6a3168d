"""Checks that the cluster has what a stack needs: every kind, and the metrics that its autoscalers follow.

A preview does not notice that a CRD is missing. An update then fails halfway, after a minute of retries. An autoscaler
without its metric leaves the number of replicas as it is.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import Field

from models.base import Spec
from models.paths import Path
from models.problems import Problem, warning
from planning.ground import tables
from planning.ground.api_groups import CLAIM_TEMPLATE_API, METRICS_GROUP
from planning.ground.cluster_facts import ClusterFacts, Metrics, Unknown
from planning.plans import StackPlan
from planning.serving.autoscaling import Autoscaler, Cpu, EngineLoad

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


def metrics(plan: StackPlan, facts: ClusterFacts, mode: Literal["strict", "warn", "skip"]) -> list[Problem]:
    """Return a warning for every metric of pods that an autoscaler follows and the cluster does not offer.

    It is never an error, because an adapter offers a metric only after pods have reported it.
    """
    offered = facts.metrics
    if mode == "skip" or isinstance(facts.apis, Unknown):
        return []
    autoscalers = [workload.autoscaler for service in plan.services for workload in service.workloads]
    needed = [item for autoscaler in autoscalers if autoscaler is not None for item in _pod_metrics(autoscaler)]
    if isinstance(offered, Unknown):
        what = "went unchecked"
        return [
            warning(at, f"whether the cluster offers {name} of pods {what}: {offered.reason}") for at, name in needed
        ]
    return [_missing_metric(at, name, offered) for at, name in needed if f"pods/{name}" not in offered.metrics]


def _pod_metrics(autoscaler: Autoscaler) -> Iterator[tuple[Path, str]]:
    """Yield path and name of each metric of pods that a HorizontalPodAutoscaler asks for. KEDA asks Prometheus."""
    for metric in autoscaler.metrics if autoscaler.keda is None else ():
        at = autoscaler.path / "metrics" / metric.at
        if isinstance(metric, EngineLoad):
            yield at, metric.metric.pod_metric
        elif not isinstance(metric, Cpu) and metric.spec.get("type") == "Pods":
            yield at / "spec", metric.spec["pods"]["metric"]["name"]


def _missing_metric(at: Path, name: str, offered: Metrics) -> Problem:
    """Return the warning about a metric of pods that the cluster does not offer."""
    others = [metric.partition("/")[0] for metric in offered.metrics if metric.partition("/")[2] == name]
    place = f"of {', '.join(others)} alone" if others else "of no kind of object"
    what = f"the cluster offers {name} {place} ({METRICS_GROUP}), and the autoscaler asks for that of pods"
    remedy = "give the metrics adapter the rule in docs/operations.md; it offers what running pods have reported"
    return warning(at, what, remedy)
