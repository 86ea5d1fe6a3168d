"""The engine's event log as steps and diagnostics."""

import json

import pytest

from judging.report import events
from judging.report.events import Diagnostic, EventError
from tests.support.events import step

URN = "urn:pulumi:dev::project::kubernetes:apps/v1:Deployment::qwen-decode"


def stage(event, op, diffs=None, **inputs):
    state = {"custom": True, "inputs": inputs}
    metadata = {"op": op, "urn": URN, "type": "kubernetes:apps/v1:Deployment", "old": state, "new": state}
    return json.dumps({event: {"metadata": metadata | {"diffs": diffs}}})


def test_events_before_and_after_a_step_are_one_step_with_its_differences():
    found = events.read([stage("resourcePreEvent", "update", ["spec"]), stage("resOutputsEvent", "update")])
    assert [(step.operation, step.differences, step.name) for step in found.changes] == [
        ("update", ("spec",), "qwen-decode")
    ]
    assert (found.stack, found.is_complete) == ("dev", False)


def test_what_a_refresh_finds_is_drift_and_no_change():
    found = events.read([stage("resourcePreEvent", "refresh"), stage("resOutputsEvent", "update", ["spec"])])
    assert found.changes == ()
    assert [step.differences for step in found.drift] == [("spec",)]


def test_messages_are_without_colours_and_once():
    message = {"severity": "warning", "message": "<{%fg 3%}>careful<{%reset%}>\n", "urn": URN}
    policy = {"message": "no", "policyName": "p", "enforcementLevel": "mandatory"}
    lines = [{"diagnosticEvent": message}, {"diagnosticEvent": message}, {"policyEvent": policy}, {"summaryEvent": {}}]
    found = events.read(map(json.dumps, lines))
    assert found.diagnostics == (Diagnostic("warning", "careful", "qwen-decode"), Diagnostic("error", "no", "", "p"))
    assert found.errors == found.diagnostics[1:]
    assert found.is_complete


def test_a_line_that_is_no_event_is_named_by_its_number():
    with pytest.raises(EventError, match="line 3 is no event"):
        events.read(["{}", "", "[]"])


NO_EVENTS = (
    *("{", "[]", "NaN", '"x"', '{"resourcePreEvent": {}}', '{"resourcePreEvent": {"metadata": {"op": 1}}}'),
    *(step(urn={}), step(op=7), step(type=None), step(new={"inputs": "text"}), step(new=[]), step(new={"custom": 1})),
    *(step(diffs=[1]), step(detailedDiff="spec"), '{"diagnosticEvent": {"severity": "error", "message": 1}}'),
    '{"resourcePreEvent": ' + "[" * 100_000,
    '{"summaryEvent": {"x": ' + "[" * 300 + "]" * 300 + "}}",
    r'{"diagnosticEvent": {"severity": "error", "message": "\ud800"}}',
)


@pytest.mark.parametrize("line", NO_EVENTS, ids=map(str, range(len(NO_EVENTS))))
def test_a_line_that_is_no_event_is_named(line):
    with pytest.raises(EventError, match="line 2 is no event of the engine"):
        events.read(["{}", line])


def test_colour_codes_are_removed_in_one_pass():
    """See defects H7. Time that grows with the square of the length would be minutes here."""
    assert events.plain("<{%fg 1%}>a" * 300_000) == "a" * 300_000
    assert events.plain("<{%" * 300_000) == "<{%" * 300_000
    assert events.plain(" a<{%x<{%y%}>b%}> ") == "ab%}>"
