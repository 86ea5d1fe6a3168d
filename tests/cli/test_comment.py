"""Comments on reports: mistakes of a pipeline or of an argument are named, and nothing is sent."""

import gc
import runpy
import sys

import pytest

from cli import comment
from models.problems import ConfigError
from tests.support.traffic.forge import TOKEN, forge


def test_an_empty_report_is_not_published(tmp_path):
    (tmp_path / "report.md").write_text("\n", encoding="utf-8")
    message = r"report\.md: is empty; name the file that python -m cli summarize wrote"
    with forge(gitlab=False) as server, pytest.raises(ConfigError, match=message):
        comment.publish("prod", str(tmp_path / "report.md"), server.variables)
    assert server.requests == []


GITHUB = {"GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": "a/b", "GITHUB_REF": "refs/pull/7/merge"}
GITLAB = {"CI_API_V4_URL": "https://gitlab.example", "GITLAB_TOKEN": TOKEN, "CI_PROJECT_ID": "1"}


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (GITHUB | {"GITHUB_TOKEN": ""}, "GITHUB_TOKEN: is not set; set this variable in the pipeline"),
        (GITHUB | {"GITHUB_REF": "refs/heads/main"}, "GITHUB_REF: names no pull request; "),
        (GITHUB | {"GITHUB_API_URL": "file:///etc"}, "GITHUB_API_URL: is no address; "),
        (GITLAB, "CI_MERGE_REQUEST_IID: is not set; "),
        (GITLAB | {"CI_MERGE_REQUEST_IID": "x"}, "CI_MERGE_REQUEST_IID: is no number; "),
    ],
)
def test_what_the_pipeline_lacks_is_named(variables, message):
    with pytest.raises(ConfigError) as error:
        comment.forge(variables)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(("environment", "file"), [("a b", "report.md"), ("-->", "report.md"), ("prod", "absent")])
def test_a_mistaken_argument_is_named(environment, file, tmp_path):
    with pytest.raises(ConfigError):
        comment.publish(environment, str(tmp_path / file), GITHUB)


def test_the_command_ends_with_1_if_the_forge_does_not_answer(capsys, monkeypatch, tmp_path):
    (tmp_path / "report.md").write_text("x", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["cli", "comment", str(tmp_path / "report.md"), "--environment", "prod"])
    monkeypatch.setattr(gc, "disable", lambda: None)
    monkeypatch.delenv("CI_API_V4_URL", raising=False)
    for name, value in {**GITHUB, "GITHUB_API_URL": "http://127.0.0.1:1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as end:
        runpy.run_module("cli", run_name="__main__")
    assert end.value.code == 1
    assert "no answer" in capsys.readouterr().err
