"""The server of a source follows from the source and its endpoint; a pin adds its content to a source, and no more."""

import pytest

from models.pins import origin
from models.source import is_pin

COMMIT, DIGEST = "c1" * 20, f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("source", "endpoint", "expected"),
    [
        ("hf://org/model", None, "https://huggingface.co"),
        ("hf://org/model", "https://mirror.example", "https://mirror.example"),
        ("s3://bucket/model", None, "https://s3.amazonaws.com"),
        ("s3://bucket/model", "http://minio:9000", "http://minio:9000"),
        ("kit://registry.example/org/model:v1", None, "registry.example"),
        ("image://registry.example/org/server:v1", None, "registry.example"),
    ],
)
def test_a_source_has_the_server_of_its_vendor_unless_an_endpoint_is_given(source, endpoint, expected):
    assert origin(source, endpoint) == expected


@pytest.mark.parametrize(
    ("pinned", "source"),
    [
        (f"hf://org/m@{COMMIT}", "hf://org/m"),
        (f"hf://org/m@{COMMIT}", "hf://org/m@refs/pr/5"),
        (f"hf://org/m@{COMMIT}", f"hf://org/m@{COMMIT.upper()}"),
        (f"kit://registry.example:5000/org/m@{DIGEST}", "kit://registry.example:5000/org/m:v1"),
        (f"image://org/server@{DIGEST}", f"image://org/server:v1@{DIGEST}"),
        ("s3://models/m", "s3://models/m"),
        ("pvc://weights/m", "pvc://weights/m"),
    ],
)
def test_a_pin_is_its_source_with_a_commit_or_a_digest(pinned, source):
    assert is_pin(pinned, source)


@pytest.mark.parametrize(
    ("pinned", "source"),
    [
        ("hf://org/m", "hf://org/m"),
        ("hf://org/m@main", "hf://org/m"),
        (f"hf://org/m-2@{COMMIT}", "hf://org/m"),
        (f"hf://org/m@{COMMIT}", f"hf://org/m@{'c2' * 20}"),
        (f"kit://registry.example/org/m:v1@{DIGEST}", "kit://registry.example/org/m:v1"),
        (f"kit://registry.example/org/m@{DIGEST}", "kit://registry.example:5000/org/m:v1"),
        (f"kit://registry.example/org/m@{DIGEST}", f"kit://registry.example/org/m@sha256:{'b' * 64}"),
        (f"image://registry.example/org/m@{DIGEST}", "kit://registry.example/org/m:v1"),
        ("s3://models/m/", "s3://models/m"),
        ("pvc://other-team/secret", "pvc://weights/m"),
    ],
)
def test_whatever_else_differs_makes_another_source(pinned, source):
    """See defects H1."""
    assert not is_pin(pinned, source)
