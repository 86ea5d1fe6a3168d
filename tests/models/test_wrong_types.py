"""A mapping or a list in place of text is named as such, with the text that would be right."""

import pytest

from tests.support.stacks import mistakes, tree


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        (
            {"accelerator": {"type": "nvidia"}},
            "accelerator: is a mapping and not text; write text, such as accelerator: nvidia",
        ),
        (
            {"accelerator": {"type": "amd"}},
            "accelerator: is a mapping and not text; write text, such as accelerator: amd",
        ),
        ({"accelerator": {}}, "accelerator: is a mapping and not text; write text, such as accelerator: nvidia"),
        ({"accelerator": ["nvidia"]}, "accelerator: is a list and not text; write text, such as accelerator: nvidia"),
        (
            {"accelerator": {"type": ["a"]}},
            "accelerator: is a mapping and not text; write text, such as accelerator: nvidia",
        ),
        ({"namespace": {"name": "a"}}, "namespace: is a mapping and not text; write text, such as namespace: search"),
    ],
)
def test_a_mapping_in_place_of_text_is_told_with_the_text(service, expected):
    """See defects C12."""
    assert mistakes(tree(qwen=service)) == [f"services.qwen.{expected}"]
