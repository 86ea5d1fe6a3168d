"""vLLM itself has judged every command that is rendered today, in every version that it may run with.

`make prove-engine` records its verdicts in `tests/support/engine/verdicts.yaml`.
"""

import copy
import dataclasses

import pytest

from local.report import Report
from local.vllm import command as engine_command
from local.vllm import families as small_models
from local.vllm import installation
from local.vllm.families import families
from models.stack import Stack
from planning.releases import channel
from planning.releases.engine_versions import number_in
from tests.support.engine import mounts, prove, verdicts
from tests.support.engine.commands import ADDRESS, commands, distinct
from tests.support.engine.listing import VERSION
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
    assert (VERSION.name, verdicts.CONFIGURED) not in verdicts_by_version
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
    assert number_in(images["nvidia"].ref) == VERSION.name


def test_a_command_that_was_not_started_has_a_reason():
    others = [row for row in verdicts.read().values() if row.verdict != verdicts.STARTED]
    assert [row for row in others if not row.reason] == []
    assert {row.verdict for row in others} == {verdicts.CONFIGURED, verdicts.PARSED, verdicts.UNJUDGED}
    unjudged = {row.version for row in others if row.verdict == verdicts.UNJUDGED}
    assert unjudged.isdisjoint(installation.versions())


def test_a_verdict_of_an_engine_says_what_differs_from_the_container():
    rows = verdicts.read().values()
    trials = [row.trial for row in rows if row.trial is not None]
    assert {row.verdict for row in rows if row.trial is not None} == {verdicts.STARTED, verdicts.CONFIGURED}
    assert all("--enforce-eager" in trial.adjustments for trial in trials)
    assert not any("/models" in text for trial in trials for text in trial.adjustments)


