"""The linter's verdict is that of the real picker, wherever that is recorded."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml

from cli import lint
from planning.picker.accepted_mistakes import REASONS
from planning.releases import channel, departures
from tests.support.commands import ended

CORPUS = Path("tests/planning/picker/corpus/verdicts.yaml")
PAGE = Path("docs/picker-lint.md")
CHANNELS = {
    "0.11": "llm-d-0.10",
    "0.10": "llm-d-0.9",
    "0.9": "llm-d-0.8",
    "gie-1.5": "gie-1.5",
    "gie-1.3": "gie-1.3",
}
"""Channels by the version of the picker that gave the verdicts."""
RELEASES = tuple(CHANNELS)
FLAG = "--allow-experimental-plugins"
POOL = ("--pool-name=pool-http", "--pool-namespace=corpus")
LLM_D, GIE = "apiVersion: llm-d.ai/v1alpha1", "apiVersion: inference.networking.x-k8s.io/v1alpha1"
ACCEPTED = {
    "0.11": {
        "declares no plugins": 6,
        "does nothing alone": 20,
        "never asks prefill pods": 5,
        "no place there": 6,
        "no weight": 3,
        "read and not used": 2,
        "selects pods of another role": 4,
        "takes one profile": 1,
        "used nowhere": 21,
    },
    "0.10": {
        "declares no plugins": 6,
        "does nothing alone": 17,
        "never asks prefill pods": 9,
        "no place there": 6,
        "no weight": 3,
        "read and not used": 2,
        "selects pods of another role": 4,
        "takes one profile": 1,
        "used nowhere": 25,
    },
    "0.9": {
        "declares no plugins": 2,
        "does nothing alone": 10,
        "never asks prefill pods": 4,
        "no place there": 6,
        "no weight": 3,
        "selects pods of another role": 4,
        "takes one profile": 1,
        "used nowhere": 16,
    },
    "gie-1.5": {
        "declares no plugins": 4,
        "no place there": 4,
        "no weight": 3,
        "read and not used": 25,
        "used nowhere": 8,
    },
    "gie-1.3": {
        "declares no plugins": 4,
        "does nothing alone": 1,
        "no place there": 2,
        "no weight": 3,
        "read and not used": 12,
        "used nowhere": 2,
    },
}
"""Number of configurations by release and reason that are refused although the picker serves with them."""


@cache
def entries():
    return yaml.load(CORPUS.read_text(encoding="utf-8"), yaml.CSafeLoader)


def judged(kind, release):
    """Return the entries whose verdict depends on nothing but their text."""
    return [
        entry
        for entry in entries()
        if entry["kind"] == kind and release in entry["versions"] and not entry.get("environment")
    ]


def verdict(entry, release, arguments=None):
    protocol = entry.get("appProtocol", "http")
    config = entry["config"].replace(LLM_D, GIE) if release.startswith("gie") else entry["config"]
    try:
        return lint.judge(config, channel(CHANNELS[release]), protocol, arguments).findings
    except ValueError as error:
        return (error,)


def reason_of(finding):
    return getattr(finding, "reason", None)


def serves(entry, release):
    found = entry["versions"][release]
    return found.get("experimental", found)["verdict"] == "serves"


@pytest.mark.parametrize("release", RELEASES)
def test_what_the_picker_refuses_is_refused(release):
    refused = [entry for entry in judged("config", release) if not serves(entry, release)]
    assert len(judged("config", release)) > 400
    assert len(refused) > 250
    assert [entry["id"] for entry in refused if not verdict(entry, release)] == []


@pytest.mark.parametrize("release", RELEASES)
def test_what_the_picker_serves_with_is_accepted_or_cannot_be_meant(release):
    served = [entry for entry in judged("config", release) if serves(entry, release)]
    refused = {entry["id"]: found for entry in served if (found := verdict(entry, release))}
    assert [name for name, found in refused.items() if None in map(reason_of, found)] == []
    reasons = Counter(reason for found in refused.values() for reason in {reason_of(finding) for finding in found})
    assert dict(reasons) == ACCEPTED[release]


def test_alpha_plugins_need_their_flag_in_a_command_line():
    marked = [entry for entry in judged("config", "0.11") if "experimental" in entry["versions"]["0.11"]]
    assert len(marked) > 30
    assert [entry["id"] for entry in marked if not verdict(entry, "0.11", POOL)] == []
    both = [entry for entry in marked if serves(entry, "0.11")]
    assert [entry["id"] for entry in both if None in map(reason_of, verdict(entry, "0.11", (*POOL, FLAG)))] == []


@pytest.mark.parametrize("release", RELEASES)
def test_command_lines_are_judged_alike(release):
    different = []
    for entry in judged("flags", release):
        names = {flag.lstrip("-").partition("=")[0] for flag in entry["flags"]}
        pool = () if entry.get("noPool") or names & {"endpoint-selector"} else POOL
        found = lint.judge(None, channel(CHANNELS[release]), None, (*pool, *entry["flags"])).findings
        if bool(found) == serves(entry, release):
            different.append(entry["id"])
    assert len(judged("flags", release)) > 50
    assert different == []


def test_every_entry_is_judged_without_a_crash():
    for entry in entries():
        if entry["kind"] == "config":
            assert all(str(finding) for finding in verdict(entry, "0.11"))


def test_the_corpus_has_every_recorded_entry():
    assert len(entries()) == len({entry["id"] for entry in entries()}) == 995


EXAMPLES = {
    "declares no plugins": ("graph-no-plugins", "graph-plugins-empty"),
    "used nowhere": ("flowcontrol-detector-declared-not-used", "flowcontrol-round-robin"),
    "no place there": ("graph-decider-in-profile", "graph-detector-in-profile"),
    "no weight": ("graph-weight-zero", "graph-weight-float"),
    "stands twice": (None, "graph-duplicate-type-named"),
    "read and not used": ("flowcontrol-gate-false-with-settings", "flowcontrol-default-band"),
    "does nothing alone": ("datalayer-precise-no-token-producer", "datalayer-prefix-scorer-named-producer"),
    "takes one profile": ("graph-data-parallel-two-profiles", "graph-header-handler-two-profiles"),
    "never asks prefill pods": ("disagg-no-prefill-profile", "disagg-plain"),
    "selects pods of another role": ("disagg-swapped-filters", "disagg-plain"),
}
"""Entries by reasons: one that is refused although the picker serves with it, and one that is accepted."""
TWICE = """
plugins: [{type: a-scorer}]
schedulingProfiles: [{name: a, plugins: [{pluginRef: a-scorer}, {pluginRef: a-scorer}]}]
"""


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_has_a_configuration_that_serves_and_one_that_is_accepted(reason):
    by_id = {entry["id"]: entry for entry in judged("config", "0.11")}
    refused, accepted = EXAMPLES[reason]
    entry = by_id[refused] if refused else {"config": TWICE.replace("a-scorer", "queue-scorer")}
    assert refused is None or serves(entry, "0.11")
    assert reason in {finding.reason for finding in verdict(entry, "0.11")}
    assert serves(by_id[accepted], "0.11")
    assert verdict(by_id[accepted], "0.11") == ()


def test_the_page_has_every_reason():
    rows = re.findall(r"^\| ([a-z ]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [row for row in rows if row in REASONS] == list(REASONS)


def run(capsys, *arguments):
    code = lint.print_verdict(*arguments)
    return code, capsys.readouterr()


def test_a_sound_file_gives_0_and_a_mistake_gives_1(tmp_path, capsys):
    file = tmp_path / "config.yaml"
    file.write_text("plugins: [{type: queue-scorer}, {type: decode-filter}]\n", encoding="utf-8")
    assert run(capsys, str(file), "llm-d-0.10", None, ())[0] == 0
    file.write_text("plugins: [{type: qeue-scorer}]\n", encoding="utf-8")
    code, printed = run(capsys, str(file), "llm-d-0.10", None, ())
    assert (code, printed.out) == (
        1,
        "plugins[0].type: is not in llm-d-0.10 (qeue-scorer); did you mean queue-scorer?\n",
    )


def test_a_reason_and_a_warning_are_printed(tmp_path, capsys):
    file = tmp_path / "config.yaml"
    text = "plugins:\n- {type: tokenizer}\n- {type: edf-ordering-policy}\n- {type: queue-scorer}\n"
    file.write_text(text, encoding="utf-8")
    code, printed = run(capsys, str(file), "llm-d-0.9", None, ())
    assert (code, printed.out) == (
        1,
        (
            "plugins[1]: is used nowhere (edf-ordering-policy); refer to it where it is needed, or remove it "
            "[used nowhere]\n"
        ),
    )
    assert printed.err.startswith(
        "warning: plugins[0].type: is deprecated (tokenizer); write {type: token-producer} with the same parameters, "
        "because llm-d-router v0.11 removes it"
    )


@pytest.mark.parametrize(
    ("text", "release", "message"),
    [
        (None, "llm-d-0.10", "cannot be read (No such file or directory); name a file in UTF-8"),
        ("plugins: [", "llm-d-0.10", "is no YAML in line 2"),
        ("{plugins: []}", "llm-d-0.10", "is no JSON, although it begins with {"),
        (
            "plugins: []",
            "llm-d-9",
            "is no release; choose one: gie-1.3, gie-1.5, llm-d-0.6, llm-d-0.8, llm-d-0.9, llm-d-0.10",
        ),
    ],
)
def test_what_cannot_be_read_gives_2(tmp_path, capsys, text, release, message):
    file = tmp_path / "config.yaml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    code, output, errors = ended(capsys, "lint", str(file), "--release", release)
    assert (code, output) == (2, "")
    assert message in errors


def test_the_arguments_behind_two_dashes_are_the_pickers(capsys):
    code, output, _ = ended(capsys, "lint", "--release", "llm-d-0.9", "--", "--pool-name=a", "--bogus=1")
    assert (code, output) == (1, "--bogus: is no flag of llm-d-0.9's picker (bogus); remove it\n")


def test_a_version_of_a_later_router_is_refused_with_the_version_to_write(tmp_path, capsys):
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: llm-d.ai/v1\nplugins: [{type: queue-scorer}]\n", encoding="utf-8")
    assert run(capsys, str(file), "llm-d-0.8", None, ())[1].out == (
        "apiVersion: is not read by llm-d-router v0.9 of llm-d-0.8 (llm-d.ai/v1); write llm-d.ai/v1alpha1\n"
    )
    assert run(capsys, str(file), "gie-1.3", None, ())[1].out.startswith(
        "apiVersion: is not read by the picker of gie-1.3 (llm-d.ai/v1); write inference.networking.x-k8s.io/v1alpha1\n"
    )


def test_a_router_that_reads_the_later_version_accepts_it_and_tells_the_older_one():
    release = channel("llm-d-0.9")
    versions = {"api_version": "llm-d.ai/v1", "deprecated_api_versions": ["llm-d.ai/v1alpha1"]}
    config = release.picker.config.model_copy(update=versions)
    later = release.model_copy(update={"picker": release.picker.model_copy(update={"config": config})})
    verdict = lint.judge("apiVersion: llm-d.ai/v1\nplugins: [{type: queue-scorer}]", later)
    assert verdict == lint.ConfigVerdict((), ())
    verdict = lint.judge("apiVersion: llm-d.ai/v1alpha1\nplugins: [{type: queue-scorer}]", later)
    assert verdict.findings == ()
    assert [str(problem) for problem in verdict.warnings] == [
        "apiVersion: is deprecated (llm-d.ai/v1alpha1); use llm-d.ai/v1"
    ]


def test_without_a_release_every_picker_judges_and_the_newest_decides(tmp_path, capsys):
    file = tmp_path / "config.yaml"

    def judged(text):
        file.write_text(text, encoding="utf-8")
        code, output, errors = ended(capsys, "lint", str(file))
        assert errors == ""
        return code, output

    newest_first = departures.by_age()[::-1]
    code, printed = judged("plugins: [{type: queue-scorer}]\n")
    assert (code, printed.splitlines()) == (0, [f"{name}: accepted" for name in newest_first])
    code, printed = judged("plugins: [{type: qeue-scorer}]\n")
    assert code == 1
    assert [line for line in printed.splitlines() if line[0] != " "] == [f"{name}: refused" for name in newest_first]
    code, printed = judged("plugins: [{type: queue-scorer}, {type: label-selector-filter}]\n")
    lines = printed.splitlines()
    assert code == 0
    assert "llm-d-0.9: accepted" in lines
    after = lines[lines.index("llm-d-0.6: refused") + 1]
    assert after.startswith("  plugins[1].type: is not in llm-d-0.6 (label-selector-filter); ")


def test_a_file_that_no_picker_reads_gives_2_without_a_release(tmp_path, capsys):
    code, output, errors = ended(capsys, "lint", str(tmp_path / "absent.yaml"))
    assert (code, output) == (2, "")
    assert "cannot be read" in errors


def test_a_role_that_filters_no_longer_select_is_a_warning_without_a_stack():
    selector = "{matchLabels: {llm-d.ai/role: both}}"
    text = f"plugins: [{{type: queue-scorer}}, {{type: label-selector-filter, parameters: {selector}}}]"
    for name in ("llm-d-0.9", departures.by_age()[-1]):
        verdict = lint.judge(text, channel(name))
        assert verdict.findings == ()
        (problem,) = verdict.warnings
        assert str(problem.path) == "plugins[1].parameters.matchLabels.llm-d.ai/role"
        assert "(both" in problem.what
        assert problem.remedy.startswith("write prefill-decode")


def test_a_flag_that_leaves_is_a_warning_and_refused_where_it_is_gone():
    arguments = ("--pool-name=a", "--model-server-metrics-path=/load")
    verdict = lint.judge(None, channel("llm-d-0.8"), None, arguments)
    assert (verdict.findings, [problem.severity for problem in verdict.warnings]) == ((), ["warning"])
    (finding,) = lint.judge(None, channel("llm-d-0.9"), None, arguments).findings
    assert str(finding.problem).startswith(
        "--model-server-metrics-path: is gone since llm-d-router v0.10 "
        "(model-server-metrics-path; llm-d-0.9 has v0.10); "
        "remove it, and write {type: metrics-data-source, parameters: {path: PATH}}"
    )
