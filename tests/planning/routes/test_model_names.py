"""Requests are matched by the model in their bodies."""

import pytest

from tests.support.stacks import find, rendered
from tests.support.stacks.routed import (
    BASE_MODEL,
    BODY,
    headers,
    route,
    routed,
    rules,
    told,
)


def test_a_model_is_matched_in_the_header_that_the_payload_processor_sets():
    found = route("qwen", BODY, matches=[{"model": "org/m"}])
    (rule,) = rules(found)
    assert rule["matches"] == [
        {
            "path": {"type": "PathPrefix", "value": "/"},
            "headers": [{"type": "Exact", "name": BASE_MODEL, "value": "org/m"}],
        }
    ]


@pytest.mark.parametrize("release", ["llm-d-0.10", "llm-d-0.9", "llm-d-0.6", "gie-1.3"])
def test_every_release_knows_the_header_of_the_base_model(release):
    stack = routed(BODY, matches=[{"model": "org/m"}]) | {"release": release}
    (rule,) = rules(find(rendered(stack), "HTTPRoute", "qwen"))
    assert headers(rule["matches"][0]) == {BASE_MODEL: "org/m"}


def test_a_model_is_not_matched_where_nobody_reads_bodies():
    (line,) = told(routed(matches=[{"model": "org/m"}]))
    assert line.startswith("services.qwen.route.matches[0].model: is matched in a header that nobody sets")


def test_a_header_of_the_model_is_no_other_matchs():
    (line,) = told(routed(BODY, matches=[{"model": "org/m", "headers": {BASE_MODEL.lower(): "x"}}]))
    assert line.startswith("services.qwen.route.matches[0].model: is matched by headers, too")
