"""Advice for a key without a value, if nothing is inherited that the null could remove."""

import pytest

from models.stack_layers import merge_stack


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("health", "write {} for its defaults"),
        ("prefill", "write {} for its defaults"),
        ("labels", "write {} for its defaults"),
        ("canary", "write it with weight"),
        ("model", "write it with source"),
        ("autoscaling", "write it with type"),
        ("replicas", "write a value"),
        ("accelerator", "write a value"),
    ],
)
def test_what_a_group_requires_is_advised(key, remedy):
    (problem,) = merge_stack({"services": {"a": {key: None}}}).problems
    assert (str(problem.path), problem.remedy) == (f"services.a.{key}", f"{remedy}, or delete the line")


def test_defaults_are_advised_like_the_services_that_inherit_them():
    layer = merge_stack({"defaults": {"storage": None, "pod": {"labels": None}}, "services": {"a": {}}})
    assert {str(problem.path): problem.remedy for problem in layer.problems} == {
        "defaults.storage": "write it with type, or delete the line",
        "defaults.pod.labels": "write {} for its defaults, or delete the line",
    }


def test_a_mapping_in_place_of_a_list_has_no_keys_to_advise():
    (problem,) = merge_stack({"services": {"a": {"route": {"matches": {"x": None}}}}}).problems
    assert problem.remedy == "write a value, or delete the line"
