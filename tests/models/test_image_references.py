"""Different texts of one image are equal, and a malformed reference is refused with its reason."""

import pytest

from models.image_references import ImageReference, ImageReferenceError, parse

DIGEST = f"sha256:{'0123456789abcdef' * 4}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nginx", ImageReference("docker.io", "library/nginx", "latest", None)),
        ("org/image:v1", ImageReference("docker.io", "org/image", "v1", None)),
        ("GHCR.io/org/image", ImageReference("ghcr.io", "org/image", "latest", None)),
        ("localhost/image:a", ImageReference("localhost", "image", "a", None)),
        ("registry:5000/a/b:v1", ImageReference("registry:5000", "a/b", "v1", None)),
        (f"ghcr.io/a/b@{DIGEST}", ImageReference("ghcr.io", "a/b", None, DIGEST)),
        (f"ghcr.io/a/b:v1@{DIGEST}", ImageReference("ghcr.io", "a/b", "v1", DIGEST)),
    ],
)
def test_registry_repository_tag_and_digest_are_read(text, expected):
    assert parse(text) == expected


def test_texts_of_one_image_are_equal():
    assert parse("nginx") == parse("docker.io/nginx") == parse("library/nginx:latest")


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("ghcr.io/org/My_Image:V1.2", "my-image", "v1-2"),
        (f"ghcr.io/org/image@{DIGEST}", "image", "012345"),
        (f"ghcr.io/org/image:v1.0@{DIGEST}", "image-v1-0", "012345"),
        ("image", "image", "latest"),
    ],
)
def test_name_and_version_have_letters_digits_and_hyphens(text, name, version):
    assert (parse(text).name, parse(text).version) == (name, version)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "image reference is empty"),
        ("a@", "malformed digest reference: a@"),
        ("a@sha256", "malformed digest (missing colon): sha256"),
        ("a@sha256:", "malformed digest (no hash after colon): sha256:"),
        ("a:", "malformed tag reference (empty tag): a:"),
        ("a/__", "image name is empty after sanitization"),
    ],
)
def test_a_malformed_reference_is_refused_with_its_reason(text, reason):
    with pytest.raises(ImageReferenceError) as error:
        parse(text)
    assert str(error.value) == reason
