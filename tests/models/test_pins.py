"""The server that provides a source follows from the source and its endpoint."""

import pytest

from models.pins import origin


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
