"""Objectives and rules that the series of a stack do not answer."""

import pytest

from models.problems import ConfigError
from tests.support.stacks import lines, plan, tree
from tests.support.stacks.watched import SLO, watched

OLD = "vllm/vllm-openai:v0.10.2"


def ttft(within, **slo):
    return {"slo": {"ttft": {"within": within, "percent": 95}, **slo}}


def refusals(stack):
    try:
        plan(stack)
    except ConfigError as error:
        return str(error).splitlines()
    return []


def warnings(stack):
    return [line for line in lines(plan(stack).warnings, "warning") if ".slo" in line or ".metrics" in line]


def test_a_time_that_is_no_bound_of_the_engine_names_its_neighbours():
    (line,) = refusals(watched(qwen=ttft("2s")))
    assert line.startswith("services.qwen.slo.ttft.within: is not the bound of a bucket of vLLM ")
    assert line.endswith("which services.qwen runs (2s); write 1s or 2500ms")


@pytest.mark.parametrize(("within", "neighbour"), [("1h", "2560s"), ("1ms", None), ("2500ms", None), ("2560s", None)])
def test_a_time_beyond_all_bounds_has_one_neighbour(within, neighbour):
    found = refusals(watched(qwen=ttft(within)))
    assert [line.rpartition("; ")[2] for line in found] == ([f"write {neighbour}"] if neighbour else [])


OWN_BUCKETS = '--custom-histogram-buckets={"time_to_first_token": [0.2, 1.5, 4], "request_tokens": [7]}'
DOTTED_BUCKETS = "--custom-histogram-buckets.time_to_first_token=[0.2, 1.5, 4]"


def with_arguments(within, *arguments, image="vllm/vllm-openai:v0.32.0"):
    return watched(qwen={"engine": {"image": image, "args": list(arguments)}, **ttft(within)})


@pytest.mark.parametrize("argument", [OWN_BUCKETS, DOTTED_BUCKETS])
def test_a_time_is_checked_by_the_bounds_that_the_service_sets(argument):
    (line,) = refusals(with_arguments("2500ms", argument))
    assert line.startswith(
        "services.qwen.slo.ttft.within: is not the bound of a bucket of services.qwen, "
        "which sets --custom-histogram-buckets (2500ms)"
    )
    assert line.endswith("; write 1500ms or 4s")
    accepted = with_arguments("1500ms", argument)
    assert refusals(accepted) == []
    assert warnings(accepted) == []


def test_bounds_of_another_histogram_change_nothing():
    argument = '--custom-histogram-buckets={"inter_token_latency": [0.2, 1.5, 4]}'
    assert refusals(with_arguments("2500ms", argument)) == []
    (line,) = refusals(with_arguments("1500ms", argument))
    assert line.endswith("which services.qwen runs (1500ms); write 1s or 2500ms")


@pytest.mark.parametrize("lists", ['{"time_to_first_token": [4, 1]}', '{"time_to_first_token": "4"}', "[]"])
def test_bounds_that_no_engine_accepts_are_a_warning(lists):
    stack = with_arguments("2s", f"--custom-histogram-buckets={lists}")
    assert refusals(stack) == []
    (line,) = warnings(stack)
    assert line.startswith(
        "services.qwen.slo.ttft.within: is not checked, because services.qwen sets --custom-histogram-buckets "
    )


def test_a_time_in_defaults_is_told_at_its_place_with_the_service():
    stack = watched(qwen={"slo": None}) | {"defaults": ttft("2s")}
    (line,) = refusals(stack)
    assert line.startswith("defaults.slo.ttft.within: ")
    assert "services.qwen" in line


def test_a_canary_is_held_to_the_bounds_of_its_own_version():
    stack = watched(qwen={"canary": {"weight": 10, "engine": {"image": "vllm/vllm-openai:v0.22.0"}}, **ttft("2s")})
    assert [line.partition("which ")[2].partition(" runs")[0] for line in refusals(stack)] == [
        "services.qwen",
        "services.qwen.canary",
    ]


