"""Checks that did not run because facts could not be read: one warning for each reason."""

from dataclasses import replace

from judging.preflight import unread_facts
from planning.ground.cluster_facts import NOTHING_READ, Unknown
from planning.ground.inventory import Nodes
from planning.ground.needs import Needs
from tests.support.stacks import lines

NEEDS = Needs(namespaces=frozenset({"models"}), nodes=True, quotas=frozenset({"models"}))


def test_checks_with_the_same_reason_are_one_warning():
    facts = replace(NOTHING_READ, namespaces=Unknown("no"), nodes=Unknown("no"), quotas=Unknown("it answered 403"))
    assert lines(unread_facts.judge(NEEDS, facts, "strict"), "warning") == [
        "namespaces (models), nodes went unchecked: no",
        "quotas of models went unchecked: it answered 403",
    ]


def test_what_was_read_or_is_not_needed_is_not_named():
    facts = replace(NOTHING_READ, nodes=Nodes(()))
    assert list(unread_facts.judge(Needs(nodes=True), facts, "strict")) == []
    assert list(unread_facts.judge(Needs(), NOTHING_READ, "strict")) == []
    assert list(unread_facts.judge(NEEDS, NOTHING_READ, "skip")) == []
