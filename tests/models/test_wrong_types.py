"""A mapping or a list in place of text is named as such, with the text that would be right."""

import pytest

from models.load import load
from models.problems import ConfigError
from tests.support.stacks import tree


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
    with pytest.raises(ConfigError) as error:
        load(tree(qwen=service)).finish()
    assert str(error.value) == f"services.qwen.{expected}"
