"""Alerts of a stack: which it has, and what follows from its settings."""

from judging.status import states
from planning.observing import alerts
from tests.support.stacks.watched import alert, groups, watched


def test_an_alert_has_the_id_of_a_state_or_a_reason_why_no_state_has_its_meaning():
    assert len(alerts.rows()) > 20
    for row in alerts.rows():
        assert (row.id in states.by_id()) == (row.only is None), row.id


def test_texts_of_an_alert_are_sentences_without_a_full_stop():
    for row in alerts.rows():
        for text in (row.summary, row.remedy):
            assert not text.endswith("."), text
            assert "  " not in text, text


def test_rows_of_one_id_stand_together_with_the_most_demanding_first():
    ids = [row.id for row in alerts.rows()]
    assert ids == sorted(ids, key=ids.index)


def test_a_service_without_objectives_has_alerts_about_symptoms_alone():
    stack = watched(qwen={"slo": None})
    assert {*groups(stack)} == {"qwen-primary"}
    assert alert(stack, "no-endpoints") is not None
    assert alert(stack, "availability-burns-fast") is None
