"""A stack as a Mermaid flowchart."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from judging.report.diagram import mermaid
from tests.support.stacks import SHIPPED, plan, shipped, tree

EXAMPLE = Path("examples/canary.yaml")
METERED = Path("examples/metered.yaml")
ID = r"(?<![\w/.-])(?:i|[gs]\d+(?:v\d+[edp]?|r|m)?)(?![\w/.-])"
ANSWERED = {"asked": "2026-11-22T05:00:00Z", "origin": "https://s3.amazonaws.com"}
QUOTED = re.compile(r'"[^"]*"')


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_node_of_an_edge_is_defined_once(path):
    text = mermaid(plan(shipped(path)))
    assert all(line.count('"') % 2 == 0 for line in text.splitlines())
    lines = [QUOTED.sub("", line).strip() for line in text.splitlines()]
    defined = [re.match(ID, line.removeprefix("subgraph "))[0] for line in lines if "[" in line or "{{" in line]
    edges = [re.findall(ID, line) for line in lines if "->" in line]
    assert len(defined) == len(set(defined))
    assert all(len(edge) == 2 for edge in edges)
    assert {each for edge in edges for each in edge} <= {*defined}


def test_a_diagram_has_shares_ports_prefill_and_copies():
    roles = {"model": {"source": "hf://org/m", "name": "org/m"}, "prefill": {}}
    canary = {"canary": {"weight": 25, "headers": {"x-canary": 'a"b'}}}
    mirrored = {"route": {"mirror": {"service": "pd", "percent": 5}}}
    text = mermaid(plan(tree(pd=roles, qwen={**canary, **mirrored})))
    for part in (
        '-->|"/models/qwen · 25 %"| s1v1',
        '-->|"/models/qwen · 75 %"| s1v0',
        '-->|"/models/qwen x-canary: a#quot;b"| s1v1',
        "g0 --> s1r",
        's1v0 -->|"8000"| s1v0d',
        's0v0d -->|"prefill 8000"| s0v0p',
        '-. "copies of 5 %" .-> s1m',
        's1v0e["picker qwen-epp:9002"]',
        "1 replica × 1 nvidia",
    ):
        assert part in text


def test_a_diagram_has_each_set_of_decode_pods_and_what_they_ask():
    text = mermaid(plan(tree(qwen={"decode": {"sets": {"a": {}, "b": {}}}, "prefill": {}})))
    for part in (
        's0v0 -->|"8000"| s0v0d\n',
        's0v0 -->|"8000"| s0v0d1',
        's0v0d1 -->|"prefill 8000"| s0v0p',
        "decode-b ",
    ):
        assert part in text


def test_a_diagram_has_the_proxy_before_the_pool_of_its_picker():
    text = mermaid(plan(tree(qwen={"endpointPicker": {"proxy": {}}})))
    assert 's0v0y(["proxy<br/>qwen-proxy:80"])' in text
    assert "s0v0y --> s0v0\n" in text
    assert "proxy" not in mermaid(plan(tree()))


def test_a_service_without_a_picker_has_a_service_in_the_place_of_its_pool():
    text = mermaid(plan(tree(qwen={"endpointPicker": {"enabled": False}})))
    assert 's0v0[("Service<br/>qwen")]' in text
    assert '-->|"/models/qwen"| s0v0' in text
    assert "picker" not in text


def test_metered_requests_go_through_the_interceptor():
    text = mermaid(plan(shipped(METERED)))
    assert 'i["interceptor<br/>metering/phoebe-interceptor:8080"]' in text
    assert '-->|"/models/qwen"| i' in text
    assert "i --> s0v0\n" in text
    picked = tree(qwen={"interceptor": {"enabled": True}}) | {"interceptor": {"mode": "label", "namespace": "models"}}
    assert 'i -->|"Service qwen"| s0v0d' in mermaid(plan(picked))


def test_a_stack_without_a_gateway_has_no_routes():
    stack = tree()
    del stack["gateway"]
    text = mermaid(plan(stack))
    assert "Gateway" not in text
    assert "HTTPRoute" not in text
    assert "InferencePool" in text


def test_no_name_breaks_a_line_of_the_diagram():
    """See defects H7."""
    whole = plan(tree(qwen={}))
    (service,) = whole.services
    hostile = replace(service, primary=replace(service.primary, model="a\x1b[2J\u202eb\u200b"))
    text = mermaid(replace(whole, services=(hostile,)))
    assert 'subgraph s0["qwen: a?[2J?b?"]' in text
