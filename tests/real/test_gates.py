"""Gates by a real Prometheus, which has what engines counted while they started again and nobody scraped."""

import json
from dataclasses import dataclass

import pytest

from composition import gates
from facts import hosts, prometheus
from tests.support import commands
from tests.support.prometheus import promtool
from tests.support.prometheus.server import prometheus as running
from tests.support.traffic import compared, prometheus_server
from tests.support.traffic.compared import ComparedEngine, ComparedService

pytestmark = pytest.mark.real

SECONDS = 61 * 60
ONE_SCRAPE = compared.SCRAPE_SECONDS
"""Requests that an engine counts between two scrapes if it gets 60 in a minute."""
GAPS = ((1800, 1920),)
"""Two minutes in which nobody scrapes."""
CANARIES = {
    "equal": ({}, 0),
    "failing": ({"bad": 0.06}, 8),
    "slow": ({"slow": 0.2}, 8),
    "silent": ({"per_minute": 0}, 6),
    "restarting": ({}, 0),
    "unscraped": ({}, 1),
}
"""Canaries by their namespace, with the exit code of their gates."""


@dataclass
class Scene:
    """A service with its engines."""

    service: ComparedService
    engines: list[ComparedEngine]

    def truth(self, variant):
        """Return the requests of a variant, and those that failed, as its engines counted them."""
        truths = [engine.truth for engine in self.engines if engine.variant == variant]
        return sum(truth.requests for truth in truths), sum(truth.bad for truth in truths)

    def scrapes(self, variant):
        """Return how many requests no scrape may have seen: one for each engine at each end and each start."""
        starts = [1 + len(engine.restarts) for engine in self.engines if engine.variant == variant]
        return ONE_SCRAPE * sum(starts)


def scene(folder, name):
    options = {"namespace": name, "per_minute": 60, "bad": 0.01, "slow": 0.02}
    primaries = [ComparedEngine("primary", number, **options, restarts=(1000 * number,)) for number in (1, 2)]
    canaries = [ComparedEngine("canary", number, **options | CANARIES[name][0]) for number in (1, 2)]
    if name == "restarting":
        canaries[0].restarts = (700, 2400)
    (folder / name).mkdir()
    service = ComparedService(folder / name / "Pulumi.dev.yaml", "http://127.0.0.1:1", SECONDS, name)
    return Scene(service, [*primaries, *canaries])


@pytest.fixture
def judge(nobody, monkeypatch, capsys, tmp_path):
    """Return a function that returns the verdict on a scene by a Prometheus."""
    monkeypatch.setattr(prometheus, "_PAUSE_SECONDS", 0)
    (tmp_path / "Pulumi.yaml").write_text("name: inference-stacks\n")
    for name in (prometheus.TOKEN, prometheus.AUTHORITY, hosts.TRUSTED, hosts.OFFLINE):
        monkeypatch.delenv(name, raising=False)

    def judged(of, url):
        monkeypatch.setattr(gates.reader, "read", of.service.read)
        result = commands.ended(capsys, "gate", str(of.service.path), "--prometheus", url, "--format", "json")
        assert result.errors == ""
        document = json.loads(result.output)
        assert document["exitCode"] == result.code
        return document

    return judged


def counted(document, variant, gate="errors"):
    (row,) = [row for row in document["services"][0]["gates"] if row["name"] == gate]
    return row[variant]["requests"], row[variant]["bad"]


def test_a_real_prometheus_gives_the_numbers_that_the_engines_counted(tools, judge, tmp_path):
    scenes = {name: scene(tmp_path, name) for name in CANARIES}
    series = [
        entry
        for name, of in scenes.items()
        for engine in of.engines
        if (name, engine.variant) != ("unscraped", "canary")
        for entry in engine.series(of.service.start, SECONDS, gaps=GAPS)
    ]
    promtool.fill(tools["promtool"].path, compared.exposition(series), tmp_path / "storage")
    with prometheus_server.playing() as played:
        played.series = series
        with running(tools["prometheus"].path, tmp_path / "server", (), storage=tmp_path / "storage") as real:
            url = f"http://127.0.0.1:{real.port}"
            verdicts = {name: judge(of, url) for name, of in scenes.items()}
            for name, of in scenes.items():
                assert judge(of, played.url)["services"] == verdicts[name]["services"], name
    codes = {name: verdict["exitCode"] for name, verdict in verdicts.items()}
    assert codes == {name: code for name, (_, code) in CANARIES.items()}, verdicts
    for name in CANARIES.keys() - {"unscraped"}:
        for variant in ("primary", "canary"):
            requests, bad = counted(verdicts[name], variant)
            all_requests, all_bad = scenes[name].truth(variant)
            assert abs(requests - all_requests) <= scenes[name].scrapes(variant), (name, variant)
            assert abs(bad - all_bad) <= scenes[name].scrapes(variant), (name, variant)
    down = judge(scenes["equal"], url)
    assert down["exitCode"] == 1
    assert {row["reason"] for row in down["services"][0]["gates"]} == {
        "Prometheus could not be read (it opens no connection)"
    }
