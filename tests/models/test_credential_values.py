"""Numbers, words, files and URLs are no text that a service issues as a credential."""

import pytest

from models.credential_values import is_issued, is_placeholder, is_random

FILES = ("pem", "json")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abcDEF1234", True),
        ("abcDEF123", False),
        ("abcdef12345", False),
        ("abcDEFghijk", False),
        ("word abcDEF1234 word", True),
        ("abcDE-F1234", False),
    ],
)
def test_random_text_mixes_digits_capitals_and_small_letters_in_a_run_of_ten(text, expected):
    assert is_random(text) is expected


@pytest.mark.parametrize(("text", "expected"), [("<your token>", True), ("<a>b", False), ("<>", False), ("a", False)])
def test_a_placeholder_is_in_angle_brackets(text, expected):
    assert is_placeholder(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        *("4096", "-1.5", "90%", "8Gi", "30s"),
        *("</think>", "<|im_end|>", "[IMG]", "<a>, <b>"),
        "https://idp.example/keys",
        *("/var/run/x", "~/keys/a", "./a/b", "tls.pem", "folder/credentials.JSON"),
    ],
)
def test_numbers_tokens_urls_and_files_are_not_issued(text):
    assert not is_issued(text, FILES, may_be_words=False)


@pytest.mark.parametrize("text", ["x-user-id", "store", "tls-v2", "sessionAffinity", "AUTO"])
def test_words_are_issued_only_where_words_may_be_credentials(text):
    assert is_issued(text, FILES, may_be_words=False)
    assert not is_issued(text, FILES, may_be_words=True)


@pytest.mark.parametrize("text", ["/abcDEF1234", "Zx9Qm3Lk7Pw2", "a1b2c-d3e4f", "1234567890"])
def test_random_text_is_issued_whatever_it_resembles(text):
    assert is_issued(text, FILES, may_be_words=True)
