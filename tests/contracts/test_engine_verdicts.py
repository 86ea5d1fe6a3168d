"""vLLM itself has judged every command that is rendered today, in every version that it may run with.

`make prove-engine` records its verdicts in `tests/support/engine/verdicts.yaml`.
"""

import copy
import dataclasses

import pytest

from local.vllm import installation
from local.vllm.families import families
from models.stack import Stack
from planning.releases import channel
from planning.releases.engine_versions import number_in
from tests.support.engine import prove, verdicts
from tests.support.engine.commands import commands, distinct
from tests.support.engine.shipped import ShippedContainer


def first():
    """Return the first command that was started, and its verdict, as records of one command."""
    recorded = verdicts.read()
    command = next(row for row in commands() if recorded[row.version, row.sha256].verdict == verdicts.STARTED)
    key = (command.version, command.sha256)
    return command, {key: recorded[key]}


def changed(command, **keys):
    """Return the command of a container with other keys."""
    container = {**copy.deepcopy(dict(command.container)), **keys}
    (other,) = distinct([ShippedContainer(command.origins[0], container)])
    return other


def test_vllm_takes_every_command_that_is_rendered():
    assert verdicts.problems(commands(), verdicts.read()) == []


def test_each_version_that_can_be_installed_has_judged_commands_and_started_some():
    started = {row.version for row in verdicts.read().values() if row.verdict == verdicts.STARTED}
    assert started == {*installation.versions()}
    assert len(commands()) > 150


def test_the_default_version_starts_all_that_a_cpu_can_run_and_the_others_each_family():
    rows = verdicts.read().values()
    verdicts_by_version = {(row.version, row.verdict) for row in rows}
    assert (prove.WHOLE, verdicts.CONFIGURED) not in verdicts_by_version
    recorded = {(row.version, row.sha256): row.verdict for row in rows}
    started = {version: set() for version in installation.versions()}
    configured = copy.deepcopy(started)
    for command in commands():
        verdict = recorded[command.version, command.sha256]
        if verdict == verdicts.STARTED:
            started[command.version].add(command.family.name)
        elif verdict == verdicts.CONFIGURED:
            configured[command.version].add(command.family.name)
    assert all(configured[version] <= started[version] for version in started)


def test_the_small_model_of_each_family_was_started_as_its_row_stands():
    recorded = verdicts.read()
    started = {
        command.family.name
        for command in commands()
        if recorded[command.version, command.sha256].verdict == verdicts.STARTED
    }
    assert started == {row.name for row in families() if "" not in row.cannot}


def test_the_version_that_starts_all_is_that_of_the_default_channel():
    images = channel(Stack.model_fields["release"].default).images.engine
    assert number_in(images["nvidia"].ref) == prove.WHOLE


def test_a_command_that_was_not_started_has_a_reason():
    others = [row for row in verdicts.read().values() if row.verdict != verdicts.STARTED]
    assert [row for row in others if not row.reason] == []
    assert {row.verdict for row in others} == {verdicts.CONFIGURED, verdicts.PARSED, verdicts.UNJUDGED}
    unjudged = {row.version for row in others if row.verdict == verdicts.UNJUDGED}
    assert unjudged.isdisjoint(installation.versions())


def test_a_start_that_stands_for_commands_says_what_differs_from_their_containers():
    starts = verdicts.adjustments()
    assert {row.start for row in verdicts.read().values()} - {""} == starts.keys()
    assert all("--enforce-eager" in texts for texts in starts.values())


@pytest.mark.parametrize(
    "keys",
    [
        {"args": ["/models", "--port=8000", "--served-model-name=Qwen/Qwen3-0.6B", "--new"]},
        {"env": []},
        {"ports": [{"name": "http", "containerPort": 8001}]},
        {"readinessProbe": {"httpGet": {"path": "/ready", "port": 8000}}},
    ],
    ids=["argument", "variable", "port", "probe"],
)
def test_a_changed_container_has_no_verdict(keys):
    command, recorded = first()
    assert verdicts.problems([command], recorded) == []
    other = changed(command, **keys)
    missing, stale = verdicts.problems([other], recorded)
    assert missing == (
        f"vLLM {other.version}, {other.origins[0]}, {other.sha256[:12]}: no verdict; run make prove-engine"
    )
    assert stale == (
        f"vLLM {command.version}, {command.sha256[:12]}: nothing renders to this command any more; "
        "run make prove-engine"
    )


def test_a_change_that_the_engine_does_not_see_keeps_the_verdict():
    command, recorded = first()
    assert verdicts.problems([changed(command, resources={"limits": {"memory": "1Gi"}})], recorded) == []


def test_a_refused_command_is_a_problem_with_the_words_of_vllm():
    command, recorded = first()
    refused = {
        key: dataclasses.replace(row, verdict=verdicts.REFUSED, refusals=("unknown variable VLLM_NEW",))
        for key, row in recorded.items()
    }
    (text,) = verdicts.problems([command], refused)
    assert text.endswith(": refused: unknown variable VLLM_NEW")


def test_verdicts_are_read_as_they_were_written(tmp_path, monkeypatch):
    recorded = verdicts.read()
    starts = verdicts.adjustments()
    monkeypatch.setattr(verdicts, "TABLE", tmp_path / "verdicts.yaml")
    verdicts.write(recorded.values(), starts)
    assert [*verdicts.read()] == [*recorded]
    assert {key: row.refusals for key, row in verdicts.read().items()} == {
        key: row.refusals for key, row in recorded.items()
    }
    assert verdicts.adjustments() == starts
