"""Workflows of this project's forge, and those that it ships as examples: rights, pins, limits, and what they run."""

import re
from pathlib import Path

import pytest
import yaml

from tests.support.workflows import linted, read, steps

OURS = {path.stem: path for path in sorted(Path(".github/workflows").glob("*.yaml"))}
SHIPPED = [path for folder in ("ci", "gitops") for path in sorted(Path("examples", folder).glob("github*.yaml"))]
FILES = [*OURS.values(), *SHIPPED]
PIN = re.compile(r"- uses: ([\w-]+/[\w-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)")
CALLED = "./.github/workflows/everything.yaml"
OWN = f"uses: {CALLED}"


@pytest.mark.real
def test_actionlint_finds_nothing_in_our_workflows_and_each_of_some_mistakes(tools, tmp_path):
    assert {str(path): linted(tools, path) for path in FILES} == {str(path): [] for path in FILES}
    altered = tmp_path / "altered.yaml"
    for name, right, wrong in (
        ("check", "github.event_name", "github.evnt_name"),
        ("everything", "23 2 * * *", "23 25 * * *"),
        ("release", "needs: build", "needs: biuld"),
        ("release", "contents: write", "contents: wirte"),
    ):
        text = OURS[name].read_text(encoding="utf-8")
        assert right in text
        altered.write_text(text.replace(right, wrong, 1), encoding="utf-8")
        assert linted(tools, altered) != [], wrong


@pytest.mark.parametrize("path", FILES, ids=str)
def test_actions_are_pinned_by_their_commit_and_each_commit_has_one_version(path):
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert [line for line in lines if PIN.fullmatch(line) is None and line != OWN] == []
    texts = "\n".join(file.read_text(encoding="utf-8") for file in FILES)
    pins = {match.groups() for match in PIN.finditer(texts)}
    assert len({action for action, *_ in pins}) == len(pins)


@pytest.mark.parametrize(
    "line",
    ["- uses: actions/checkout@v4", "- uses: actions/checkout@11bd719 # v4.2.2", f"- uses: actions/cache@{'a' * 40}"],
)
def test_an_action_that_is_not_pinned_is_noticed(line):
    assert PIN.fullmatch(line) is None


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_workflow_may_only_read_unless_a_job_says_otherwise(path):
    assert read(path)["permissions"] == {"contents": "read"}


def test_only_the_job_that_publishes_may_write_and_it_runs_no_code_of_the_repository():
    permissions = {
        f"{name} {key}": job["permissions"]
        for name, path in OURS.items()
        for key, job in read(path)["jobs"].items()
        if "permissions" in job
    }
    assert permissions == {"release publish": {"contents": "write"}}
    publish = read(OURS["release"])["jobs"]["publish"]
    assert [step["uses"].partition("@")[0] for step in publish["steps"] if "uses" in step] == [
        "actions/download-artifact"
    ]
    assert "secrets." not in yaml.safe_dump([read(path) for path in OURS.values()])


@pytest.mark.parametrize("path", OURS.values(), ids=str)
def test_every_job_has_a_time_limit_and_every_run_its_turn(path):
    workflow = read(path)
    assert workflow["concurrency"]["group"].endswith("${{ github.ref }}")
    jobs = {name: job for name, job in workflow["jobs"].items() if job.get("uses") != CALLED}
    assert [name for name, job in jobs.items() if "timeout-minutes" not in job] == []


@pytest.mark.parametrize("path", FILES, ids=str)
def test_no_line_of_a_script_has_an_expression_of_the_event(path):
    """Text of a pull request in a script would be run."""
    assert not any("${{" in step.get("run", "") for step in steps(read(path)))


@pytest.mark.parametrize("path", FILES, ids=str)
def test_no_checkout_leaves_its_token_where_scripts_find_it(path):
    checkouts = [step for step in steps(read(path)) if "actions/checkout" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert "pull_request_target" not in read(path)[True]


def test_each_push_is_checked_every_night_tries_all_and_a_tag_publishes():
    triggers = {name: read(path)[True] for name, path in OURS.items()}
    assert triggers["check"] == {"push": {"branches": ["**"]}, "pull_request": None}
    assert {*triggers["everything"]} == {"schedule", "workflow_dispatch", "workflow_call"}
    assert triggers["release"] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}
    jobs = read(OURS["release"])["jobs"]
    assert (jobs["build"]["needs"], jobs["publish"]["needs"]) == ("test", "build")


def test_workflows_run_what_contributors_run():
    targets = re.findall(r"^([a-z-]+):", Path("Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    lines = {name: [step["run"] for step in steps(read(path)) if "run" in step] for name, path in OURS.items()}
    assert lines["check"] == ["make check", "make test-fast"]
    assert lines["everything"] == [".ci/run"]
    assert {*re.findall(r"\bmake ([a-z-]+)", yaml.safe_dump(lines))} == {"check", "test-fast", "release"}
    assert {"check", "test-fast", "release"} <= {*targets}
