"""Findings of a refresh: values that somebody changed, objects that are gone, and updates without any difference."""

import json

from judging.report import drift, events
from judging.report.drift import Drift

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "qwen-decode", "namespace": "models"}}
URN = "urn:pulumi:prod::p::kubernetes:apps/v1:Deployment::{}"


def step(event, op, name="qwen-decode", old=DEPLOYMENT, new=DEPLOYMENT, differences=()):
    sides = {
        side: None if value is None else {"custom": True, "inputs": value}
        for side, value in (("old", old), ("new", new))
    }
    found = {path: {"diffKind": "update"} for path in differences}
    metadata = {"op": op, "urn": URN.format(name), "type": "kubernetes:apps/v1:Deployment", "detailedDiff": found}
    return json.dumps({event: {"metadata": {**metadata, **sides}}})


def found(*lines):
    return drift.of_events(events.read(lines))


def replicas(number):
    return {**DEPLOYMENT, "spec": {"replicas": number}}


def test_a_refresh_alone_ends_with_an_update():
    lines = [
        step("resourcePreEvent", "refresh"),
        step(
            "resOutputsEvent", "update", old=replicas(1), new=replicas(3), differences=["spec.replicas", "spec.paused"]
        ),
    ]
    expected = Drift("Deployment models/qwen-decode", is_gone=False, fields=("spec.replicas 1 → 3", "spec.paused"))
    assert found(*lines) == (expected,)


def test_a_preview_that_refreshes_first_changes_things_afterwards():
    lines = [
        step("resourcePreEvent", "refresh"),
        step("resOutputsEvent", "refresh", differences=["spec.paused"]),
        step("resourcePreEvent", "update", differences=["spec.template"]),
        step("resOutputsEvent", "update", differences=["spec.template"]),
    ]
    assert found(*lines) == (Drift("Deployment models/qwen-decode", is_gone=False, fields=("spec.paused",)),)
    assert [each.operation for each in events.read(lines).changes] == ["update"]


def test_an_object_that_is_gone_is_drift_and_an_update_without_difference_is_none():
    gone = [step("resourcePreEvent", "refresh"), step("resOutputsEvent", "delete", new=None)]
    assert found(*gone) == (Drift("Deployment models/qwen-decode", is_gone=True, fields=()),)
    assert found(step("resourcePreEvent", "refresh"), step("resOutputsEvent", "update")) == ()
    assert found(step("resourcePreEvent", "update", differences=["spec.template"])) == ()


def test_values_are_not_shown_and_many_fields_are_counted():
    values = [f"spec.template.metadata.annotations.a{number}" for number in range(8)]
    (each,) = found(step("resourcePreEvent", "refresh"), step("resOutputsEvent", "update", differences=values))
    assert each.fields == (*values[:6], "2 more")