@pytest.mark.parametrize(
    "keys",
    [
        {"args": ["/models", "--port=8000", "--served-model-name=Qwen/Qwen3-0.6B", "--new"]},
        {"env": []},
        {"ports": [{"name": "http", "containerPort": 8001}]},
        {"readinessProbe": {"httpGet": {"path": "/ready", "port": 8000}}},
        {"volumeMounts": []},
    ],
    ids=["argument", "variable", "port", "probe", "mount"],
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
    assert any(row.origins[-1].endswith(" more") for row in recorded.values())
    monkeypatch.setattr(verdicts, "TABLE", tmp_path / "verdicts.yaml")
    verdicts.write(recorded.values())
    assert [*verdicts.read().items()] == [*recorded.items()]


def test_verdicts_are_written_with_the_stacks_of_today(tmp_path, monkeypatch):
    """Each version that can be installed has all its verdicts; nothing is judged."""
    recorded = verdicts.read()
    monkeypatch.setattr(verdicts, "TABLE", tmp_path / "verdicts.yaml")
    former = [dataclasses.replace(row, model="former", origins=("former.yaml",)) for row in recorded.values()]
    verdicts.write(former)
    installed = []
    monkeypatch.setattr(installation, "install", lambda name, _: installed.append(name))
    prove.prove(Report(), [*installation.versions()], again=False)
    assert installed == [*installation.versions()]
    assert verdicts.read() == {
        (row.version, row.sha256): verdicts.renewed(recorded[row.version, row.sha256], row) for row in commands()
    }


def judged(monkeypatch, rows):
    """Return the commands that would be judged if the table had these verdicts."""
    asked = []
    monkeypatch.setattr(verdicts, "read", lambda: {(row.version, row.sha256): row for row in rows})
    monkeypatch.setattr(verdicts, "write", lambda _: None)
    monkeypatch.setattr(installation, "install", lambda *_: None)
    monkeypatch.setattr(prove, "judge", lambda *arguments: asked.extend(arguments[1]))
    prove.prove(Report(), [*installation.versions()], again=False)
    return [(command.version, command.sha256) for command in asked]


@pytest.mark.parametrize("facts", [{"verdict": verdicts.UNJUDGED}, {"verdict": verdicts.CONFIGURED}, {"trial": None}])
def test_a_command_is_judged_anew_if_its_verdict_is_not_what_the_tables_allow(monkeypatch, facts):
    _, recorded = first()
    (key,) = recorded
    assert key[0] == VERSION.name
    rows = verdicts.read() | {key: dataclasses.replace(recorded[key], **facts)}
    assert judged(monkeypatch, rows.values()) == [key]


def test_a_command_is_judged_anew_if_another_reason_stood_in_the_way_of_its_start(monkeypatch):
    rows = verdicts.read()
    key = next(key for key, row in rows.items() if row.verdict == verdicts.PARSED)
    rows[key] = dataclasses.replace(rows[key], reason="another one")
    assert judged(monkeypatch, rows.values()) == [key]


def test_a_command_is_judged_anew_if_no_command_of_its_family_was_started(monkeypatch):
    rows = verdicts.read()
    key = next(key for key, row in rows.items() if row.verdict == verdicts.CONFIGURED)
    families = {(row.version, row.sha256): row.family.name for row in commands() if row.version == key[0]}
    family = [other for other, name in families.items() if name == families[key]]
    relatives = {other for other in family if rows[other].verdict != verdicts.PARSED}
    others = [row for other, row in rows.items() if other not in relatives or row.verdict != verdicts.STARTED]
    assert len(others) < len(rows)
    assert {*judged(monkeypatch, others)} == relatives


def again(command):
    """Return a command whose trial is not computed yet."""
    return dataclasses.replace(command)


def test_a_verdict_depends_on_the_adjustments(monkeypatch):
    command, recorded = first()
    table = engine_command.table()
    rows = [*table["variable"], {"name": "NEW", "value": "1", "reason": "a test"}]
    monkeypatch.setattr(engine_command, "table", lambda: {**table, "variable": rows})
    (text,) = verdicts.problems([again(command)], recorded)
    assert text.endswith(": vLLM would get something else, or another small model; run make prove-engine")


def test_a_verdict_depends_on_what_the_container_has_otherwise(monkeypatch):
    command, recorded = first()
    ((key, row),) = recorded.items()
    trial = dataclasses.replace(row.trial, adjustments=row.trial.adjustments[1:])
    (text,) = verdicts.problems([command], {key: dataclasses.replace(row, trial=trial)})
    assert text.endswith(": vLLM would get the command with other adjustments; run make prove-engine")


def test_a_verdict_depends_on_the_small_model(monkeypatch):
    command, recorded = first()
    rows = [dataclasses.replace(row, config=row.config | {"hidden_size": 128}) for row in small_models.families()]
    monkeypatch.setattr(small_models, "families", lambda: rows)
    (text,) = verdicts.problems([again(command)], recorded)
    assert "another small model" in text


def test_a_trial_depends_on_the_startup_probe_but_not_on_its_times():
    command, _ = first()
    probe = command.container["startupProbe"]
    slower = changed(command, startupProbe=probe | {"periodSeconds": 99})
    other = changed(command, startupProbe=probe | {"httpGet": {"path": "/health", "port": 8000}})
    assert slower.trial == command.trial
    assert other.trial.key != command.trial.key


def test_a_trial_is_the_same_on_another_machine(tmp_path, monkeypatch):
    command, _ = first()
    trials = set()
    for name in ("first", "second"):
        monkeypatch.setenv("INFERENCE_STACKS_CACHE", str(tmp_path / name))
        trials.add(again(command).trial)
    assert trials == {command.trial}


def test_files_outside_the_mounts_are_found_before_they_are_written(tmp_path):
    command, _ = first()
    assert mounts.outside(command.process(VERSION, tmp_path, ADDRESS), tmp_path) == []
    bare = changed(command, volumeMounts=[])
    assert mounts.outside(bare.process(VERSION, tmp_path, ADDRESS), tmp_path) == ["/models", "/home/engine"]
