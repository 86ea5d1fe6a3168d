"""Checks of what a stack needs from the cluster: kinds, new enough CRDs, metrics and addresses.

A preview does not notice that a CRD is missing. The update then fails halfway, after a minute of retries. If a CRD is
too old, the API server drops the fields that the CRD lacks, and a preview does not notice this, either. An autoscaler
whose metric is missing never changes the number of replicas.
"""

from collections.abc import Iterable, Iterator

from models.paths import Path
from models.problems import SEVERITIES, Mode, Problem, gap, warning
from models.stack import Stack
from planning.ground import gateways
from planning.ground.api_groups import CLAIM_TEMPLATE_API, METRICS_GROUP
from planning.ground.bundles import Bundle, all_bundles
from planning.ground.cluster_facts import ClusterFacts, OfferedMetrics, Unknown
from planning.plans import StackPlan, VariantPlan
from planning.releases import channel
from planning.serving.autoscaling import Autoscaler, EngineLoad, PickerLoad, UserMetric

_CILIUM = "cilium.io/"
"""First part of Cilium's API versions. By default, an address in a network policy matches no node in Cilium's network
(Cilium, Network Policy, CIDR based, `policy-cidr-match-mode`)."""
_MIN_VERSION = "1.30"
_SINCE = {f"{CLAIM_TEMPLATE_API}/ResourceClaimTemplate": "1.34"}
"""First Kubernetes version that serves a kind. Only kinds that `_MIN_VERSION` does not serve are listed."""


def kinds(required: Iterable[str], facts: ClusterFacts, mode: Mode) -> list[Problem]:
    """Return a problem for every kind (`apiVersion/Kind`) that a stack needs and the cluster does not serve.

    If the kinds of the cluster are unknown, the result is a warning that nothing was checked.
    """
    names = sorted(set(required))
    if mode == "skip":
        return []
    if isinstance(facts.apis, Unknown):
        return [gap(Path(), f"whether the cluster serves {', '.join(names)}", facts.apis.reason)]
    what = "the cluster does not serve it"
    missing = (kind for kind in names if kind not in facts.apis.kinds)
    return [Problem(Path(kind), what, _remedy(kind), severity=SEVERITIES[mode]) for kind in missing]


def bundles(plan: StackPlan, facts: ClusterFacts, mode: Mode) -> list[Problem]:
    """Return a problem for every CRD in the cluster that is older than the stack needs.

    If the versions are unknown, the result is a warning that nothing was checked. If the version of a CRD is no number,
    the result contains a warning about this CRD.
    """
    if mode == "skip" or isinstance(facts.apis, Unknown):
        return []
    if isinstance(facts.bundles, Unknown):
        return [gap(Path(), "whether the cluster's CRDs are new enough", facts.bundles.reason)]
    minimums = _minimum_versions(plan)
    problems = list[Problem]()
    for bundle in all_bundles():
        installed = facts.bundles.bundles.get(bundle.definition or "", "")
        minimum, purpose = minimums.get((bundle.definition or "").partition(".")[2], ("", ""))
        if installed and minimum and not gateways.numbers(installed):
            reason = f"its version is no number ({installed})"
            problems.append(gap(Path(bundle.definition or ""), f"whether it is new enough for {purpose}", reason))
        elif installed and gateways.numbers(installed) < gateways.numbers(minimum):
            what = f"comes from {bundle.name} {installed}, but {purpose} needs {minimum} or newer"
            at = Path(bundle.definition or "")
            problems.append(Problem(at, what, _installation(bundle), severity=SEVERITIES[mode]))
    return problems


def _minimum_versions(plan: StackPlan) -> dict[str, tuple[str, str]]:
    """Return the minimum version of the CRDs of each API group, with words for what needs this version.

    If variants have several release channels, the highest of their minimum versions counts.
    """
    minimums = dict[str, tuple[str, str]]()
    variants = [variant for service in plan.services for variant in service.variants]
    for variant in sorted(variants, key=lambda variant: variant.release):
        for group, minimum in _minimum_versions_of(variant).items():
            highest = minimums.setdefault(group, minimum)
            if gateways.numbers(minimum[0]) > gateways.numbers(highest[0]):
                minimums[group] = minimum
    return minimums


