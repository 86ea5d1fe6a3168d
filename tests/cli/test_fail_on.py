"""The option `--fail-on` ends the command with 8 if the report has a finding that it names."""

import json

import pytest

from cli import fail_on
from judging.report.findings import ReportFinding
from models.problems import ConfigError
from tests.support.commands import ended
from tests.support.events import log
from tests.support.stacks import tree

QWEN = {"model": {"source": "hf://Qwen/Qwen3-8B", "maxModelLen": 8192}, "accelerator": "nvidia-l40s"}
LONGER = {**QWEN, "model": {**QWEN["model"], "maxModelLen": 16384}}


@pytest.fixture
def summarize(capsys, tmp_path):
    """Return a function that reports on a change which ends the only replica of a service."""
    stack = tree(qwen=LONGER)
    file, lines = tmp_path / "Pulumi.prod.yaml", tmp_path / "log"
    file.write_text(json.dumps({"config": {"inference-stacks:stack": stack}}), encoding="utf-8")
    lines.write_text("\n".join(log(tree(qwen=QWEN), stack)), encoding="utf-8")
    return lambda *options: ended(capsys, "summarize", str(file), "--events", str(lines), *options)


def test_a_report_fails_on_nothing_unless_it_is_asked(summarize):
    code, output, errors = summarize()
    assert (code, "1 outage" in output, errors) == (0, True, "")


def test_a_finding_ends_the_command_with_8_and_the_report_is_printed_as_ever(summarize):
    without, with_option = summarize(), summarize("--fail-on", "outage,money")
    assert with_option == (8, without[1], "--fail-on outage: qwen-decode\n")


def test_what_a_report_cannot_tell_is_no_success(summarize):
    code, output, errors = summarize("--fail-on", "money")
    assert (code, "1 outage" in output) == (2, True)
    assert errors.startswith("prices.perDeviceHour: has no price, so that money is unknown; ")


def test_a_word_that_is_no_finding_is_a_mistake_before_anything_is_printed(summarize):
    code, output, errors = summarize("--fail-on", "outages", "--fail-on", "cost")
    assert (code, output) == (2, "")
    assert errors.splitlines() == [
        "--fail-on: has an unknown word (outages); did you mean outage?",
        "--fail-on: has an unknown word (cost); known: outage, drift, capacity, money",
    ]


def test_words_are_separated_by_commas_and_count_once():
    assert fail_on.parse(["outage, drift", "drift"], is_drift_alone=False) == (
        ReportFinding.OUTAGE,
        ReportFinding.DRIFT,
    )
    assert fail_on.parse([], is_drift_alone=True) == fail_on.parse(["", ","], is_drift_alone=False) == ()
    with pytest.raises(ConfigError, match="cannot go with --drift, which ends with 7 by itself; leave out one"):
        fail_on.parse(["drift"], is_drift_alone=True)
