"""The summary line about tests that run a real engine, and the commands that leave these tests out."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engine import listing

MODULE = "test_parsers.py"


def test_a_run_without_the_engine_names_every_feature_and_the_remedy():
    features = listing.features()
    assert features[MODULE] == "tool and reasoning parsers of the shipped profiles"
    assert len(features) == len([*Path("tests/real/engine").glob("test_*.py")])
    line = listing.report(set(), is_installed=False)
    assert line == (
        f"not run with a real engine: {', '.join(features.values())} "
        "(vLLM 0.30.0 is not installed; run python -m local engine 0.30.0)"
    )
    assert listing.report(set(), is_installed=True).endswith(" (run make prove-engine)")


def test_features_that_ran_are_not_named_as_not_run():
    run, _, others = listing.report({MODULE}, is_installed=True).partition("; not run")
    assert run.endswith(f": {listing.features()[MODULE]}")
    assert listing.features()[MODULE] not in others
    assert "not run" not in listing.report(set(listing.features()), is_installed=True)


@pytest.mark.parametrize("target", ["test", "test-fast", "coverage"])
def test_targets_without_an_engine_leave_its_tests_out(target):
    recipe = subprocess.run(["make", "-n", target], capture_output=True, text=True, check=True).stdout
    (expression,) = set(re.findall(r'-m "([^"]+)"', recipe))
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", expression, "tests/real/engine"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, result.stdout
