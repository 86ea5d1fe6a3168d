"""The command that compares expected hours of devices with those that a Prometheus saw."""

from pathlib import Path

import pytest
import yaml

from facts import hosts, prometheus
from judging.report import spending
from judging.report.spending import SpendingQueries
from tests.support import commands
from tests.support.stacks import plan, tree
from tests.support.traffic.prometheus_server import matrix, playing

H100 = "nvidia-h100-80gb"
HPA = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
STACK = tree(
    chat={"accelerator": H100, "replicas": 2},
    search={"accelerator": H100, "autoscaling": HPA},
    bert={"accelerator": "cpu"},
    new={"accelerator": "nvidia"},
) | {"prices": {"perDeviceHour": {H100: 4.0}}}
STEPS = 12
"""Steps of an hour."""


@pytest.fixture
def server(monkeypatch):
    """Serve a played Prometheus, which gets no token."""
    for name in (prometheus.TOKEN, prometheus.AUTHORITY, hosts.TRUSTED, hosts.OFFLINE):
        monkeypatch.delenv(name, raising=False)
    with playing() as server:
        yield server


def file(folder: Path, **more: object) -> str:
    """Write the stack, and return its path."""
    path = folder / "Pulumi.costs.yaml"
    path.write_text(yaml.safe_dump({"config": {"inference-stacks:stack": STACK | more}}), encoding="utf-8")
    return str(path)


def queries(since: str) -> SpendingQueries:
    """Return the queries about the stack."""
    return spending.queries(plan(STACK), since)


def run(capsys, *arguments):
    """Return the end of the command."""
    return commands.ended(capsys, "costs", *arguments)


def test_hours_and_costs_stand_beside_those_that_are_expected(server, capsys, tmp_path):
    asked = queries("7d")
    chat, _, search = asked.workloads
    assert (chat.service, search.service) == ("chat", "search")
    server.values = {
        asked.read["chat"]: 100 * STEPS,
        asked.covered["chat"]: 100 * STEPS,
        asked.read["search"]: 100 * STEPS,
        chat.requested: 260 * STEPS,
        search.scraped: 150 * STEPS,
    }
    end = run(capsys, file(tmp_path), "--since", "7d", "--prometheus", server.url)
    assert (end.code, end.errors) == (0, "")
    rows = {line.split()[0]: " ".join(line.split()) for line in end.output.splitlines() if line}
    assert rows["chat"] == f"chat {H100} 100.0 h 200 h 260.0 h more $800 $1,040"
    assert rows["search"] == f"search {H100} 100.0 h 100 to 400 h 150.0 h as expected $400 to $1,600 $600"
    assert rows["new"] == "new nvidia 0.0 h 0 h 0.0 h not read no price"
    assert "bert" not in rows
    assert "chat: read: hours in which the Prometheus read anything of the service" in end.output
    assert "counted by what pods on nodes request" in end.output
    assert "counted by the pods that are scraped" in end.output
    assert "Of new, the Prometheus read nothing in that time." in end.output


def test_fewer_hours_than_expected_are_said_and_a_count_apart_is_not(server, capsys, tmp_path):
    asked = queries("30d")
    chat, *_ = asked.workloads
    read = {asked.read["chat"]: 100 * STEPS, asked.covered["chat"]: 100 * STEPS}
    server.values = {**read, chat.requested: 150 * STEPS}
    path = file(tmp_path)
    assert " fewer " in run(capsys, path, "--prometheus", server.url).output
    server.values[chat.requested] = 195 * STEPS
    assert " as expected " in run(capsys, path, "--prometheus", server.url).output


def test_a_prometheus_that_does_not_answer_is_an_error_and_no_cost(server, capsys, tmp_path):
    server.answer = lambda *_: (403, {}, b"")
    end = run(capsys, file(tmp_path), "--prometheus", server.url)
    assert (end.code, end.output) == (1, "")
    assert "answered 403" in end.errors


def test_a_prometheus_whose_series_have_no_samples_read_nothing(server, capsys, tmp_path):
    server.answer = lambda *_: matrix([{"metric": {}, "values": []}])
    end = run(capsys, file(tmp_path), "--prometheus", server.url)
    assert (end.code, end.errors) == (0, "")
    assert "Of chat, new, search, the Prometheus read nothing in that time." in end.output


def test_the_configuration_names_the_prometheus(server, capsys, tmp_path):
    end = run(capsys, file(tmp_path, observability={"prometheus": {"serverAddress": server.url}}))
    assert end.code == 0
    assert server.asked


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "costs: needs the URL of a Prometheus; write --prometheus, or observability.prometheus.serverAddress"),
        (("--prometheus", "ftp://x"), "--prometheus: is no URL of http or https"),
        (("--since", "5m"), "argument --since: invalid"),
        (("--since", "0d"), "argument --since: invalid"),
    ],
)
def test_mistakes_are_said(capsys, tmp_path, arguments, text):
    end = run(capsys, file(tmp_path), *arguments)
    assert (end.code, end.output) == (2, "")
    assert text in end.errors


def test_a_stack_without_devices_asks_nobody(server, capsys, tmp_path):
    path = tmp_path / "Pulumi.small.yaml"
    small = {"config": {"inference-stacks:stack": tree(bert={"accelerator": "cpu"})}}
    path.write_text(yaml.safe_dump(small), encoding="utf-8")
    end = run(capsys, str(path), "--prometheus", server.url)
    assert (end.code, end.output) == (0, "no service has devices\n")
    assert not server.asked
