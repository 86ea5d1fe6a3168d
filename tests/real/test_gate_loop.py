"""A canary that nobody watches: gates judge, the proposed weight is deployed, and the next one is proposed."""

import json
import math
import time
from datetime import datetime, timedelta

import pytest
import yaml

from composition import gates
from facts import hosts, prometheus
from tests.support import commands
from tests.support.cluster.deployments import in_namespace, model
from tests.support.stacks import GATEWAY
from tests.support.traffic import prometheus_server
from tests.support.traffic.compared import SERVICE, ComparedEngine

pytestmark = pytest.mark.real

ROUTE = f"routing-{SERVICE}-route"
COMPARED = timedelta(minutes=70)
"""More than the time before a comparison and that of the comparison itself."""
STEPS = (5, 25, 50, 100)
PER_MINUTE = 600
"""Requests of the service."""


class Later(datetime):
    """A clock that is ahead, so that requests of the next hour have come."""

    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + COMPARED


def stack(namespace, url):
    """Return a stack with a replica of a service, and one of its canary of another model, which gets 5 %."""
    service = {
        "model": model(1),
        "replicas": 1,
        "slo": {"availability": 99.9},
        "canary": {"weight": STEPS[0], "model": model(2), "replicas": 1, "gates": {"steps": list(STEPS)}},
    }
    return in_namespace(namespace, **{SERVICE: service}) | {
        "gateway": GATEWAY | {"version": "1.31.2"},
        "observability": {"metrics": {"type": "prometheus-operator"}, "prometheus": {"serverAddress": url}},
    }


class Pipeline:
    """A pipeline that asks for the verdict, and deploys the proposed weight."""

    def __init__(self, deployment, namespace, played, capsys):
        self.deployment = deployment
        self.namespace = namespace
        self._played = played
        self._capsys = capsys

    def ask(self, bad):
        """Let an hour of requests come as the live weights share them out, and return the gate's exit code.

        The canary fails the share `bad` of its requests.
        """
        start = math.floor(time.time())
        weights = self.share()
        engines = [
            ComparedEngine(variant, per_minute=PER_MINUTE * weights[name] / 100, bad=share, namespace=self.namespace)
            for variant, name, share in (("primary", SERVICE, 0.01), ("canary", f"{SERVICE}-canary", bad))
        ]
        seconds = math.ceil(COMPARED.total_seconds())
        self._played.series = [series for engine in engines for series in engine.series(start, seconds)]
        result = commands.ended(self._capsys, "gate", "dev", "--propose", "--format", "json")
        assert result.errors == ""
        assert json.loads(result.output)["exitCode"] == result.code
        return result.code

    def written(self):
        """Return the service in the stack file."""
        text = (self.deployment.project / "Pulumi.dev.yaml").read_text(encoding="utf-8")
        return yaml.safe_load(text)["config"]["inference-stacks:stack"]["services"][SERVICE]

    def deploy(self):
        """Preview and deploy the stack file; return what the preview said that it would do."""
        _, foreseen = self.deployment.foresee()
        operations = self.deployment.operate()
        assert operations.done == foreseen.done
        return foreseen.done

    def share(self):
        """Return the weights of the live route by backend."""
        (rule,) = self.deployment.get("httproute", SERVICE, self.namespace)["spec"]["rules"]
        return {backend["name"]: backend["weight"] for backend in rule["backendRefs"]}


@pytest.fixture
def pipeline(deploy, plane, monkeypatch, capsys):
    """Return a function that deploys a stack and returns its pipeline."""
    monkeypatch.setattr(gates, "datetime", Later)
    monkeypatch.setattr(prometheus, "_PAUSE_SECONDS", 0)
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    for name in (prometheus.TOKEN, prometheus.AUTHORITY, hosts.TRUSTED, hosts.OFFLINE):
        monkeypatch.delenv(name, raising=False)
    with prometheus_server.playing() as played:

        def begin(namespace):
            deployment = deploy(stack(namespace, played.url))
            deployment.up()
            monkeypatch.chdir(deployment.project)
            return Pipeline(deployment, namespace, played, capsys)

        yield begin


def test_a_canary_that_is_not_worse_gets_all_requests_step_by_step_and_is_folded_in(pipeline):
    loop = pipeline("equal-canary")
    for weight in STEPS[1:]:
        assert loop.ask(bad=0.01) == 0
        assert loop.written()["canary"]["weight"] == weight
        assert loop.deploy() == {ROUTE: "update"}
        assert loop.share() == {SERVICE: 100 - weight, f"{SERVICE}-canary": weight}
    assert loop.ask(bad=0.01) == 0
    folded = loop.written()
    assert "canary" not in folded
    assert folded["model"] == model(2)
    done = loop.deploy()
    assert done.pop(ROUTE) == done.pop(f"{SERVICE}-decode") == "update"
    assert set(done.values()) == {"delete"}
    assert loop.share() == {SERVICE: 1}
    loop.deployment.assert_unchanged()


def test_a_canary_that_is_worse_ends_without_requests_and_nothing_else_changes(pipeline):
    loop = pipeline("worse-canary")
    before = loop.written()
    assert loop.ask(bad=0.06) == 8
    after = loop.written()
    assert after["canary"].pop("weight") == 0
    assert before["canary"].pop("weight") == STEPS[0]
    assert after == before
    assert loop.deploy() == {ROUTE: "update"}
    assert loop.share() == {SERVICE: 100, f"{SERVICE}-canary": 0}
    loop.deployment.assert_unchanged()
