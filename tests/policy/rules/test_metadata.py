"""Labels of workloads and owners of Namespaces."""

import pytest

from tests.support.policies import lines, raw


def deployment(**labels):
    metadata = {"name": "d", "namespace": "n", "labels": labels}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {}}


@pytest.mark.parametrize(
    ("labels", "required", "refused"),
    [
        ({}, {"team": []}, True),
        ({"team": "x"}, {"team": []}, False),
        ({"team": "x"}, {"team": ["x", "y"]}, False),
        ({"team": "z"}, {"team": ["x", "y"]}, True),
        ({"team": "x"}, {"team": [], "cost": []}, True),
        ({}, {}, False),
    ],
)
def test_a_workload_needs_the_labels_and_one_of_their_values(labels, required, refused):
    assert bool(lines(raw(deployment(**labels)), "required-labels", labels=required)) is refused


def test_objects_without_pods_need_no_labels():
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "n"}}
    assert lines(raw(service), "required-labels", labels={"team": []}) == []


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_the_owner_of_a_namespace_is_a_label_or_an_annotation(field):
    namespace = {"kind": "Namespace", "metadata": {"name": "n"}}
    assert len(lines(raw(namespace), "namespace-owner", key="owner")) == 1
    assert lines(raw(namespace), "namespace-owner") == []
    namespace["metadata"][field] = {"owner": "search"}
    assert lines(raw(namespace), "namespace-owner", key="owner") == []
    assert len(lines(raw(namespace), "namespace-owner", key="team")) == 1
