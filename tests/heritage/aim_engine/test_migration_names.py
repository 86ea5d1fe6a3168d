"""aim-engine's AIMService: the names of its objects, by its own vectors; ours never meet where theirs do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration import names as compatibility
from migration.names import aim_artifact, aim_name, aim_of_artifact, aim_route, inference_service
from planning.ground.names import names

DEFAULT, TEAM = "default", "team-production-inference-eu1"
LONG = "very-long-service-name-that-might-exceed-kubernetes-limits"
UID = "11111111-2222-3333-4444-555555555555"
QWEN = "hf://Qwen/Qwen3-32B"
TOKEN = {"name": "HF_TOKEN", "value": "x"}
SECRET = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}


@pytest.mark.parametrize(
    ("service", "namespace", "isvc", "route"),
    [
        ("my-service", "my-namespace", "my-service-783d2dc1", "my-service-783d2dc1"),
        ("svc", "ns", "svc-e2c6bafc", "svc-e2c6bafc"),
        ("svc", "test-ns", "svc-1c06e671", "svc-1c06e671"),
        ("qwen-chat", "ml-team", "qwen-chat-a04542d9", "qwen-chat-a04542d9"),
        (
            LONG,
            DEFAULT,
            "very-long-service-name-that-might-ex-1080a608",
            "very-long-service-name-that-might-exceed-kubernetes-li-1080a608",
        ),
        (
            "very-long-service-name-that-might-exceed-limits",
            DEFAULT,
            "very-long-service-name-that-might-ex-1080a608",
            "very-long-service-name-that-might-exceed-limits-1080a608",
        ),
        ("My_Service.v1", DEFAULT, "my-service-v1-1080a608", "my-service-v1-1080a608"),
        ("chat-llama-3-8b-prod", TEAM, "chat-llama-3-8-1160adbc", "chat-llama-3-8b-prod-1160adbc"),
        ("chat-llama-3-8b-dev", TEAM, "chat-llama-3-8-1160adbc", "chat-llama-3-8b-dev-1160adbc"),
        (
            "qwen3-32b-fp8-latency-production",
            "enterprise-ai-platform",
            "qwen3-32b-fp8-latency-fea459d2",
            "qwen3-32b-fp8-latency-production-fea459d2",
        ),
        ("a", "n" * 42, "a-70a2a165", "a-70a2a165"),
        ("abcdef", "n" * 42, "a-70a2a165", "abcdef-70a2a165"),
        ("", DEFAULT, "part-1080a608", "part-1080a608"),
        ("---", DEFAULT, "part-1080a608", "part-1080a608"),
    ],
)
def test_aim_9_4_inference_services_and_routes(service, namespace, isvc, route):
    """See aim-engine 4.3."""
    assert inference_service(namespace, service) == isvc
    assert aim_route(namespace, service) == route
    assert compatibility.predictor(namespace, service) == f"{isvc}-predictor-{namespace}"
    assert len(compatibility.predictor(namespace, service)) <= 63


def test_aim_9_4_a_namespace_that_leaves_no_name_is_refused_where_ours_takes_any():
    assert aim_route("n" * 43, "a") == "a-ce61d7f0"
    with pytest.raises(
        ValueError, match=rf'^namespace "{"n" * 43}" is too long \(43 chars\); InferenceService hostname'
    ):
        inference_service("n" * 43, "a")
    assert names("n" * 63, "a").base == "a"


@pytest.mark.parametrize(
    ("parts", "hashed", "options", "expected"),
    [
        (["my-service", "temp"], ["metric=latency", "precision=fp16"], {}, "my-service-temp-5e3e7ab0"),
        (["my-service", "temp-cache"], [], {}, "my-service-temp-cache"),
        (["My.Svc", "", "x_y"], ["a"], {}, "my-svc-part-x-y-ac8d8342"),
        (["a" * 40, "b" * 40], ["a"], {}, f"{'a' * 26}-{'b' * 27}-ac8d8342"),
        (["a" * 40, "b" * 41], ["a"], {}, f"{'a' * 26}-{'b' * 27}-ac8d8342"),
        (["aaaa-bbbb-cccc-dddd"], ["x"], {"longest": 19}, "aaaa-bbbb-ba2df490"),
        (["aaaa-bbbb-cccc-dddd"], ["x"], {"longest": 14}, "aaaa-ba2df490"),
        (["svc"], [{"b": "2", "a": "1"}], {}, "svc-59851255"),
        (["svc"], [None], {}, "svc-74234e98"),
        (["svc"], [[]], {}, "svc-74234e98"),
        (["svc"], ["a&b<c>"], {}, "svc-7f451504"),
        (["svc"], [4], {"digits": 4}, "svc-4b22"),
        (["svc"], [[TOKEN]], {}, "svc-b24f87f9"),
    ],
)
def test_aim_9_4_derived_names(parts, hashed, options, expected):
    assert aim_name(parts, hashed, **options) == expected


def test_aim_9_4_a_name_has_parts_and_a_limit_that_labels_have():
    with pytest.raises(ValueError, match=r"^nameParts cannot be empty$"):
        aim_name([])
    with pytest.raises(ValueError, match=r"^maxLength must be between 1 and 63, got 64$"):
        aim_name(["a"], longest=64)


def test_aim_9_4_template_caches():
    def own(uid):
        return compatibility.aim_template_cache("my-namespace", "llama-template", "my-svc", uid)

    assert compatibility.aim_template_cache("my-namespace", "llama-template") == "llama-template-783d2dc1"
    assert own(UID) == "llama-template-my-svc-16b81fda"
    assert own("service-uid-a") == "llama-template-my-svc-dc5ac241"
    assert own("service-uid-b") == "llama-template-my-svc-7ac737af"


@pytest.mark.parametrize(
    ("source", "more", "expected"),
    [
        (QWEN, {}, "hf---qwen-qwen3-32b-c00b812b59"),
        (QWEN, {"storage_class": "fast"}, "hf---qwen-qwen3-32b-c7dae42d02"),
        (QWEN, {"env": [TOKEN]}, "hf---qwen-qwen3-32b-fe9a71eebd"),
        (QWEN, {"env": [SECRET]}, "hf---qwen-qwen3-32b-ad76fcd1e6"),
        (QWEN, {"cache": "tc-a"}, "hf---qwen-qwen3-32b-3367c34906"),
        (QWEN, {"cache": "tc-b"}, "hf---qwen-qwen3-32b-0dc808eee8"),
        ("hf://Qwen/Qwen2-0.5B", {}, "hf---qwen-qwen2-0-5b-f71e8faae6"),
    ],
)
def test_aim_9_4_artifacts(source, more, expected):
    assert aim_artifact(source, **more) == expected


@pytest.mark.parametrize("suffix", ["cache", "download", "check-size"])
def test_aim_9_4_claims_and_jobs(suffix):
    """See aim-engine 4.3."""
    artifact = "hf---qwen-qwen3-32b-0123456789"
    assert aim_of_artifact(artifact, suffix, UID) == f"{artifact}-{suffix}-16b81fda"


@pytest.mark.parametrize(
    ("text", "name", "label"),
    [
        ("Meta/Llama-3-8B", "meta-llama-3-8b", "meta_llama-3-8b"),
        ("Qwen/Qwen2.5-0.5B", "qwen-qwen2-5-0-5b", "qwen_qwen2.5-0.5b"),
        ("amd/Llama-3.1-8B-Instruct", "amd-llama-3-1-8b-instruct", "amd_llama-3.1-8b-instruct"),
        ("a..b", "a--b", "a..b"),
        ("a b", "a-b", "a_b"),
        ("-x-", "x", "x"),
        ("über", "ber", "ber"),
        ("MI300X", "mi300x", "mi300x"),
        ("a" * 62 + "-b", "a" * 62, "a" * 62),
    ],
)
def test_aim_9_4_sanitisers(text, name, label):
    assert compatibility.rfc_1123(text) == name
    assert compatibility.label_value(text) == label


def test_aim_9_4_what_sanitises_to_nothing():
    assert compatibility.rfc_1123("_") == compatibility.rfc_1123("") == ""
    for text in ("", "___"):
        with pytest.raises(ValueError, match=r"^label value is empty after sanitization$"):
            compatibility.label_value(text)


SERVICES = st.from_regex(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)


@given(SERVICES, SERVICES)
def test_every_other_systems_name_is_legal_with_its_limit_and_ours_never_meet_as_theirs_do(service, other):
    """See aim-engine 9.4, B40."""
    assert len(aim_route(DEFAULT, service)) <= 63
    assert len(compatibility.predictor(DEFAULT, service)) <= 63
    assert (names(DEFAULT, service).base == names(DEFAULT, other).base) is (service == other)


def test_services_that_meet_under_their_names_have_names_of_their_own_here():
    """See aim-engine B40."""
    pairs = [(TEAM, "chat-llama-3-8b-prod", "chat-llama-3-8b-dev"), ("n" * 42, "a", "abcdef")]
    for namespace, service, other in pairs:
        assert inference_service(namespace, service) == inference_service(namespace, other)
        assert names(namespace, service).base != names(namespace, other).base


BASE, MINIO = "ghcr.io/silogen/aim-base:0.7.0", "https://minio-{}.local"
MODEL = "my-org/my-model"
GPU, COUNT, FP8 = ("gpu", "MI300X"), ("count", 4), ("precision", "fp8")


@pytest.mark.parametrize(
    ("parts", "hashed", "expected"),
    [
        (["llama-3-8b", "v1.0.0"], ["ghcr.io/amd/llama-3-8b:v1.0.0"], "llama-3-8b-v1-0-0-f15afcca"),
        (["llama-3-8b", "v2.0.0"], ["ghcr.io/amd/llama-3-8b:v2.0.0"], "llama-3-8b-v2-0-0-61894027"),
        (["mistral", "latest"], ["registry.example.com:5000/models/mistral:latest"], "mistral-latest-cc9c0d55"),
        (["model", "abc123"], ["ghcr.io/amd/model@sha256:abc123"], "model-abc123-58c6ba56"),
        (["model", "latest"], ["ghcr.io/amd/model"], "model-latest-962085c9"),
        (["nginx", "latest"], ["nginx:latest"], "nginx-latest-9f4a2bc0"),
        (["name-tag", "012345"], ["ghcr.io/org/name:tag@sha256:0123456789abcdef"], "name-tag-012345-766f6271"),
        (["model-x", "v1-2"], ["GHCR.IO/AMD/Model_X:V1_2"], "model-x-v1-2-6a9cdd5b"),
    ],
)
def test_aim_9_4_models_of_images(parts, hashed, expected):
    assert aim_name(parts, hashed) == expected


@pytest.mark.parametrize(
    ("parts", "hashed", "expected"),
    [
        ([MODEL], [BASE, MODEL, "s3://bucket/model"], "my-org-my-model-770ab756"),
        ([MODEL], [BASE, MODEL, "s3://bucket/model", MINIO.format(1)], "my-org-my-model-4089a3ad"),
        ([MODEL], [BASE, MODEL, "s3://bucket/model", MINIO.format(2)], "my-org-my-model-f431e261"),
        (["custom-model"], ["amdenterpriseai/aim-base:0.9"], "custom-model-84844741"),
    ],
)
def test_aim_9_4_custom_models(parts, hashed, expected):
    assert aim_name(parts, hashed) == expected


@pytest.mark.parametrize(
    ("parts", "pairs", "expected"),
    [
        (["base", "ovr", "mi300x"], [GPU], "base-ovr-mi300x-a61e"),
        (["base", "ovr", "4gpu"], [COUNT], "base-ovr-4gpu-2da2"),
        (["base", "ovr", "mi325x", "8gpu"], [("gpu", "MI325X"), ("count", 8)], "base-ovr-mi325x-8gpu-eeea"),
        (["base", "ovr", "fp8"], [FP8], "base-ovr-fp8-f7cb"),
        (["base", "ovr", "latency"], [("metric", "latency")], "base-ovr-latency-817c"),
        (
            ["my-template", "ovr", "mi300x", "4gpu", "fp8", "throughput"],
            [GPU, COUNT, FP8, ("metric", "throughput")],
            "my-template-ovr-mi300x-4gpu-fp8-throughput-b295",
        ),
    ],
)
def test_aim_9_4_derived_templates(parts, pairs, expected):
    assert aim_name(parts, [word for pair in pairs for word in pair], digits=4) == expected


@pytest.mark.parametrize(
    ("image", "suffix", "known", "expected"),
    [
        (
            "llama-3-1-70b-instruct",
            "2x-mi300x-lat-fp8",
            "mi300x-x2-latency-fp8",
            "llama-3-1-70b-instruct-2x-mi300x-lat-fp8-27aa",
        ),
        ("test-model", "thr", "throughput", "test-model-thr-e0c0"),
        ("test-model", "mi300x", "mi300x", "test-model-mi300x-affc"),
        ("test-model", "x4", "x4", "test-model-x4-d55d"),
        ("test-model", "", "", "test-model-part-452c"),
    ],
)
def test_aim_9_4_discovered_templates(image, suffix, known, expected):
    identity = "-".join(filter(None, ["my-model", image, known]))
    assert aim_name([image, suffix], [identity], digits=4) == expected
