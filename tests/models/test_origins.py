"""A value of an object is traced to the configuration by the longest recorded path."""

import pytest

from models.origins import locate
from models.paths import Path

ORIGINS = {
    Path("spec"): Path("services", "qwen", "patch", "spec"),
    Path("spec", "containers", 0): Path("services", "qwen", "engine"),
}


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (Path("spec"), Path("services", "qwen", "patch", "spec")),
        (Path("spec", "volumes", 1), Path("services", "qwen", "patch", "spec", "volumes", 1)),
        (Path("spec", "containers", 0), Path("services", "qwen", "engine")),
        (Path("spec", "containers", 0, "image"), Path("services", "qwen", "engine", "image")),
        (Path("spec", "containers", 1), Path("services", "qwen", "patch", "spec", "containers", 1)),
    ],
)
def test_the_longest_recorded_path_decides_and_keys_below_it_stay(at, expected):
    assert locate(ORIGINS, at) == expected


def test_a_value_that_no_user_wrote_has_no_origin():
    assert locate(ORIGINS, Path("metadata", "name")) is None
    assert locate({Path(): Path("caches", "one")}, Path("metadata")) == Path("caches", "one", "metadata")
