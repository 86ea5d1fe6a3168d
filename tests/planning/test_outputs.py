"""The outputs of a stack, key by key: other programs read them."""

import pytest

from planning import outputs
from tests.support.stacks import PIN, plan, tree
from tests.support.stacks.existing import existing, of_pool
from tests.support.stacks.varied import VARIED

PRIMARY = {
    "release": "llm-d-0.10",
    "pool": {"group": "inference.networking.k8s.io", "name": "qwen"},
    "objectives": [],
    "serviceHost": "qwen.models.svc.cluster.local:8000",
    "endpointPickerHost": "qwen-epp.models.svc.cluster.local:9002",
    "proxyHost": None,
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
    "profiles": {},
    "patched": [],
}
UNAWAITED = "the route was not awaited, because no controller was known to have accepted gateways/gateway"


def test_the_outputs_are_the_contract():
    """See defects C14."""
    stack = tree(qwen={"route": {"hostnames": ["b.example.com", "a.example.com"]}})
    stack["gateway"] |= {"port": 443, "sectionName": "https"}
    assert outputs.of_stack(plan(stack), None) == {
        "contractVersion": 2,
        "release": "llm-d-0.10",
        "factsDigest": None,
        "services": {
            "qwen": {
                "name": "qwen",
                "namespace": "models",
                "model": {
                    "name": "org/model",
                    "source": f"kit://registry.example/org/model@{PIN}",
                    "digest": PIN,
                    "revision": None,
                    "locked": None,
                    "lockedAdapters": {},
                },
                "urls": ["https://a.example.com/models/qwen", "https://b.example.com/models/qwen"],
                "paths": ["/models/qwen"],
                "hostnames": ["a.example.com", "b.example.com"],
                "gateway": {"name": "gateway", "namespace": "gateways", "sectionName": "https"},
                "weight": 100,
                "primary": PRIMARY,
                "canary": None,
                "profile": None,
                "interceptor": None,
                "bill": {
                    "hours": 730,
                    "deviceHours": {"nvidia": {"low": 730, "high": 730}},
                    "currency": "USD",
                    "cost": None,
                    "unpriced": ["nvidia"],
                },
                "awaited": ["endpointPicker", "pool", "replicas", "workload"],
                "ready": False,
                "message": UNAWAITED,
                "warnings": [],
            }
        },
    }


ASLEEP = "qwen-decode has no replicas, as the configuration states"
FOREIGN = {"interceptor": {"mode": "label", "namespace": "metering"}}


def readiness(stack, awaited=("qwen",)):
    """Return whether the service is ready after a run that waits for the routes of some services, and why not."""
    service = outputs.of_stack(plan(stack), None, awaited)["services"]["qwen"]
    return service["ready"], service["message"]


@pytest.mark.parametrize(
    ("service", "message"),
    [
        pytest.param({}, "", id="everything is awaited"),
        pytest.param({"replicas": 0}, ASLEEP, id="no replicas"),
        pytest.param(
            {"autoscaling": {"type": "hpa", "maxReplicas": 3, "metrics": [{"type": "queue-size", "target": 5}]}},
            "",
            id="at least one replica",
        ),
        pytest.param(
            {"canary": {"weight": 10, "replicas": 0}},
            "qwen-canary-decode has no replicas, as the configuration states",
            id="canary without replicas",
        ),
        pytest.param({"canary": {"weight": 0, "replicas": 0}}, "", id="canary that gets no requests"),
        pytest.param({"prefill": {"replicas": 0}}, "", id="prefill answers nobody"),
        pytest.param({"decode": {"sets": {"a": {"replicas": 0}, "b": {}}}}, "", id="a set with replicas answers"),
        pytest.param(
            {"decode": {"sets": {"a": {"replicas": 0}, "b": {"replicas": 0}}}},
            f"{ASLEEP.replace('decode', 'decode-a')}; {ASLEEP.replace('decode', 'decode-b')}",
            id="no set has replicas",
        ),
        pytest.param({"route": {"enabled": False}}, "", id="no route, so clients ask the Service"),
    ],
)
def test_a_service_is_ready_if_the_run_saw_all_that_a_request_needs(service, message):
    """See zerfoo 7.7."""
    assert readiness(tree(qwen=service)) == (not message, message)


def test_outputs_have_a_role_with_its_devices_for_each_set_of_decode_pods():
    sets = {"amd": {"accelerator": "amd", "replicas": 2}, "nvidia": {"parallelism": {"tensor": 4}}}
    roles = outputs.of_stack(plan(tree(qwen={"decode": {"sets": sets}})), None)["services"]["qwen"]["primary"]["roles"]
    assert {
        name: (role["workload"]["name"], role["gpus"]["vendor"], role["gpus"]["max"]) for name, role in roles.items()
    } == {
        "decode-amd": ("qwen-decode-amd", "amd", 2),
        "decode-nvidia": ("qwen-decode-nvidia", "nvidia", 4),
    }


def test_a_service_that_sleeps_may_have_no_pods():
    ready, message = readiness(VARIED["sleeping"])
    assert not ready
    assert message.endswith("-decode may have been scaled to zero")


def test_a_route_that_the_run_did_not_wait_for_is_not_ready():
    """See zerfoo 7.7."""
    assert readiness(tree(qwen={}), awaited=()) == (False, UNAWAITED)
    assert readiness(tree(qwen={"route": {"enabled": False}}), awaited=()) == (True, "")


def test_an_interceptor_of_another_program_is_unknown_and_all_reasons_are_named():
    theirs = "requests pass an interceptor that another program deploys"
    assert readiness(tree(qwen={}) | FOREIGN) == (False, theirs)
    assert readiness(tree(qwen={"interceptor": {"enabled": False}}) | FOREIGN) == (True, "")
    several = readiness(tree(qwen={"replicas": 0}) | FOREIGN, awaited=())
    assert several == (False, f"{ASLEEP}; {UNAWAITED}; {theirs}")


def test_pods_of_others_are_never_ready_and_have_no_roles():
    service = outputs.of_stack(plan(existing()), None, {"qwen"})["services"]["qwen"]
    assert service["awaited"] == ["endpointPicker", "pool", "route"]
    assert (service["ready"], service["message"]) == (
        False,
        "somebody else runs the pods, which were not awaited (app=vllm)",
    )
    assert (service["primary"]["roles"], service["profile"]) == ({}, None)
    assert service["model"] == {
        "name": "org/model",
        "source": "",
        "digest": None,
        "revision": None,
        "locked": None,
        "lockedAdapters": {},
    }


def test_a_pool_of_others_has_a_name_and_no_service():
    service = outputs.of_stack(plan(of_pool()), None, {"qwen"})["services"]["qwen"]
    assert service["awaited"] == ["route"]
    assert service["message"] == "somebody else made the pool theirs, which was not awaited"
    assert service["primary"] == {
        "release": "llm-d-0.10",
        "pool": {"group": "inference.networking.k8s.io", "name": "theirs"},
        "objectives": [],
        "serviceHost": "",
        "endpointPickerHost": None,
        "proxyHost": None,
        "roles": {},
        "profiles": {},
        "patched": [],
    }
