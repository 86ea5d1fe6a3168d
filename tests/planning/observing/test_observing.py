"""Groups of rules of a service."""

from tests.support.stacks import plan
from tests.support.stacks.watched import groups, rules, watched

OFF = {"decode": False, "picker": False}
VERSIONS = {"old": "0.9.1", "new": "0.33.0"}


def test_recorded_series_stand_before_the_alerts_of_a_group():
    kinds = ["record" in rule for rule in groups(watched())["qwen-primary"]]
    assert kinds == sorted(kinds, reverse=True)


def test_a_service_that_nobody_scrapes_has_alerts_about_series_of_the_cluster_alone():
    stack = watched(qwen={"slo": None, "metrics": OFF})
    names = [rule["expr"].partition("{")[0].rpartition("(")[2] for rule in rules(stack)]
    assert names
    assert not [name for name in names if not name.startswith("kube_")]


def test_a_service_with_the_pool_of_somebody_else_has_no_rules():
    pool = {"existingPool": {"name": "vllm-qwen3"}, "model": {"name": "Qwen/Qwen3-0.6B"}}
    stack = watched()
    stack["services"]["other"] = pool
    observing = {service.key: service.observing for service in plan(stack).services}
    assert observing["other"] is None
    assert observing["qwen"] is not None


def test_two_services_with_two_engine_versions_have_the_names_of_their_own():
    services = {
        key: {"engine": {"image": f"vllm/vllm-openai:v{version}"}, "slo": None} for key, version in VERSIONS.items()
    }
    expressions = {
        key: " ".join(rule["expr"] for rule in of_group) for key, of_group in groups(watched(**services)).items()
    }
    assert "vllm:gpu_cache_usage_perc{" in expressions["old-primary"]
    assert "vllm:kv_cache_usage_perc{" not in expressions["old-primary"]
    assert "vllm:kv_cache_usage_perc{" in expressions["new-primary"]
