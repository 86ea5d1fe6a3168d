"""The metrics that autoscalers follow are asked of the cluster."""

from pathlib import Path

import yaml

from composition import Composition, Live, compose
from tests.support.cluster import loopback
from tests.support.stacks import NAME, lines, tree

METRICS = [{"type": "queue-size", "target": 5}, {"type": "running-requests", "target": 9}]
SCALED = {"autoscaling": {"type": "hpa", "maxReplicas": 3, "metrics": METRICS}}


def offering(*metrics):
    """Answer as an API server does whose metrics adapter offers metrics by `resource/name`."""
    parents = dict.fromkeys(metric.partition("/")[0] for metric in metrics)
    resources = [
        {
            "resource": parent,
            "responseKind": {"group": "", "version": "", "kind": ""},
            "subresources": [
                {"subresource": name, "responseKind": {"group": "", "version": "v1", "kind": "MetricValueList"}}
                for place, _, name in (metric.partition("/") for metric in metrics)
                if place == parent
            ],
        }
        for parent in parents
    ]
    group = {
        "metadata": {"name": "custom.metrics.k8s.io"},
        "versions": [{"version": "v1beta1", "resources": resources}],
    }
    served = loopback.discovery(("apps", "v1", "Deployment"))["items"]
    return {"/api": loopback.discovery(("", "v1", "Service")), "/apis": {"items": [*served, group]}}


def told(*metrics):
    stack = {key: value for key, value in tree(qwen=SCALED).items() if key != "gateway"}
    with loopback.serve(offering(*metrics)) as server:
        context = {"name": "here", "context": {"cluster": "one", "user": "me"}}
        clusters = [{"name": "one", "cluster": {"server": server.url}}]
        users = [{"name": "me", "user": {"token": "right"}}]
        kubeconfig = {"current-context": "here", "contexts": [context], "clusters": clusters, "users": users}
        composed = compose(stack, Live(yaml.safe_dump(kubeconfig), Path()), NAME)
    assert isinstance(composed, Composition)
    return [line for line in lines(composed.preflight, "warning") if line.startswith("services.qwen.autoscaling")]


def test_a_metric_that_the_cluster_offers_for_namespaces_alone_is_told():
    """See defects A14."""
    (line,) = told("namespaces/vllm_num_requests_waiting", "pods/vllm_num_requests_running")
    assert line.startswith(
        "services.qwen.autoscaling.metrics[0]: the cluster offers vllm_num_requests_waiting of namesp"
    )


def test_metrics_that_the_cluster_offers_for_pods_are_not_told():
    assert told("pods/vllm_num_requests_waiting", "pods/vllm_num_requests_running") == []
