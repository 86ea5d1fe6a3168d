"""Series of vLLM in custom metrics of autoscalers, judged by the engine's version and settings."""

import pytest

from tests.support.stacks import lines, plan, tree
from tests.support.stacks.misuses import configured

IMAGE = {"engine": {"image": "registry.example/vllm-openai:v0.30.0"}}
AT = "services.qwen.autoscaling.metrics[0].spec.metadata.query"


def told(query, version, kv_cache=None, **engine):
    """Return the warnings about a query in a custom metric."""
    trigger = {
        "type": "prometheus",
        "metadata": {"serverAddress": "http://prometheus", "query": query, "threshold": "1"},
    }
    scaling = {"type": "keda", "maxReplicas": 2, "metrics": [{"type": "custom", "spec": trigger}]}
    service = {"autoscaling": scaling, "engine": {"image": f"registry.example/vllm-openai:{version}", **engine}}
    if kv_cache:
        service["kvCache"] = kv_cache
    warnings = lines(plan(tree(qwen=service)).warnings, "warning")
    return [line.removeprefix(f"{AT}: ") for line in warnings if line.startswith(AT)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "avg(vllm:gpu_cache_usage_perc)",
            (
                "asks for a series that vLLM 0.30.0 does not report (vllm:gpu_cache_usage_perc); "
                "vLLM reports it up to 0.11.2; "
                "did you mean vllm:kv_cache_usage_perc?"
            ),
        ),
        (
            "rate(vllm:prompt_tokens[1m])",
            (
                "asks for a series that vLLM 0.30.0 does not report (vllm:prompt_tokens); "
                "did you mean vllm:prompt_tokens_total?"
            ),
        ),
        (
            "sum(vllm:num_request_waiting)",
            (
                "asks for a series that vLLM 0.30.0 does not report (vllm:num_request_waiting); "
                "did you mean vllm:num_requests_waiting?"
            ),
        ),
        ("vllm:ours", "asks for a series that vLLM 0.30.0 does not report (vllm:ours)"),
        (
            "vllm:simple_kv_offload_used_blocks",
            (
                "asks for a series that vLLM 0.30.0 does not report (vllm:simple_kv_offload_used_blocks); "
                "vLLM reports it from 0.31.0 on"
            ),
        ),
        (
            "vllm:lora_requests_info",
            "asks for a series that vLLM reports only with --enable-lora (vllm:lora_requests_info)",
        ),
        (
            "vllm:nixl_xfer_time_seconds_count",
            (
                "asks for a series that vLLM reports only with --kv-transfer-config and Nixl in its value "
                "(vllm:nixl_xfer_time_seconds_count)"
            ),
        ),
        (
            "vllm:corrupted_requests_total",
            (
                "asks for a series that vLLM reports only with VLLM_COMPUTE_NANS_IN_LOGITS "
                "(vllm:corrupted_requests_total)"
            ),
        ),
    ],
)
def test_a_series_that_the_engine_does_not_report_is_told(query, message):
    assert told(query, "v0.30.0") == [message]


@pytest.mark.parametrize(
    "query",
    [
        "sum(vllm:num_requests_waiting) + sum(vllm:num_requests_running)",
        "histogram_quantile(0.9, rate(vllm:time_to_first_token_seconds_bucket[1m]))",
        "rate(vllm:prompt_tokens_total[1m])",
        "vllm:queue:rate5m",
        'sum({__name__=~"vllm:kv_cache.*"})',
        "http_requests_total",
    ],
)
def test_series_of_the_engine_and_series_of_others_are_not_told(query):
    assert told(query, "v0.30.0") == []


def test_a_setting_of_the_engine_makes_its_series_known():
    assert told("vllm:corrupted_requests_total", "v0.30.0", env={"VLLM_COMPUTE_NANS_IN_LOGITS": "1"}) == []
    assert told("vllm:kv_block_lifetime_seconds_sum", "v0.30.0", args=["--kv-cache-metrics"]) == []
    assert len(told("vllm:kv_block_lifetime_seconds_sum", "v0.30.0")) == 1
    nixl = ["--kv-transfer-config", '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}']
    assert told("vllm:nixl_xfer_time_seconds_sum", "v0.30.0", args=nixl) == []


@pytest.mark.parametrize(
    "args",
    [
        ["--speculative-config", '{"method": "ngram"}'],
        ["--speculative_config.method=ngram"],
        ["-sc", '{"method": "ngram"}'],
        ["-sc.method", "ngram"],
        ["--spec-method", "ngram"],
        ["--spec-model", "/models/draft"],
        ["--spec-tokens=2"],
    ],
)
def test_each_spelling_of_speculation_makes_its_series_known(args):
    assert told("vllm:spec_decode_num_drafts_total", "v0.30.0", args=args) == []


def offloading(query, version="v0.30.0", memory="32Gi", **env):
    """Return the warnings about a query for an engine that offloads its cache to the host's memory."""
    return told(query, version, kv_cache={"cpuOffload": memory} if memory else None, env=env)


def test_the_field_for_offloading_makes_the_series_of_its_connector_known():
    query = "rate(vllm:kv_offload_load_bytes_total[1m])"
    assert offloading(query) == []
    assert offloading(query, memory=None) == [
        (
            "asks for a series that vLLM reports only with --kv-transfer-config and OffloadingConnector in its value, "
            "or with --kv-offloading-size (vllm:kv_offload_load_bytes_total)"
        )
    ]
    assert offloading("vllm:num_requests_kv_fetch_by_stage", "v0.32.0") == []
    assert len(offloading("vllm:num_requests_kv_fetch_by_stage", "v0.32.0", memory=None)) == 1


def test_simple_offloading_needs_the_variable_beside_the_field():
    query, variable = "vllm:simple_kv_offload_used_blocks", {"VLLM_USE_SIMPLE_KV_OFFLOAD": "1"}
    assert offloading(query, "v0.32.0", **variable) == []
    (line,) = offloading(query, "v0.32.0")
    assert "only with --kv-transfer-config and SimpleCPUOffloadConnector in its value, or with" in line
    assert "or with --kv-offloading-size and VLLM_USE_SIMPLE_KV_OFFLOAD (" in line
    assert offloading(query, "v0.32.0", memory=None, **variable) == [line]


def test_versions_differ_and_an_unknown_version_is_not_judged():
    query = "vllm:gpu_cache_usage_perc"
    assert told(query, "v0.8.5") == []
    assert len(told(query, "v0.15.1")) == 1
    assert told(query, "nightly") == []


def picking(**specs):
    """Return the warnings about series in the configuration of a picker."""
    extractor = {"type": "core-metrics-extractor", "parameters": {"engineConfigs": [{"name": "own", **specs}]}}
    return [
        line.partition("Spec: ")[2]
        for line in lines(plan(configured(extractor, service=IMAGE)).warnings, "warning")
        if "asks for a series" in line
    ]


def test_a_series_in_the_configuration_of_a_picker_is_judged_by_the_version_alone():
    assert picking(queuedRequestsSpec="vllm:num_requests_waiting", loraSpec="vllm:lora_requests_info") == []
    assert picking(kvUsageSpec="vllm:gpu_cache_usage_perc") == [
        (
            "asks for a series that vLLM 0.30.0 does not report (vllm:gpu_cache_usage_perc); "
            "vLLM reports it up to 0.11.2; did you mean vllm:kv_cache_usage_perc?"
        )
    ]
