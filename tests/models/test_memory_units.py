"""Units of quantities: what memory is written in, and what it means."""

import pytest

from models.vocabulary import amount


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ("7", 7),
        ("7k", 7_000),
        ("7M", 7_000_000),
        ("7G", 7_000_000_000),
        ("7T", 7_000_000_000_000),
        ("7P", 7_000_000_000_000_000),
        ("7E", 7_000_000_000_000_000_000),
        ("7Ki", 7_168),
        ("7Mi", 7_340_032),
        ("7Gi", 7_516_192_768),
        ("7Ti", 7_696_581_394_432),
        ("7Pi", 7_881_299_347_898_368),
        ("7Ei", 8_070_450_532_247_928_832),
        ("1.5Gi", 1_610_612_736),
        ("0.3G", 300_000_000),
        ("7000m", 7),
    ],
)
def test_each_unit_of_memory_is_a_power_of_1000_or_with_an_i_of_1024(quantity, expected):
    assert amount(quantity) == expected
