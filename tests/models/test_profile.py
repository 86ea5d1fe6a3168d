"""Serving profiles, as they are written."""

import pytest
from pydantic import ValidationError

from models.profile import CatalogueFile, Profile

SERVICE = {"accelerator": "nvidia-l40s", "model": {"source": "hf://Qwen/Qwen3-8B", "size": "16Gi"}}
PROFILE = {"model": "Qwen/Qwen3-8B", "type": "optimized", "deviceCount": 1, "source": "a page", "service": SERVICE}


def profile(**changes):
    return Profile.model_validate(PROFILE | changes)


def refusal(**changes):
    with pytest.raises(ValidationError) as caught:
        profile(**changes)
    (error,) = caught.value.errors()
    return error["msg"]


def test_a_profile_has_facts_and_keys_of_a_service():
    found = profile(metric="latency", precision="fp8", default=True)
    assert (found.metric, found.precision, found.is_default) == ("latency", "fp8", True)
    assert found.service.model.source == "hf://Qwen/Qwen3-8B"
    assert profile(service={"accelerator": "cpu"}, deviceCount=0).service.model.source is None


@pytest.mark.parametrize(
    ("count", "parallelism", "message"),
    [
        (4, {"tensor": 2}, "has 2 devices by parallelism, but another deviceCount (4)"),
        (4, {"tensor": 2, "pipeline": 4}, "has 8 devices by parallelism, but another deviceCount (4)"),
        (3, {"pipeline": 2}, "needs a multiple of 2 devices (deviceCount 3)"),
    ],
)
def test_the_number_of_devices_is_that_of_the_layout(count, parallelism, message):
    assert refusal(deviceCount=count, service=SERVICE | {"parallelism": parallelism}).startswith(message)


def test_a_layout_that_takes_all_devices_is_one():
    layout = {"tensor": 2, "pipeline": 2, "data": 2}
    assert profile(deviceCount=8, service=SERVICE | {"parallelism": layout}).device_count == 8


def test_the_name_of_the_model_is_said_once():
    named = SERVICE | {"model": {"name": "other/name"}}
    assert refusal(service=named).startswith("has a name, but the key model of the profile names the model")


@pytest.mark.parametrize("key", ["replicas", "autoscaling", "route", "storage", "health"])
def test_a_profile_decides_how_a_model_is_served_and_nothing_else(key):
    assert refusal(service=SERVICE | {key: {}}) == "Extra inputs are not permitted"


def test_a_file_has_profiles_and_nothing_else():
    assert [*CatalogueFile.model_validate({"profiles": {"qwen3-8b": PROFILE}}).profiles] == ["qwen3-8b"]
    with pytest.raises(ValidationError):
        CatalogueFile.model_validate({"profiles": {}, "services": {}})
