"""Decisions: devices, resources, arguments, channels and outputs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.vocabulary import amount, seconds
from planning import outputs
from planning.ground.cluster_facts import ClusterFacts, Served, Unknown
from planning.preflight import kinds
from planning.releases import channel, channels
from tests.support.stacks import find, plan, rendered, tree


def engine(**service):
    return find(rendered(tree(qwen=service)), "Deployment", "qwen-decode")["spec"]["template"]["spec"]["containers"][0]


@given(st.integers(1, 16), st.integers(1, 16))
def test_devices_of_a_pod_are_tensor_times_data(tensor, data):
    resources = engine(parallelism={"tensor": tensor, "data": data})["resources"]
    assert resources["requests"]["nvidia.com/gpu"] == resources["limits"]["nvidia.com/gpu"] == str(tensor * data)


def test_a_limit_below_the_default_request_lowers_it_and_a_request_above_the_default_limit_raises_that():
    assert engine(resources={"limits": {"memory": "16Gi"}})["resources"]["requests"]["memory"] == "16Gi"
    assert engine(resources={"requests": {"memory": "64Gi"}})["resources"]["limits"]["memory"] == "64Gi"


@pytest.mark.parametrize(("text", "expected"), [("10s", 10), ("1m30s", 90), ("1h", 3600), ("1500ms", 2), ("0s", 0)])
def test_durations_round_up_to_seconds(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("500m", "0.5"), ("1k", "1000"), ("1Ki", "1024"), ("2M", "2000000"), ("1Gi", str(2**30))]
)
def test_quantities_are_kubernetes_own(text, expected):
    assert amount(text) == amount(expected)


def test_every_entry_of_a_channel_has_a_source_and_the_default_channel_a_proof():
    assert channels() == ("gie-1.3", "llm-d-0.10", "llm-d-0.6", "llm-d-0.9")
    facts = json.loads(channel("llm-d-0.10").model_dump_json())
    proofs = [facts["picker"]["proof"], facts["images"]["picker"]["proof"], facts["images"]["kit"]["proof"]]
    proofs += [image["proof"] for image in facts["images"]["engine"].values()]
    assert "none" not in proofs


def test_images_are_pinned():
    for name in channels():
        images = channel(name).images
        for image in (images.picker, images.kit, *images.engine.values()):
            assert ":v" in image.ref


def test_the_outputs_are_the_contract():
    stack = tree(qwen={"route": {"hostnames": ["b.example.com", "a.example.com"]}})
    stack["gateway"] |= {"port": 443, "sectionName": "https"}
    assert outputs.stack(plan(stack), None) == {
        "contractVersion": 1,
        "release": "llm-d-0.10",
        "factsDigest": None,
        "services": {
            "qwen": {
                "name": "qwen",
                "namespace": "models",
                "model": {"name": "org/model", "source": "kit://registry.example/org/model:v1", "digest": None},
                "urls": ["https://a.example.com/models/qwen", "https://b.example.com/models/qwen"],
                "paths": ["/models/qwen"],
                "hostnames": ["a.example.com", "b.example.com"],
                "gateway": {"name": "gateway", "namespace": "gateways", "sectionName": "https"},
                "weight": 100,
                "primary": {
                    "pool": {"group": "inference.networking.k8s.io", "name": "qwen"},
                    "objectives": [],
                    "serviceHost": "qwen.models.svc.cluster.local:8000",
                    "endpointPickerHost": "qwen-epp.models.svc.cluster.local:9002",
                    "roles": {
                        "decode": {
                            "workload": {"kind": "Deployment", "name": "qwen-decode"},
                            "scaling": {"type": "fixed", "replicas": 1},
                            "gpus": {
                                "class": "nvidia",
                                "vendor": "nvidia",
                                "product": None,
                                "perReplica": 1,
                                "max": 1,
                            },
                        }
                    },
                },
                "canary": None,
                "profile": None,
                "interceptor": None,
                "awaited": ["endpointPicker", "workload"],
                "message": "",
                "warnings": [],
            }
        },
    }


NEEDED = ["inference.networking.k8s.io/v1/InferencePool", "v1/Service"]


def test_a_missing_kind_is_an_error_with_its_bundle_version_and_command():
    verdict = kinds(NEEDED, ClusterFacts(Served(frozenset({"v1/Service"}))), "strict")
    (error,) = verdict.errors
    assert "inference.networking.k8s.io/v1/InferencePool" in error
    assert "Gateway API Inference Extension v1.5.0: kubectl apply" in error


def test_a_failed_read_is_a_warning_that_says_what_went_unchecked_whatever_the_mode():
    verdict = kinds(NEEDED, ClusterFacts(Unknown("no answer")), "strict")
    assert verdict.errors == ()
    assert verdict.warnings == (f"whether the cluster serves {', '.join(NEEDED)} went unchecked: no answer",)


def test_the_modes_of_the_check():
    facts = ClusterFacts(Served(frozenset({"v1/Service"})))
    assert len(kinds(NEEDED, facts, "warn").warnings) == 1
    assert kinds(NEEDED, facts, "skip") == kinds([], facts, "strict")


def test_the_digest_of_facts_ignores_what_the_stack_does_not_need():
    one = ClusterFacts(Served(frozenset({"v1/Service"})))
    more = ClusterFacts(Served(frozenset({"v1/Service", "example.com/v1/Widget"})))
    pool = ClusterFacts(Served(frozenset(NEEDED)))
    assert one.digest(NEEDED) == more.digest(NEEDED) != pool.digest(NEEDED)
    assert ClusterFacts(Unknown("x")).digest(NEEDED) is None