def test_a_time_is_measured_by_the_picker_if_it_counts():
    assert refusals(watched(qwen=ttft("2s", source="picker"))) == []
    (line,) = refusals(watched(qwen=ttft("2500ms", source="picker")))
    assert line.endswith("; write 2s or 3s")


def test_a_picker_without_predictor_may_not_measure_a_time():
    (line,) = refusals(watched(qwen={"release": "gie-1.5", **ttft("2s", source="picker")}))
    assert "is not measured by the picker of gie-1.5" in line


def test_an_old_engine_does_not_measure_the_time_per_token():
    slo = {"tpot": {"within": "100ms", "percent": 95}}
    (line,) = refusals(watched(qwen={"slo": slo, "engine": {"image": OLD}}))
    assert line.startswith(
        "services.qwen.slo.tpot: needs the time per output token, which is not measured by vLLM 0.10.2"
    )


def test_bounds_of_a_version_that_nobody_knows_are_not_checked():
    (line,) = warnings(watched(qwen={"engine": {"image": "registry.example/engine:nightly"}, **ttft("2s")}))
    assert line.startswith("services.qwen.slo.ttft.within: is not checked, because the version of vLLM in ")


@pytest.mark.parametrize(
    ("service", "message"),
    [
        ({"metrics": {"decode": False}}, "those of services.qwen are not scraped"),
        ({"metrics": {"picker": False}, "slo": SLO | {"source": "picker"}}, "services.qwen, which is not scraped"),
        ({"endpointPicker": {"enabled": False}, "slo": {"availability": 99, "source": "picker"}}, "does not exist"),
    ],
)
def test_objectives_are_refused_if_what_counts_is_not_scraped(service, message):
    found = [line for line in refusals(watched(qwen=service)) if line.startswith("services.qwen.slo.source")]
    assert len(found) == 1
    assert message in found[0]


def test_engines_of_other_kinds_do_not_count():
    service = {"engine": {"type": "sglang", "image": "lmsysorg/sglang:v0.5.6"}, "slo": {"availability": 99}}
    (line,) = [line for line in refusals(watched(qwen=service)) if ".slo" in line]
    assert line.startswith("services.qwen.slo.source: counts series of vLLM, and services.qwen runs SGLang (engine)")


def test_rules_need_a_scraper():
    stack = tree() | {"observability": {"rules": {}, "dashboards": {}}}
    assert [line.partition(":")[0] for line in refusals(stack)] == [
        "observability.rules",
        "observability.dashboards",
    ]


def test_objectives_that_nothing_uses_are_a_warning():
    stack = tree(qwen={"slo": SLO}) | {"observability": {"metrics": {"type": "prometheus-operator"}}}
    (line,) = warnings(stack)
    assert line.startswith("services.qwen.slo: has no effect without rules, dashboards and gates")
    assert warnings(watched()) == []


def test_an_interval_leaves_four_samples_in_the_shortest_window():
    (line,) = warnings(watched(qwen={"metrics": {"interval": "76s"}}))
    assert line.startswith("services.qwen.metrics.interval: leaves rules fewer than 4 samples")
    assert warnings(watched(qwen={"metrics": {"interval": "75s"}})) == []


def test_an_interval_without_two_samples_in_the_shortest_window_is_refused():
    (line,) = refusals(watched(qwen={"metrics": {"interval": "5m"}}))
    assert line.startswith(
        "services.qwen.metrics.interval: leaves rules no two samples in their shortest window, 5m (5m)"
    )
    assert refusals(watched(qwen={"metrics": {"interval": "299s"}})) == []
    without = watched(qwen={"metrics": {"interval": "5m"}, "slo": None})
    assert refusals(without | {"observability": {"metrics": {"type": "prometheus-operator"}}}) == []


def test_rules_for_a_service_that_nobody_scrapes_are_a_warning():
    off = {"metrics": {"decode": False, "picker": False}, "slo": None}
    (line,) = warnings(watched(qwen=off))
    assert line.startswith("services.qwen.metrics: leaves the alerts about requests without series")


def test_decode_pods_do_not_see_the_time_of_prefill():
    (line,) = warnings(watched(qwen={"prefill": {}, **ttft("2500ms")}))
    assert line.startswith("services.qwen.slo.source: leaves out the time that prefill pods")
