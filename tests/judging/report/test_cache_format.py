"""Consequences of another engine for cached keys and values."""

import pytest

from judging.report import cache_format


@pytest.mark.parametrize(
    ("connector", "fate"), [(None, "cold"), ("nixlv2", "never share"), ("mooncake", "never share")]
)
def test_a_cache_that_is_sent_is_never_shared_by_two_versions(connector, fate):
    assert cache_format.fate(connector).fate == fate


def test_each_connector_has_words_of_its_own():
    assert len({cache_format.fate(connector).words for connector in (None, "nixlv2", "mooncake")}) == 3


def test_each_row_has_a_source():
    assert all(row.source and row.proof == "source" for row in cache_format.rows())
