"""Steps are lines in a plain stream, and live lines in a terminal."""

import io
import time

import pytest

from local.errors import LocalError
from local.report import Report, ReportStep


def test_a_plain_stream_gets_a_line_at_the_start_and_one_at_the_end():
    stream = io.StringIO()
    report = Report(stream)
    with report.step("build", 30):
        report.say("hello")
    with pytest.raises(LocalError), report.step("other"):
        raise LocalError("no")
    lines = stream.getvalue().splitlines()
    assert lines[:2] == ["… build (about 30 s)", "hello"]
    assert [line.split(" (")[0] for line in lines[2:]] == ["✓ build", "… other", "✗ other"]
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_gets_one_live_line_per_running_step():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    report = Report(stream)
    with report.step("one", 10), report.step("two", 20):
        pass
    text = stream.getvalue()
    assert "  one (0 s of about 10 s)\n  two (0 s of about 20 s)\n" in text
    assert text.rstrip().endswith("✓ one (0.0 s)")


@pytest.mark.parametrize(("elapsed", "text"), [(10, "one (10 s of about 350 s)"), (2177, "one (2177 s)")])
def test_an_estimate_that_has_passed_is_not_shown(elapsed, text):
    """See defects R8."""
    assert ReportStep("one", 350, started=time.monotonic() - elapsed).line() == text
