"""Wishes for a serving profile: each is absent by default, and has to be a known word."""

import pytest

from models.selection import LockedProfile, Question, Selection
from tests.support.stacks import mistakes, tree


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"metric": "speed"}, "metric: is not one of latency or throughput (speed); choose one of them"),
        (
            {"precision": "fp64"},
            "precision: is not one of auto, fp4, fp8, fp16, fp32, bf16, int4 or int8 (fp64); choose one of them",
        ),
        (
            {"minimumType": "beta"},
            "minimumType: is not one of optimized, general, preview or unoptimized (beta); choose one of them",
        ),
        (
            {"profile": "Qwen 3"},
            (
                "profile: is not a DNS label (Qwen 3); use lower-case letters, digits and '-', starting and ending "
                "with a letter or digit, such as models"
            ),
        ),
        ({"minDeviceMemory": 64}, "minDeviceMemory: is 64 bytes; write the number with its unit, such as 16Gi"),
    ],
)
def test_a_mistaken_wish_is_refused(selection, message):
    assert mistakes(tree(qwen={"selection": selection})) == [f"services.qwen.selection.{message}"]


def test_without_wishes_every_profile_may_be_selected():
    selection = Selection.model_validate({})
    assert (selection.precision, selection.minimum_type) == ("auto", None)
    assert (selection.profile, selection.metric) == (None, None)
    assert (selection.device_count, selection.min_device_memory, selection.accelerators) == (None, None, ())


def test_a_locked_profile_keeps_its_question_through_json():
    keys = {
        "id": "qwen3-8b-l40s-fp8",
        "reasons": ["best"],
        "question": {"model": "Qwen/Qwen3-8B", "metric": "latency"},
        "service": {"replicas": 2},
        "source": "catalogue",
    }
    locked = LockedProfile.model_validate(keys)
    assert locked.question == Question.model_validate({"metric": "latency", "model": "Qwen/Qwen3-8B"})
    assert locked.question != Question.model_validate({"model": "Qwen/Qwen3-8B"})
    assert LockedProfile.model_validate_json(locked.model_dump_json(by_alias=True)) == locked
