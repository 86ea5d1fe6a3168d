"""The command `status` prints the document of what it read, and returns the same exit code as the document has."""

import json
from argparse import ArgumentParser

import pytest

from cli import status
from composition import status as composed
from judging.status.verdict import ExitCode, Status
from tests.support import status_documents
from tests.support.statuses import READ_AT


def options(*words):
    parser = ArgumentParser()
    status.add_options(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize("name", status_documents.SERVICES)
def test_json_is_the_document_of_what_was_read(name, monkeypatch, capsys):
    services = (status_documents.SERVICES[name],)
    monkeypatch.setattr(composed, "read", lambda *_, **__: Status(services, READ_AT, {}))
    code = status.run(options("--json"))
    tree = json.loads(capsys.readouterr().out)
    assert tree == status_documents.of(name)
    assert tree["exitCode"] == code


def test_json_names_what_could_not_be_read(monkeypatch, capsys):
    unread = {"v1/Pod": "the cluster could not be read (it opens no connection)"}
    monkeypatch.setattr(composed, "read", lambda *_, **__: Status((), READ_AT, unread))
    assert status.run(options("--json")) == 1
    (entry,) = json.loads(capsys.readouterr().out)["unread"]
    assert entry == {"kind": "v1/Pod", "reason": unread["v1/Pod"]}


def test_json_is_printed_once_and_not_watched(capsys):
    with pytest.raises(SystemExit) as ended:
        options("--json", "--watch")
    assert ended.value.code == 2
    assert "--watch: not allowed with argument --json" in capsys.readouterr().err


@pytest.mark.parametrize("code", ExitCode)
def test_the_help_says_what_each_exit_code_means(code):
    parser = ArgumentParser()
    status.add_options(parser)
    assert f" {code.value} if " in " ".join(parser.format_help().split())
