"""Reports on event logs with mistakes: a message or a report, within its limit, without values that may be secrets."""

import itertools
from functools import cache
from pathlib import Path

import pytest

from cli import summarize, summary_blocks
from composition import defects
from tests.support import mutated_logs
from tests.support.commands import ended
from tests.support.mutated_logs import LOGS, SECRET

STACK = str(LOGS / "Pulumi.dev.yaml")
FORMS = (("--format", "text"), ("--format", "markdown"), ("--drift",), ("--drift", "--format", "text"))
MUTANTS = mutated_logs.number_of_mutants(250)


@pytest.fixture
def report(capsys, monkeypatch, tmp_path):
    """Return a function that runs the command on a log, and returns exit code, output and errors."""
    monkeypatch.setattr(summarize, "_compose", cache(summarize._compose))

    def run(text, *options):
        Path(tmp_path / "log").write_text(text, encoding="utf-8")
        return ended(capsys, "summarize", STACK, "--events", str(tmp_path / "log"), *options)

    return run


def test_a_mutated_log_ends_in_a_report_or_in_a_message(report):
    """See defects H7."""
    codes = set()
    for mutant, form in zip(mutated_logs.mutants(MUTANTS), itertools.cycle(FORMS), strict=False):
        code, output, errors = report(mutant.text, *form)
        place = f"mutant {mutant.seed} {form}: {errors}"
        assert code in {0, 2, summarize.DRIFTED}, place
        assert (code == 2) == bool(errors) == (not output), place
        assert defects.HEADLINE not in errors, place
        assert SECRET not in output + errors, place
        assert len(output.encode()) <= summary_blocks.LONGEST, place
        assert len(errors) < 1000, place
        codes.add(code)
    assert codes == {0, 2, summarize.DRIFTED} or MUTANTS < 100


def test_a_seed_makes_the_same_mutant_again():
    first, second = (list(mutated_logs.mutants(5, seed=7)) for _ in range(2))
    assert first == second
    assert mutated_logs.mutant(9) == first[2]


def test_the_logs_hold_values_that_no_report_may_show():
    """Negative control of the search for secrets: the mutants have them."""
    assert any(SECRET in mutant.text for mutant in mutated_logs.mutants(20))
