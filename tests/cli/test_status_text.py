"""The status as text: it fits every terminal, divides no name, and says what could not be read."""

from datetime import timedelta

import pytest

from cli import status_text
from cli.status_text import Page
from judging.status import verdict
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import KINDS, POD, TLS_CERTIFICATE, Snapshot
from tests.support.captured_objects import NOW, lists, programmed, snapshot

LOG = ["Traceback (most recent call last):", f"ValueError: {'x' * 300}"]
PAGE = Page(
    "prod",
    ("bert",),
    {("capture", "late"): LOG},
    {("capture", "chat"): "http://llm.example.com/models/chat answered 503"},
)


def lines(objects=None, width=100, page=PAGE):
    status = verdict.of(Snapshot(NOW, objects or programmed()), {})
    return list(status_text.lines(status, page, width))


def text(*arguments, **options):
    return "\n".join(lines(*arguments, **options))


@pytest.mark.parametrize("width", range(40, 201))
def test_no_line_is_longer_than_the_terminal_unless_a_single_name_is(width):
    for line in [*lines(width=width), *lines(lists(), width)]:
        assert len(line) <= width or " " not in line.strip(), (width, line)


@pytest.mark.parametrize("width", [40, 61, 80, 200])
def test_the_words_are_the_same_at_every_width(width):
    assert text(width=width, page=Page("x")).split() == text(width=1000, page=Page("x")).split()


def test_a_narrower_terminal_gets_lines_of_forty_columns():
    assert lines(width=1) == lines(width=40)


def test_names_of_pods_are_whole():
    whole = text(width=40).split()
    assert any("late-decode-78fbd98468-99559" in word for word in whole)


def test_a_service_that_serves_is_one_line():
    (line,) = [line for line in lines() if line.startswith("✓ chat")]
    assert line.split(maxsplit=2)[2] == "serves · decode 2/2 · prefill 1/1 · canary decode 1/1 · canary prefill 1/1"


def test_a_service_that_does_not_serve_has_a_line_for_each_link_and_what_to_do():
    whole = lines(width=1000)
    begin = next(number for number, line in enumerate(whole) if line.startswith("✗ late"))
    names = [line.split()[0] for line in whole[begin + 1 : begin + 7]]
    assert names == ["gateway", "route", "pool", "picker", "decode", "do"]
    assert "late-decode-78fbd98468-99559 finds no node" in whole[begin + 5]
    assert whole[begin + 5].endswith("[no-devices]")
    assert "does not serve since 01:49 (10 min)" in whole[begin]


def test_logs_answers_and_what_is_not_deployed_stand_below():
    whole = lines(width=80)
    assert "  | Traceback (most recent call last):" in whole
    assert f"  | ValueError: {'x' * 300}"[:80] in whole
    assert any("asked" in line and "answered 503" in line for line in whole)
    assert "· bert  is not deployed; run `pulumi preview`" in whole
    assert "| Traceback" not in text(page=Page("prod"))


def test_what_could_not_be_read_is_told_with_its_reason_and_the_remedy():
    unread = Unknown("the cluster could not be read (it answered 403)")
    whole = text({**programmed(), POD: unread}, 1000)
    assert "? unknown, because the cluster could not be read (it answered 403): Pod" in whole
    assert "rights STACK --for status" in whole
    late = text({**programmed(), POD: Unknown("it answered 500")}, 1000)
    assert "rights STACK --for status" not in late


def test_a_certificate_that_may_not_be_read_has_a_right_of_its_own():
    unread = Unknown("the cluster could not be read (it answered 403)")
    whole = text({**programmed(), TLS_CERTIFICATE: unread}, 1000)
    assert "--for status` prints with `--certificates SECRET` for each certificate" in whole
    assert "--certificates" not in text({**programmed(), POD: unread}, 1000)


def test_a_cluster_that_could_not_be_read_is_not_said_to_be_empty():
    assert "no services" in text({kind: [] for kind in KINDS})
    nothing = text(dict.fromkeys(KINDS, Unknown("it answered 500")))
    assert "no services" not in nothing
    assert "cannot be told" in nothing


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0 s"), (0, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "59 min"), (3600, "1 h"), (172_799, "47 h"),
     (172_800, "2 days")],
)  # fmt: skip
def test_a_duration_is_told_in_its_largest_unit(seconds, words):
    assert status_text.duration(seconds) == words


def test_a_time_of_another_day_has_its_date():
    later = verdict.of(Snapshot(NOW + timedelta(days=1), snapshot(**programmed()).objects), {})
    whole = "\n".join(status_text.lines(later, Page("x"), 1000))
    assert "does not serve since 2026-11-28 01:49 (24 h)" in whole
