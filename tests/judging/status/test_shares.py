"""Requests are divided as the rules for requests without special headers say."""

import dataclasses

import pytest

from judging.status import shares, verdict
from judging.status.topology import ServiceView
from planning.ground.snapshot import KINDS, POD
from tests.support.cluster.status import marked
from tests.support.healthy import whole
from tests.support.stacks.varied_metering import METERED

STACK = METERED["addressed"]


def serves_without(name, prefix):
    """Tell whether a metered service serves without the pods whose names begin with a prefix."""
    healthy = whole(marked(STACK))
    left = [pod for pod in healthy.of(POD) if not pod["metadata"]["name"].startswith(prefix)]
    assert len(left) < len(healthy.of(POD))
    objects = {kind: left if kind == POD else healthy.of(kind) for kind in KINDS}
    (service,) = verdict.of(dataclasses.replace(healthy, objects=objects), {}).only(None, [name]).services
    return service.serves


def test_a_metered_canary_for_a_header_alone_is_not_needed():
    assert serves_without("qwen", "qwen-canary-decode") is True
    assert serves_without("qwen", "qwen-decode") is False


def test_a_metered_canary_that_gets_all_requests_is_needed_and_its_primary_is_not():
    assert serves_without("bert", "bert-canary-decode") is False
    assert serves_without("bert", "bert-decode") is True


def rule(*matches, backend="chat"):
    return {"matches": [*matches], "backendRefs": [{"name": backend, "port": 80}]}


def header(name="x-canary", value="always", **fields):
    return {"name": name, "value": value, **fields}


CANARY = "chat-canary"


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        pytest.param([rule({"headers": [header()]}, backend=CANARY), rule()], ["chat"], id="every request"),
        pytest.param(
            [rule({"path": {"type": "PathPrefix", "value": "/"}}), rule({"headers": [header()]}, backend=CANARY)],
            ["chat"],
            id="the default of a path",
        ),
        pytest.param(
            [
                rule({"headers": [header("X-A"), header(type="Exact")]}, backend=CANARY),
                rule({"headers": [header("x-a", type="Exact")]}),
            ],
            ["chat"],
            id="a header of all requests",
        ),
        pytest.param(
            [rule({"headers": [header(value="1")]}), rule({"headers": [header(value="2")]}, backend=CANARY)],
            ["chat", CANARY],
            id="other values",
        ),
        pytest.param(
            [rule({"headers": [header()]}, {"method": "POST"}, backend=CANARY), rule()],
            ["chat-canary", "chat"],
            id="one match of two is not special",
        ),
        pytest.param(
            [rule({"method": "POST", "headers": [header()]}, backend=CANARY), rule({"method": "GET"})],
            [CANARY, "chat"],
            id="other requests",
        ),
        pytest.param([rule({"headers": [header()]}, backend=CANARY)], [CANARY], id="the only rule"),
        pytest.param([{"matches": "x"}, None, rule({"headers": "x"})], ["chat"], id="garbage"),
    ],
)
def test_a_rule_is_special_if_another_has_its_match_without_a_header(rules, names):
    route = {"metadata": {"namespace": "team", "name": "chat"}, "spec": {"rules": rules}}
    view = ServiceView("team", "chat", "", (), (route,))
    assert [share.name for share in shares.shares(view)] == names
