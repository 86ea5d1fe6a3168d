"""Words of gates, and queries that a variant and a window are put into."""

import pytest
from pydantic import ValidationError

from models.gates import Gates

QUERY = 'sum(increase(x_total{variant="$variant"}[$window]))'


def refused(**words):
    with pytest.raises(ValidationError) as error:
        Gates.model_validate(words)
    return [details["msg"] for details in error.value.errors()]


def test_a_gate_without_words_compares_errors_for_an_hour():
    gates = Gates.model_validate({})
    assert (gates.bake, gates.warmup, gates.min_requests, gates.confidence) == ("60m", "5m", 500, 95)
    assert (gates.worse.errors, gates.worse.ttft, gates.worse.tpot) == (1, None, None)
    assert gates.steps == (5, 25, 50, 100)


@pytest.mark.parametrize("bake", ["4m59s", "48h1ms"])
def test_a_time_that_is_too_short_or_too_long_is_refused(bake):
    assert refused(bake=bake) == ["is not from 5m to 48h; write the time for which both are compared, such as 60m"]
    assert Gates.model_validate({"bake": "5m", "warmup": "0s"}).bake == "5m"


@pytest.mark.parametrize("steps", [[5, 5], [50, 25], []])
def test_steps_ascend(steps):
    assert len(refused(steps=steps)) == 1
    assert Gates.model_validate({"steps": [1, 100]}).steps == (1, 100)


@pytest.mark.parametrize(
    "query", ["x", QUERY.replace("$variant", "primary"), QUERY.replace("$window", "1m"), f"$x {QUERY}"]
)
def test_a_query_counts_one_variant_in_one_window(query):
    assert len(refused(queries={"mine": {"bad": query, "all": QUERY, "worse": 1}})) == 1


def test_a_dollar_at_the_end_of_a_pattern_is_no_variable():
    pattern = 'sum(increase(x_total{variant="$variant",pod=~"a.*$",service="$service"}[$window]))'
    queries = {"mine": {"bad": pattern, "all": QUERY, "worse": 1}}
    assert Gates.model_validate({"queries": queries}).queries["mine"].bad == pattern


def test_a_query_has_no_name_of_a_gate_that_exists():
    assert len(refused(queries={"errors": {"bad": QUERY, "all": QUERY, "worse": 1}})) == 1