def _minimum_versions_of(variant: VariantPlan) -> dict[str, tuple[str, str]]:
    requirements = channel(variant.release).requirements
    minimums = {item.group: (item.version, f"release {variant.release}") for item in requirements.of_definitions}
    if variant.endpoint_picker is None:
        del minimums[requirements.inference_pool.group]
    elif len(variant.target_ports) > 1:
        ports = requirements.pool_ports
        minimums[ports.group] = ports.version, "a pool with several ports"
    return minimums


def addresses(stack: Stack, facts: ClusterFacts) -> Iterator[Problem]:
    """Yield a warning if the cluster has Cilium's network, in which `apiServerCIDRs` may not match the API server."""
    spec = stack.network_policies
    if spec is None or not spec.api_server_cidrs or isinstance(facts.apis, Unknown):
        return
    if any(kind.startswith(_CILIUM) for kind in facts.apis.kinds):
        what = (
            "may not match the API server: Cilium in this cluster matches neither nodes nor the API server by address"
        )
        remedy = "remove it, or set Cilium's policy-cidr-match-mode to nodes"
        yield warning(Path("networkPolicies", "apiServerCIDRs"), what, remedy)


def _remedy(kind: str) -> str:
    """Return the remedy for a kind that the cluster does not serve."""
    for bundle in all_bundles():
        if kind in bundle.kinds:
            return _installation(bundle)
    minimum = _SINCE.get(kind, _MIN_VERSION)
    return f"upgrade to Kubernetes {minimum} or newer"


def metrics(plan: StackPlan, facts: ClusterFacts, mode: Mode) -> list[Problem]:
    """Return a warning for every metric that an autoscaler asks for and the cluster does not offer.

    A missing metric is never an error, because an adapter offers a metric only after pods have reported it.
    """
    offered = facts.metrics
    if mode == "skip" or isinstance(facts.apis, Unknown):
        return []
    autoscalers = [workload.autoscaler for service in plan.services for workload in service.workloads]
    needed = [item for autoscaler in autoscalers if autoscaler is not None for item in _object_metrics(autoscaler)]
    if isinstance(offered, Unknown):
        return [gap(at, f"whether the cluster offers {name} of {kind}", offered.reason) for at, kind, name in needed]
    return [
        _missing_metric(at, kind, name, offered) for at, kind, name in needed if f"{kind}/{name}" not in offered.metrics
    ]


def _object_metrics(autoscaler: Autoscaler) -> Iterator[tuple[Path, str, str]]:
    """Yield path, kind of object and name of each metric that a HorizontalPodAutoscaler asks for.

    An autoscaler with KEDA asks the cluster for no metric, because KEDA asks Prometheus.
    """
    for index, metric in enumerate(autoscaler.metrics if autoscaler.keda is None else ()):
        at = autoscaler.path / "metrics" / index
        if isinstance(metric, EngineLoad):
            yield at, "pods", metric.metric.pod_metric
        elif isinstance(metric, PickerLoad):
            yield at, "services", metric.metric.series
        elif isinstance(metric, UserMetric) and metric.spec.get("type") == "Pods":
            yield at / "spec", "pods", metric.spec["pods"]["metric"]["name"]


def _missing_metric(at: Path, kind: str, name: str, offered: OfferedMetrics) -> Problem:
    """Return the warning about a metric that the cluster does not offer for a kind of object."""
    others = [metric.partition("/")[0] for metric in offered.metrics if metric.partition("/")[2] == name]
    place = "of no kind of object"
    if others:
        place = f"of {', '.join(others)} alone"
    what = f"the cluster offers {name} {place} ({METRICS_GROUP}), but the autoscaler asks for the metric of {kind}"
    remedy = "give the metrics adapter the rule in docs/run.md; an adapter offers only metrics that pods reported"
    return warning(at, what, remedy)


def _installation(bundle: Bundle) -> str:
    return f"install {bundle.name} {bundle.version}: {bundle.install}"
