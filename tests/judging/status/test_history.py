"""Times and writers of objects, as the API server notes them."""

import pytest

from judging.status.history import Writer, change_time, creation_time, status_time, writer
from judging.status.records import time

MADE = "2026-11-28T10:00:00Z"
CHANGE = "2026-11-28T11:00:00Z"
STATUS = "2026-11-28T12:00:00Z"
ITEM = {
    "metadata": {
        "creationTimestamp": MADE,
        "managedFields": [
            {"manager": "pulumi-kubernetes", "time": CHANGE, "fieldsV1": {"f:spec": {"f:template": {}}}},
            {"manager": "kubectl", "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
            {
                "manager": "kube-controller-manager",
                "subresource": "status",
                "time": STATUS,
                "fieldsV1": {"f:status": {}},
            },
        ],
    }
}


def test_an_object_has_a_time_of_its_creation_its_change_and_its_status():
    assert creation_time(ITEM) == time(MADE)
    assert change_time(ITEM) == time(CHANGE)
    assert status_time(ITEM) == time(STATUS)


def test_the_writer_of_a_field_owns_it():
    assert writer(ITEM, "spec", "replicas") == Writer("kubectl", None)
    assert writer(ITEM, "spec", "template") == Writer("pulumi-kubernetes", time(CHANGE))
    assert writer(ITEM, "spec", "paused") is None


@pytest.mark.parametrize("metadata", [None, {}, {"managedFields": None}, {"managedFields": [None, {"fieldsV1": 1}]}])
def test_an_object_without_notes_has_no_times(metadata):
    item = {"metadata": metadata}
    assert [creation_time(item), change_time(item), status_time(item), writer(item, "spec")] == [None] * 4
