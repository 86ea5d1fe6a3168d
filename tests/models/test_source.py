"""Sources of weights: their schemes, the parts of a URI, and pins of a content."""

import pytest

from models import source
from tests.support.stacks import mistakes, tree

DIGEST = f"sha256:{'0f' * 32}"
COMMIT = "0f" * 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ftp://a/b", "has an unknown scheme (ftp://a/b); begin with kit://, hf://, s3://, pvc://, oci://, image://"),
        (
            "hf://model",
            (
                "is not a Hugging Face model (hf://model); write hf://organisation/name, with @revision to pin a "
                "revision, such as hf://Qwen/Qwen3-0.6B@main"
            ),
        ),
        (
            "s3://bucket/a/../b",
            (
                "is not an S3 prefix (s3://bucket/a/../b); write s3://bucket/prefix, such as "
                "s3://acme-models/mistral-small-24b"
            ),
        ),
        (f"s3://bucket/{'a' * 501}", "is 513 characters long; write at most 512"),
        (
            "kit://hub.example:0/a/b:v1",
            (
                "has a port that is not from 1 to 65535 (kit://hub.example:0/a/b:v1); write a port that exists, such "
                "as 8000"
            ),
        ),
    ],
)
def test_a_source_that_cannot_be_fetched_is_refused(text, message):
    service = {"model": {"name": "org/model", "source": text}}
    assert mistakes(tree(qwen=service)) == [f"services.qwen.model.source: {message}"]


def test_a_source_has_a_scheme_and_a_place():
    assert (source.scheme("s3://bucket/a"), source.place("s3://bucket/a")) == ("s3", "bucket/a")
    assert source.hub("hf://org/model") == ("org/model", None)
    assert source.hub("hf://org/model@refs/pr/5") == ("org/model", "refs/pr/5")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hf://org/model@main", "hf://org/model"),
        ("kit://hub.example:5000/a/b:v1", "kit://hub.example:5000/a/b"),
        (f"image://hub.example/a/b:v1@{DIGEST}", "image://hub.example/a/b"),
        ("pvc://weights/qwen3", "pvc://weights/qwen3"),
    ],
)
def test_a_bare_source_has_neither_revision_nor_tag_nor_digest(text, expected):
    assert source.bare(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"hf://org/model@{COMMIT}", COMMIT),
        (f"hf://org/model@{COMMIT.upper()}", COMMIT),
        ("hf://org/model@main", None),
        (f"kit://hub.example/a/b@{DIGEST}", DIGEST),
        ("kit://hub.example/a/b:v1", None),
        ("s3://bucket/a", None),
    ],
)
def test_a_commit_or_a_digest_is_the_content_of_a_source(text, expected):
    assert source.content(text) == expected


@pytest.mark.parametrize(
    ("pinned", "text", "expected"),
    [
        (f"hf://org/model@{COMMIT}", "hf://org/model@main", True),
        (f"hf://org/model@{COMMIT}", f"hf://org/model@{COMMIT}", True),
        (f"hf://org/model@{COMMIT}", f"hf://org/model@{'1a' * 20}", False),
        (f"hf://org/model@{COMMIT}", "hf://org/other@main", False),
        ("hf://org/model@main", "hf://org/model@main", False),
        ("s3://bucket/a", "s3://bucket/a", True),
        ("s3://bucket/a", "s3://bucket/b", False),
    ],
)
def test_a_pin_adds_nothing_but_the_content(pinned, text, expected):
    assert source.is_pin(pinned, text) is expected


def test_the_tag_of_a_kit_and_the_served_name_follow_from_the_source():
    assert source.tag_of_files("kit://hub.example:5000/a/b:v1") == "v1"
    assert source.tag_of_files(f"kit://hub.example/a/b@{DIGEST}") is None
    assert source.tag_of_files("image://hub.example/a/b:v1") is None
    assert source.served_name(None, "hf://org/model@main") == "org/model"
    assert source.served_name("other", "hf://org/model") == "other"
    assert source.served_name(None, "s3://bucket/a") is None
