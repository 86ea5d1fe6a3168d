"""The objects by which metrics are scraped: monitors of pods and picker, and who may read the picker's metrics."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from manifests import about, rbac
from manifests.objects import Manifest, Rendered, compact, metadata
from planning.ground import labels, parts
from planning.network.monitoring import LABEL, PICKER_PATH, Monitoring, Scrape
from planning.plans import VariantPlan

_OPERATOR = "monitoring.coreos.com/v1"
_NAME = "app.kubernetes.io/name"
_TOKEN_KEY = "token"  # noqa: S105, the key that Kubernetes writes the token under


def of_pods(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the monitors of the serving pods, role by role."""
    monitoring = variant.monitoring
    if monitoring is None:
        return
    for workload in variant.roles:
        scrape = monitoring.roles.get(workload.role)
        if scrape is None:
            continue
        named = _found(variant, monitoring, about.MODEL_SERVER, workload.name)
        selector = labels.role_selector(variant.names, workload.role)
        if monitoring.type == "gmp":
            manifest = _pod_monitoring(named, selector, scrape, None)
        else:
            manifest = _pod_monitor(named, selector, scrape)
        yield about.rendered(variant, parts.ROLES[workload.role].monitor, manifest)


def of_picker(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the monitor of the picker, after the identity that it asks with."""
    monitoring = variant.monitoring
    if monitoring is None or monitoring.picker is None:
        return
    if monitoring.authenticated:
        yield from _reader(variant)
        if monitoring.token_readers:
            yield from _collector(variant, monitoring.token_readers)
    manifest = _picker_monitor(variant, monitoring, monitoring.picker)
    yield about.rendered(variant, parts.PICKER_MONITOR, manifest)


def _found(variant: VariantPlan, monitoring: Monitoring, component: str, name: str) -> dict[str, Any]:
    """Return the metadata of a monitor, with the labels by which the scraper finds it."""
    marks = about.marks(variant, component, beneath=monitoring.labels)
    return metadata(name, variant.names.namespace, marks, variant.own_annotations)


def _reader(variant: VariantPlan) -> Iterator[Rendered]:
    """Render an identity of the scraper's own, which may get /metrics and nothing else.

    A scraper knows tokens from Secrets only, and one lasts as long as its Secret: so it must not be the picker's.
    """
    own = variant.names
    named = about.of(variant, about.PICKER, own.metrics_reader)
    account = {**rbac.service_account(named), "automountServiceAccountToken": False}
    yield about.rendered(variant, parts.METRICS_READER, account)
    yield about.rendered(variant, parts.METRICS_READER_TOKEN, _token(variant, named))
    everywhere = about.everywhere(variant, about.PICKER, own.metrics_reader_cluster_scoped)
    role = rbac.cluster_role(everywhere, [{"nonResourceURLs": [PICKER_PATH], "verbs": ["get"]}])
    yield about.rendered(variant, parts.METRICS_READER_ROLE, role)
    subjects = [rbac.subject(own.metrics_reader, own.namespace)]
    binding = rbac.cluster_role_binding(everywhere, own.metrics_reader_cluster_scoped, subjects)
    yield about.rendered(variant, parts.METRICS_READER_BINDING, binding)


def _token(variant: VariantPlan, named: Mapping[str, Any]) -> Manifest:
    annotations = {**variant.own_annotations, "kubernetes.io/service-account.name": variant.names.metrics_reader}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**named, "annotations": annotations},
        "type": "kubernetes.io/service-account-token",
    }


def _collector(variant: VariantPlan, readers: Iterable[tuple[str, str]]) -> Iterator[Rendered]:
    """Let a scraper that may read no Secrets by itself read the token."""
    name = variant.names.metrics_reader
    named = about.of(variant, about.PICKER, name)
    rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [name], "verbs": ["get", "list", "watch"]}
    yield about.rendered(variant, parts.TOKEN_ROLE, rbac.role(named, [rule]))
    subjects = [rbac.subject(account, namespace) for namespace, account in readers]
    binding = rbac.role_binding(named, name, subjects)
    yield about.rendered(variant, parts.TOKEN_ROLE_BINDING, binding)


def _picker_monitor(variant: VariantPlan, monitoring: Monitoring, scrape: Scrape) -> Manifest:
    own = variant.names
    named = _found(variant, monitoring, about.PICKER, own.picker)
    selector, secret = labels.picker_selector(own), own.metrics_reader if monitoring.authenticated else None
    if monitoring.type == "gmp":
        return _pod_monitoring(named, selector, scrape, secret)
    credentials = None if secret is None else {"credentials": {"name": secret, "key": _TOKEN_KEY}}
    endpoint = compact({**_endpoint(scrape, "service"), "authorization": credentials})
    spec = {"selector": {"matchLabels": selector}, "endpoints": [endpoint]}
    return {"apiVersion": _OPERATOR, "kind": "ServiceMonitor", "metadata": named, "spec": spec}


def _pod_monitor(named: Mapping[str, Any], selector: Mapping[str, str], scrape: Scrape) -> Manifest:
    spec = {"selector": {"matchLabels": selector}, "podMetricsEndpoints": [_endpoint(scrape, "pod")]}
    return {"apiVersion": _OPERATOR, "kind": "PodMonitor", "metadata": named, "spec": spec}


def _endpoint(scrape: Scrape, found_by: str) -> dict[str, Any]:
    """Render what the operator of Prometheus is told of a port, which it finds by a Service or a pod."""
    source = f"__meta_kubernetes_{found_by}_label_app_kubernetes_io_name"
    relabeling = {"action": "replace", "sourceLabels": [source], "targetLabel": LABEL}
    encrypted = {"scheme": "https", "tlsConfig": {"insecureSkipVerify": True}} if scrape.tls else {}
    return {**_where(scrape), **encrypted, "relabelings": [relabeling]}


def _pod_monitoring(
    named: Mapping[str, Any], selector: Mapping[str, str], scrape: Scrape, secret: str | None
) -> Manifest:
    encrypted = {"scheme": "https", "tls": {"insecureSkipVerify": True}} if scrape.tls else {}
    authorization = None if secret is None else {"credentials": {"secret": {"name": secret, "key": _TOKEN_KEY}}}
    return {
        "apiVersion": "monitoring.googleapis.com/v1",
        "kind": "PodMonitoring",
        "metadata": named,
        "spec": {
            "selector": {"matchLabels": selector},
            "endpoints": [compact({**_where(scrape), **encrypted, "authorization": authorization})],
            "targetLabels": {"fromPod": [{"from": _NAME, "to": LABEL}]},
        },
    }


def _where(scrape: Scrape) -> dict[str, str]:
    return {"port": scrape.port, "path": scrape.path, "interval": scrape.interval}
