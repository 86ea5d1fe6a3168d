"""The mark says whose an object is: selectable, whole, and different for different stacks."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.ground import labels, marks
from planning.ground.marks import Identity, Mark, StackName, Verdict

US = StackName("acme", "chat", "prod")
PART = st.text(f"{string.ascii_letters}{string.digits}._-", min_size=1, max_size=100)
NEAR = st.sampled_from(["a", "a.b", "b", "b.c", "c", "-", "_", ".", "q" * 62, "q" * 63, "q" * 99])


def test_the_label_has_project_and_stack():
    assert US.label == "chat.prod"
    assert str(US) == "acme/chat/prod"


@given(PART | NEAR, PART | NEAR)
def test_every_name_of_a_stack_becomes_the_value_of_a_label(project, stack):
    assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", marks.label(project, stack))


@given(PART | NEAR, PART | NEAR, PART | NEAR, PART | NEAR)
def test_different_stacks_have_different_labels(project, stack, other_project, other):
    same = (project, stack) == (other_project, other)
    assert (marks.label(project, stack) == marks.label(other_project, other)) == same


def test_a_project_with_a_dot_is_no_other_project():
    assert marks.label("a", "b.c") == "a.b.c"
    assert marks.label("a.b", "c") != "a.b.c"


def test_metadata_is_marked_in_labels_and_annotations_alone():
    metadata = {"name": "qwen", "labels": {"team": "a"}, "annotations": {"z": "1", "a": "2"}}
    assert marks.with_mark(metadata, US) == {
        "name": "qwen",
        "labels": {"team": "a", labels.STACK: "chat.prod"},
        "annotations": {"a": "2", labels.STACK: "acme/chat/prod", "z": "1"},
    }
    assert list(marks.with_mark(metadata, US)["annotations"]) == ["a", labels.STACK, "z"]
    assert marks.read(marks.with_mark({"name": "qwen"}, US)) == Mark("chat.prod", "acme/chat/prod")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({}, Mark()),
        ({"labels": None, "annotations": None}, Mark()),
        ({"labels": {**labels.PART_OF, "app.kubernetes.io/managed-by": "pulumi"}}, Mark(is_generated=True)),
        ({"labels": {**labels.PART_OF, "app.kubernetes.io/managed-by": "helm"}}, Mark()),
        ({"labels": {"app.kubernetes.io/managed-by": "pulumi"}}, Mark()),
    ],
)
def test_what_an_object_says_of_its_owner_is_read(found, expected):
    assert marks.read(found) == expected


@pytest.mark.parametrize(
    ("mark", "formerly", "expected"),
    [
        (Mark("chat.prod", "acme/chat/prod"), (), Verdict.OURS),
        # Another organization has projects and stacks of its own, of whatever name.
        (Mark("chat.prod", "other/chat/prod"), (), Verdict.ANOTHER),
        (Mark("chat.prod", "other/chat/prod"), ("other/chat/prod",), Verdict.OURS),
        (Mark("chat.prod", "other/chat/prod"), ("chat/prod",), Verdict.OURS),
        (Mark("chat.old", "acme/chat/old"), (), Verdict.ANOTHER),
        (Mark("chat.old", "acme/chat/old"), ("chat/old",), Verdict.OURS),
        (Mark("chat.old", "acme/chat/old"), ("acme/chat/old",), Verdict.OURS),
        (Mark("chat.old", "acme/chat/old"), ("other/chat/old",), Verdict.ANOTHER),
        # Somebody took the annotation away.
        (Mark("chat.prod"), (), Verdict.OURS),
        (Mark("chat.old"), (), Verdict.ANOTHER),
        (Mark("chat.old"), ("acme/chat/old",), Verdict.OURS),
        (Mark(is_generated=True), (), Verdict.UNMARKED),
        (Mark(), (), Verdict.FOREIGN),
    ],
)
def test_an_object_belongs_to_the_stack_of_its_mark(mark, formerly, expected):
    assert Identity(US, formerly).verdict(mark) is expected


def test_two_stacks_share_no_name_that_carries_the_stack():
    assert marks.per_stack("counter", US, 253) == "counter-chat.prod"
    assert len(marks.per_stack("c" * 250, US, 253)) == 253
