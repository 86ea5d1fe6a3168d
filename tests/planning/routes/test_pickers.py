"""Canaries on gateways that ask the picker of one pool only."""

import pytest

from tests.support.stacks import find, lines, plan, rendered, tree
from tests.support.stacks.routed import told as refused
from tests.support.stacks.routed import tried

OLD = {"version": "1.31.1"}
UNKNOWN = {}
MENDED = {"version": "1.31.2"}


SINCE = "1.29.8, 1.30.6, 1.31.2, 1.32.0 or newer"


def istio(version, stack):
    return stack | {"gateway": {"name": "gateway", "namespace": "gateways", "provider": "istio"} | version}


def warned(stack):
    return lines(plan(stack).warnings, "warning")


@pytest.mark.parametrize("weight", [0, 10, 100])
def test_the_primary_is_the_last_backend_so_that_its_picker_is_asked_and_no_canary_breaks_it(weight):
    """See defects A1."""
    (rule,) = find(rendered(tried(weight, {} if weight else None)), "HTTPRoute", "qwen")["spec"]["rules"]
    assert [(backend["name"], backend["weight"]) for backend in rule["backendRefs"]] == [
        ("qwen-canary", weight),
        ("qwen", 100 - weight),
    ]


@pytest.mark.parametrize(
    ("version", "known"), [(OLD, "Istio 1.31.1"), (UNKNOWN, "Istio of an unknown version"), (MENDED, None)]
)
def test_a_canary_that_no_picker_chooses_for_is_told(version, known):
    """See defects A1."""
    warnings = [line for line in warned(istio(version, tried(10))) if "picker" in line]
    assert warnings == [
        "services.qwen.canary.weight: no endpoint picker chooses among the canary's pods, because "
        f"{known} asks the primary's picker alone; set gateway.version if the gateway runs {SINCE}"
        for _ in [known]
        if known
    ]


@pytest.mark.parametrize("weight", [0, 100])
def test_nothing_is_told_where_requests_are_not_divided(weight):
    """See defects A1."""
    stack = istio(OLD, tree(qwen={"prefill": {}, "canary": {"weight": weight, "headers": {"x-canary": "1"}}}))
    assert [line for line in warned(stack) if "asks the primary" in line] == []


@pytest.mark.parametrize("version", [OLD, UNKNOWN])
@pytest.mark.parametrize(
    "service", [{"prefill": {}, "canary": {"weight": 10}}, {"canary": {"weight": 9, "prefill": {}}}]
)
def test_a_share_beside_prefill_is_refused_where_one_picker_is_asked(version, service):
    """See defects A1."""
    (line,) = refused(istio(version, tree(qwen=service)))
    assert line.startswith("services.qwen.canary.weight: divides requests between pools with prefill, but Istio ")
    assert line.endswith(f"set gateway.version if the gateway runs {SINCE}, or write weight 0 and canary.headers")
    assert plan(istio(MENDED, tree(qwen=service)))


@pytest.mark.parametrize("provider", ["gke", "agentgateway", "none"])
def test_other_gateways_ask_the_picker_of_each_pool(provider):
    """See defects A1."""
    stack = tree(qwen={"canary": {"weight": 10}})
    stack["gateway"] = {"name": "gateway", "namespace": "gateways", "provider": provider}
    assert [line for line in warned(stack) if "picker" in line] == []
