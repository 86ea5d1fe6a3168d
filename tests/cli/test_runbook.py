"""The runbook is that of the tables of alerts and states, and every alert and state has an entry."""

import re
from pathlib import Path

from cli import runbook
from judging.status import states
from planning.observing import alerts, panels
from tests.support.stacks.watched import rules, watched

PAGE = Path("docs/runbook.md")
PLACEHOLDER = re.compile(r"\$(\w+)")


def headings() -> list[str]:
    """Return the headings of the entries of the committed page. On forges, their anchors are the same."""
    return re.findall(r"^### (\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def entry(identity: str) -> str:
    """Return the text of an entry."""
    match = re.search(rf"^### {identity}\n(.*?)^##", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert match is not None, identity
    return match[1]


def test_the_committed_page_is_that_of_the_tables(golden):
    golden(PAGE, runbook.text())


def test_every_alert_and_every_state_has_one_entry():
    assert sorted(headings()) == sorted({*states.by_id(), *(row.id for row in alerts.rows())})


def test_an_alert_without_a_page_of_its_own_leads_to_an_entry():
    stack = watched(qwen={"prefill": {"replicas": 2}, "canary": {"weight": 10}})
    stack["observability"]["rules"] = {"runbooks": "https://wiki.example.com/runbook#{alert}"}
    addresses = {rule["annotations"]["runbook_url"] for rule in rules(stack) if "alert" in rule}
    assert len(addresses) > 10
    assert {address.partition("#")[2] for address in addresses} <= {*headings()}


def test_every_entry_says_what_is_to_blame_and_what_to_do():
    for identity in headings():
        text = entry(identity)
        assert "- To blame: " in text, identity
        assert re.search(r"^- Do: \S.+\.$", text, re.MULTILINE), identity
        assert "- Look at: " in text, identity
        assert not re.search(r"\{|\}\.|\$", re.sub(r"```promql.*?```|`[^`]*`", "", text, flags=re.DOTALL)), identity


def test_an_entry_of_both_has_the_words_of_alert_and_state():
    text = entry("at-maximum")
    assert "- Ticket `InferenceAtMaximum`: Requests wait for ROLE of SERVICE (VARIANT)" in text
    assert "- `status` (degraded): the object wants more than its maximum of MAXIMUM replicas." in text
    assert "It fires if for 15m" in text
    assert "\nand sum(avg_over_time(engine:waiting" in text
    assert text.count("- Do: ") == 1


def test_entries_name_panels_that_dashboards_have():
    titles = {panel.title for row in panels.table().services for panel in row.panels}
    rows = {row.title for row in panels.table().services}
    page = PAGE.read_text(encoding="utf-8")
    looks = "\n".join(re.findall("^- Look at: (.+)$", page, re.MULTILINE))
    assert set(re.findall(r"\*([^*]+)\*", looks)) <= titles
    assert set(re.findall(r"in the row ([\w ]+?)[.,]", looks)) <= rows
    assert "*Use of the KV cache*" in entry("cache-full")


def test_every_placeholder_of_an_alert_is_explained():
    names = {
        name for row in alerts.rows() for name in PLACEHOLDER.findall(f"{row.expression} {row.summary} {row.wait}")
    }
    assert sorted(name for name in names if not runbook.is_explained(name)) == []


def test_words_in_capitals_of_commands_are_explained():
    looks = "\n".join(re.findall("^- Look at: (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    names = {name for command in re.findall("`([^`]+)`", looks) for name in re.findall(r"\b[A-Z_]+\b[^\s`]*", command)}
    assert "PICKER_NAME" in names
    assert sorted(name for name in names if not runbook.is_explained(name.lower())) == []


def test_a_placeholder_that_nobody_explains_is_noticed():
    assert not runbook.is_explained("wakes")
    assert not runbook.is_explained("ttft_page_week")
