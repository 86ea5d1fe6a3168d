"""Values of parameters are read as the picker's own loader reads them."""

from fractions import Fraction

import pytest

from planning.picker.go_values import READERS

READ = [
    ("integer", 7.0, 7),
    ("duration", "1m30s", 90),
    ("duration", "-1.5h", -5400),
    ("period", "", None),
    ("period", "250ms", Fraction(1, 4)),
    ("quantity", "1.5Ki", 1536),
    ("quantity", 250, 250),
    ("message-size", "", None),
    ("message-size", "4MiB", 4 * 2**20),
    ("bytes", "1,024 kb", 1_024_000),
    ("label-key", "acme.example/team", "acme.example/team"),
    ("label-value", "", ""),
    ("labels", {"a": None, "b": "c"}, {"a": "", "b": "c"}),
    ("selector", "app=vllm,env in (prod,test),!old,size>3", "app=vllm,env in (prod,test),!old,size>3"),
    ("pairs", "app=vllm,env=prod", "app=vllm,env=prod"),
    ("metric", "vllm:queue{model=qwen}", "vllm:queue{model=qwen}"),
    ("log-level", "DEBUG", "DEBUG"),
    ("log-level", "3", "3"),
    ("names", "a, b,,", ["a", "b"]),
    ("integers", [1, 2.0, 2], [1, 2, 2]),
    ("integers", "3,+1,3", [3, 1]),
]
REFUSED = [
    ("integer", 7.5),
    ("boolean", "true"),
    ("duration", "90"),
    ("duration", "9999999h"),
    ("duration", 1.5),
    ("quantity", "1Kib"),
    ("message-size", "0.3"),
    ("bytes", "12 parsecs"),
    ("label-key", "-team"),
    ("label-key", "Acme_/team"),
    ("label-value", "a b"),
    ("labels", ["a"]),
    ("selector", "app=vllm,"),
    ("selector", "app in ()"),
    ("selector", "size>large"),
    ("selector", "=vllm"),
    ("pairs", "app"),
    ("metric", "1queue"),
    ("metric", "queue{model}"),
    ("log-level", "loud"),
    ("log-level", "0"),
    ("integers", "1,two"),
]


@pytest.mark.parametrize(("reader", "written", "expected"), READ)
def test_a_value_is_read(reader, written, expected):
    assert READERS[reader](written) == expected


@pytest.mark.parametrize(("reader", "written"), REFUSED)
def test_a_value_that_the_picker_cannot_read_is_refused(reader, written):
    with pytest.raises(ValueError):  # noqa: PT011, the readers have one error
        READERS[reader](written)
