"""Durations and quantities, as Kubernetes reads them."""

import pytest

from models.vocabulary import amount, seconds


@pytest.mark.parametrize(("text", "expected"), [("10s", 10), ("1m30s", 90), ("1h", 3600), ("1500ms", 2), ("0s", 0)])
def test_durations_round_up_to_seconds(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("500m", "0.5"), ("1k", "1000"), ("1Ki", "1024"), ("2M", "2000000"), ("1Gi", str(2**30))]
)
def test_quantities_are_kubernetes_own(text, expected):
    assert amount(text) == amount(expected)


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
