"""zerfoo's ZerfooInferenceService: its resources, health checks and validation, as our pods have them.

What concerns accelerator classes alone is in `tests/planning/hardware`; here it is the rendered object.
Numbers that begin a name are rules of its validation (section 7.9). `docs/deviations.md` lists where we
differ on purpose.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.vocabulary import seconds
from tests.support.stacks import SERVICE, find, rendered, tree
from tests.support.stacks.shapes import engine, every_rendering, serving, told

PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
BASE = "services.qwen"


def pod(service):
    return find(rendered(tree(qwen=service)), "Deployment", "qwen-decode")["spec"]["template"]


def probes(**health):
    container = engine(pod({"health": health}))
    return [container[probe] for probe in PROBES]


# --- 7.5: device memory, where it reaches the pod


@pytest.mark.parametrize(
    ("accelerator", "memory", "resource", "devices"),
    [
        ("nvidia-h100-80gb", "24Gi", "nvidia.com/gpu", "1"),
        ("nvidia-h100-80gb", "81Gi", "nvidia.com/gpu", "2"),
        ("nvidia-h100-80gb", "160G", "nvidia.com/gpu", "2"),
        ("amd-mi300x", "1Ti", "amd.com/gpu", "8"),
    ],
)
def test_memory_becomes_whole_devices_in_requests_and_limits(accelerator, memory, resource, devices):
    """See zerfoo 7.5."""
    service = {"accelerator": accelerator, "acceleratorMemory": memory}
    resources = engine(pod(service))["resources"]
    assert resources["requests"][resource] == resources["limits"][resource] == devices


def test_a_product_asks_for_its_nodes_and_tolerates_the_taint_of_devices():
    """See zerfoo 7.5."""
    spec = pod({"accelerator": "nvidia-h100-80gb", "acceleratorMemory": "24Gi"})["spec"]
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required == {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-H100-80GB-HBM3"]}
                ]
            }
        ]
    }
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in spec["tolerations"]


def test_a_slice_is_counted_by_its_own_resource_and_a_claim_by_its_number():
    """See zerfoo 7.5."""
    mig = {"type": "extended-resource", "resourceName": "nvidia.com/mig-3g.40gb"}
    dra = {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com", "selectors": ["device.driver == 'x'"]}
    classes = {
        "slice": {"vendor": "nvidia", "memory": "40Gi", "allocation": mig},
        "claimed": {"vendor": "nvidia", "memory": "40Gi", "allocation": dra},
    }
    services = {name: {"accelerator": name, "acceleratorMemory": "41Gi"} for name in classes}
    everything = rendered(tree(**services) | {"accelerators": classes})
    sliced, claimed = (find(everything, "Deployment", f"{name}-decode") for name in ("slice", "claimed"))
    limits = engine(sliced["spec"]["template"])["resources"]["limits"]
    assert {name: number for name, number in limits.items() if "/" in name} == {"nvidia.com/mig-3g.40gb": "2"}
    resources = engine(claimed["spec"]["template"])["resources"]
    assert not [name for group in ("requests", "limits") for name in resources[group] if "/" in name]
    exactly = find(everything, "ResourceClaimTemplate", "claimed-decode")["spec"]["spec"]["devices"]["requests"][0]
    assert exactly["exactly"]["count"] == 2
    assert exactly["exactly"]["selectors"] == [{"cel": {"expression": "device.driver == 'x'"}}]
    (claim,) = claimed["spec"]["template"]["spec"]["resourceClaims"]
    assert resources["claims"] == [{"name": claim["name"]}]
    assert claim["resourceClaimTemplateName"] == "claimed-decode"


def test_requests_are_defaults_of_their_own_and_never_above_a_limit():
    """See zerfoo 7.5."""
    limits = {"cpu": "2", "memory": "16Gi"}
    assert engine(pod({"accelerator": "cpu", "resources": {"limits": limits}}))["resources"] == {
        "requests": limits,
        "limits": limits,
    }
    generous = engine(pod({"accelerator": "cpu", "resources": {"limits": {"memory": "64Gi"}}}))["resources"]
    assert generous["requests"]["memory"] == "32Gi"


# --- 7.6: probes


def test_path_interval_and_timeout_reach_the_probes():
    """See zerfoo 7.6."""
    startup, readiness, liveness = probes(path="/readyz", livenessPath="/healthz", interval="30s", timeout="10s")
    assert readiness["httpGet"] == startup["httpGet"] == {"path": "/readyz", "port": 8000}
    assert liveness["httpGet"] == {"path": "/healthz", "port": 8000}
    assert {probe["periodSeconds"] for probe in (startup, readiness, liveness)} == {30}
    assert {probe["timeoutSeconds"] for probe in (startup, readiness, liveness)} == {10}


def test_by_default_readiness_asks_for_the_model_and_liveness_for_the_process():
    """See zerfoo 7.6."""
    assert [probe["httpGet"]["path"] for probe in probes()] == ["/v1/models", "/v1/models", "/health"]


def test_a_change_of_the_health_check_alone_changes_the_pods():
    """See zerfoo 3.2, 5.4."""
    assert pod({"health": {"path": "/readyz"}}) != pod({})


@pytest.mark.parametrize(("text", "expected"), [("10s", 10), ("1500ms", 2), ("1s1ms", 2), ("1m30s", 90), ("1s", 1)])
def test_fractions_of_a_second_are_rounded_up(text, expected):
    """See zerfoo 7.6."""
    for probe in probes(interval=text, timeout="1s"):
        assert (probe["periodSeconds"], probe["timeoutSeconds"]) == (expected, 1)
    assert {probe["timeoutSeconds"] for probe in probes(interval="2m", timeout=text)} == {expected}


@pytest.mark.parametrize(
    "health",
    [
        {"interval": "500ms", "timeout": "500ms"},
        {"interval": "999ms", "timeout": "1s"},
        {"timeout": "999ms"},
        {"interval": "0s", "timeout": "0s"},
        {"timeout": "0s"},
    ],
)
def test_below_a_second_is_refused(health):
    """See zerfoo 1.2, 7.6."""
    (message,) = told(tree(qwen={"health": health}))
    assert message == f"{BASE}.health: has an interval or timeout of less than a second; write 1s or more"


def test_a_timeout_above_the_interval_is_refused():
    """See zerfoo 2.2, 7.6."""
    (message,) = told(tree(qwen={"health": {"interval": "4s", "timeout": "5s"}}))
    assert message.startswith(f"{BASE}.health: a probe may take longer than the time between two")
    assert probes(interval="5s", timeout="5s")[1]["timeoutSeconds"] == 5


@pytest.mark.parametrize("value", [10, 10_000_000_000, "7", "-1s", "1.5s", "", "1d"])
def test_a_duration_has_its_unit(value):
    """See zerfoo 1.2, 7.6."""
    assert told(tree(qwen={"health": {"interval": value}}))[0].startswith(f"{BASE}.health.interval: is not a duration")


@pytest.mark.parametrize("path", ["", " ", "readyz", "http://x/readyz", "/a b"])
def test_a_path_starts_with_a_slash(path):
    """See zerfoo 7.6."""
    for field in ("path", "livenessPath"):
        (message,) = told(tree(qwen={"health": {field: path}}))
        assert message.startswith(f"{BASE}.health.{field}: is not an absolute path")


SIZES = st.none() | st.integers(1, 4000).map("{}Gi".format)


@given(size=SIZES, interval=st.integers(5, 900))
def test_loading_has_ten_minutes_at_least_and_more_for_more_bytes(size, interval):
    """See zerfoo 7.6."""
    model = {**SERVICE["model"], **({} if size is None else {"size": size})}
    startup = engine(pod({"model": model, "health": {"interval": f"{interval}s"}}))["startupProbe"]
    budget = startup["failureThreshold"] * startup["periodSeconds"]
    assert budget >= 600
    assert budget >= (1800 if size is None else int(size.removesuffix("Gi")) * 2**30 / (64 * 2**20))


@given(timeout=st.integers(1, 99_999), interval=st.integers(5, 900))
def test_a_written_startup_timeout_is_the_budget_rounded_up_to_whole_probes(timeout, interval):
    """See zerfoo 7.6."""
    startup = probes(startupTimeout=f"{timeout}s", interval=f"{interval}s")[0]
    assert 0 <= startup["failureThreshold"] * interval - timeout < interval


@every_rendering
def test_the_startup_probe_stands_for_an_initial_delay(everything):
    """See zerfoo 7.6."""
    for template in serving(everything):
        assert all("initialDelaySeconds" not in engine(template)[probe] for probe in PROBES)
        assert engine(template)["livenessProbe"]["failureThreshold"] >= 3


# --- 7.9: validation


@pytest.mark.parametrize("source", ["", " ", "kit://", "kit:// ", "llama3-8b-q4"])
def test_1_a_blank_or_unknown_reference_is_refused(source):
    found = told(tree(qwen={"model": {"name": "m", "source": source}}))
    assert [message.partition(":")[0] for message in found] == [f"{BASE}.model.source"]


@pytest.mark.parametrize("name", ["", " "])
def test_1_a_blank_model_name_is_refused(name):
    assert told(tree(qwen={"model": {**SERVICE["model"], "name": name}}))[0].startswith(f"{BASE}.model.name: is empty")


def test_2_replicas_are_not_negative_and_zero_keeps_everything_but_the_pods():
    """See zerfoo 2.1."""
    assert told(tree(qwen={"replicas": -1}))[0].startswith(f"{BASE}.replicas: is not a whole number from 0")
    kinds = [[manifest["kind"] for manifest in rendered(tree(qwen=service))] for service in ({}, {"replicas": 0})]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("value", ["lots", "-1", "1e3", "16 Gi", "16GB", ""])
@pytest.mark.parametrize("field", ["cpu", "memory"])
def test_6_quantities_parse(field, value):
    (message,) = told(tree(qwen={"resources": {"requests": {field: value}}}))
    assert message.startswith(f"{BASE}.resources.requests.{field}: is not a Kubernetes quantity")


@pytest.mark.parametrize("value", ["0", "0Gi"])
def test_6_device_memory_is_positive(value):
    found = told(tree(qwen={"accelerator": "nvidia-h100-80gb", "acceleratorMemory": value}))
    assert found[0].startswith(f"{BASE}.acceleratorMemory: is not above zero")


@pytest.mark.parametrize("length", [55, 56, 63])
def test_7_a_long_name_is_cut_with_a_hash_where_theirs_makes_an_illegal_object(length):
    """See zerfoo 1.5."""
    everything = rendered(tree(**{"q" * length: {}}))
    assert all(
        len(manifest["metadata"]["name"]) <= 63 for manifest in everything if manifest["metadata"].get("namespace")
    )


def test_8_and_9_everything_is_reported_together_each_with_its_path_and_unknown_keys_are_mistakes():
    """See zerfoo 2.1, 5.4."""
    service = {
        "replicas": -1,
        "healthCheck": {},
        "health": {"path": "healthz", "interval": 10},
        "resources": {"requests": {"memory": "lots"}},
        "model": {"name": " ", "source": ""},
    }
    found = told(tree(qwen=service))
    assert sorted(message.partition(":")[0] for message in found) == [
        f"{BASE}.health.interval",
        f"{BASE}.health.path",
        f"{BASE}.healthCheck",
        f"{BASE}.model.name",
        f"{BASE}.model.source",
        f"{BASE}.replicas",
        f"{BASE}.resources.requests.memory",
    ]
    assert any("did you mean health?" in message for message in found)


@given(st.integers(1, 10**7))
def test_seconds_never_round_down(milliseconds):
    """See zerfoo 7.6."""
    rounded = seconds(f"{milliseconds // 1000}s{milliseconds % 1000}ms")
    assert 0 <= rounded * 1000 - milliseconds < 1000
