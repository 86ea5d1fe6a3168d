"""Characters that a terminal obeys, or that nobody sees, become question marks."""

import sys
import unicodedata

import pytest

from models.printable import printable


def test_control_format_private_and_surrogate_characters_are_replaced():
    """See defects H7."""
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    shown = {char for char, replaced in zip(text, printable(text), strict=True) if char == replaced}
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@pytest.mark.parametrize("char", ["\u034f", "\u115f", "\u17b4", "\u180b", "\u3164", "\ufe0f", "\uffa0", "\U000e0100"])
def test_letters_and_marks_without_width_are_replaced(char):
    assert printable(f"a{char}b") == "a?b"


@pytest.mark.parametrize("text", ["", "plain", "é ü ñ", "漢字", "עברית", "हिन्दी", "a → b · ×"])
def test_what_people_write_stays(text):
    assert printable(text) == text
