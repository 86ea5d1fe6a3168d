"""Versions of Kubernetes that mount images as volumes."""

from dataclasses import replace

import pytest

from planning.ground.inventory import FactsOrigin
from tests.support.stacks import lines, tree
from tests.support.stacks.whole_clusters import composed, whole

MOUNTED = {"model": {"name": "org/m", "source": f"oci://registry.example/m@sha256:{'a' * 64}"}}
VOLUME = {"pod": {"volumes": {"templates": {"type": "image", "reference": "registry.example/t:v1", "mountPath": "/t"}}}}
ERROR = (
    "needs volumes with images, which Kubernetes 1.32 does not have (1.33 and later do); "
    "use another source, such as kit:// or pvc://, or another kind of volume"
)
WARNING = (
    "needs the feature gate ImageVolume, which Kubernetes 1.{} leaves off; "
    "turn on its feature gate in the API server and in all kubelets, or upgrade to 1.35"
)


def told(version, service):
    """Return the errors and warnings about such volumes, in a cluster of a version."""
    stack = tree(qwen=service)
    facts = replace(whole(stack), origin=FactsOrigin("cluster", version, "2026-11-25T00:00:00Z"))
    problems = composed(stack, facts).preflight
    texts = {severity: lines(problems, severity) for severity in ("error", "warning")}
    about = ("volumes with images", "ImageVolume")
    return {
        severity: [text for text in every if any(word in text for word in about)] for severity, every in texts.items()
    }


PLACES = {
    "services.qwen.model.source": MOUNTED,
    "services.qwen.pod.volumes.templates.reference": VOLUME,
}


@pytest.mark.parametrize(("at", "service"), PLACES.items(), ids=PLACES)
def test_a_cluster_without_such_volumes_is_an_error(at, service):
    assert told("v1.32.9", service) == {"error": [f"{at}: {ERROR}"], "warning": []}


@pytest.mark.parametrize(("at", "service"), PLACES.items(), ids=PLACES)
@pytest.mark.parametrize("minor", [33, 34])
def test_a_cluster_that_leaves_them_off_is_a_warning(minor, at, service):
    assert told(f"v1.{minor}.1", service) == {"error": [], "warning": [f"{at}: {WARNING.format(minor)}"]}


@pytest.mark.parametrize("version", ["v1.35.0", "v1.36.3-gke.1", None, "unknown"])
@pytest.mark.parametrize("service", PLACES.values(), ids=PLACES)
def test_a_cluster_that_has_them_or_of_an_unknown_version_is_not_told(version, service):
    assert told(version, service) == {"error": [], "warning": []}


def test_pods_without_such_volumes_need_no_version():
    assert told("v1.30.0", {}) == {"error": [], "warning": []}


def test_the_version_that_was_just_read_counts():
    facts = replace(whole(tree(qwen=MOUNTED)), read_version="v1.32.0")
    assert [ERROR in text for text in lines(composed(tree(qwen=MOUNTED), facts).preflight, "error")] == [True]
