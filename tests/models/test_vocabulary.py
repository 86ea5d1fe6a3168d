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
