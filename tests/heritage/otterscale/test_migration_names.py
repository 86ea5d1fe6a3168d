"""OtterScale's ModelService: the names of its objects, by its own vectors."""

import pytest

from migration import names as compatibility


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("qwen3", "qwen3"),
        ("qwen3-0.6b-fp8-dynamic", "qwen3-0-6b-fp8-dynamic"),
        ("MyModel_1.0", "mymodel-1-0"),
        ("0.6b", "m-0-6b"),
        ("9", "m-9"),
        ("A", "a"),
        ("-a-", "a"),
        ("a..b", "a-b"),
        ("a---b", "a-b"),
        ("1-", "m-1"),
        ("a b", "ab"),
        ("x@y", "xy"),
        ("é1", "m-1"),
        ("\u212a1", "m-1"),
        ("...", "modelservice"),
        ("", "modelservice"),
        ("éé", "modelservice"),
        ("a" * 70, "a" * 70),
    ],
)
def test_otterscales_form_of_a_name(text, expected):
    """See otterscale 4.2."""
    assert compatibility.sanitize_dns1035_label(text) == expected


def test_otterscales_names():
    """See otterscale 4.1."""
    theirs = compatibility.otterscale("ml", "qwen3-0.6b")
    assert (theirs.decode, theirs.prefill, theirs.picker) == (
        "qwen3-0.6b-decode",
        "qwen3-0.6b-prefill",
        "qwen3-0-6b-epp",
    )
    assert (theirs.picker_config, theirs.picker_secret) == (
        "qwen3-0-6b-epp-config",
        "qwen3-0-6b-epp-sa-metrics-reader-secret",
    )
    assert theirs.picker_cluster_scoped == "ml-qwen3-0-6b-epp"
    assert len(compatibility.otterscale("ml", "a" * 70).picker) == 74
