"""Scrapers select pods and pickers by their labels, and read tokens from a Secret."""

import pytest

from tests.support.stacks import find, rendered, tree

TYPES = {"prometheus-operator": ("PodMonitor", "ServiceMonitor"), "gke": ("PodMonitoring", "PodMonitoring")}


@pytest.mark.parametrize("kind", ["prometheus-operator"])
def test_monitors_select_the_pods_and_the_service_of_the_picker(kind):
    everything = rendered(tree() | {"observability": {"metrics": {"type": kind}}})
    of_pods, of_picker = TYPES[kind]
    labels = find(everything, "Deployment", "qwen-decode")["spec"]["template"]["metadata"]["labels"]
    assert find(everything, of_pods, "qwen-decode")["spec"]["selector"]["matchLabels"].items() <= labels.items()
    service = find(everything, "Service", "qwen-epp")["metadata"]["labels"]
    assert find(everything, of_picker, "qwen-epp")["spec"]["selector"]["matchLabels"].items() <= service.items()


def test_the_token_of_a_scraper_is_of_an_account_that_may_read_metrics_alone():
    everything = rendered(tree() | {"observability": {"metrics": {"type": "prometheus-operator"}}})
    (secret,) = [manifest for manifest in everything if manifest["kind"] == "Secret"]
    account = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
    (binding,) = [
        manifest
        for manifest in everything
        if manifest["kind"] == "ClusterRoleBinding" and manifest["subjects"][0]["name"] == account
    ]
    role = find(everything, "ClusterRole", binding["roleRef"]["name"])
    assert role["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
