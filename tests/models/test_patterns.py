"""Patterns that search texts of any length take a time that grows with the length, and not with its square."""

import re
import time
from collections.abc import Callable, Iterator

import pytest

from models import credentials, problems
from models.paths import Path

SEPARATORS = ("", "-", ".", " ", "=")
PLAIN = re.compile(r"[^\s\S]")
"""Matches nothing, after one look at each character."""
SHORT, LONG = 2**12, 2**17
"""Lengths in characters of the shorter one of two texts. The longer one has eight times that."""
GROWTH = 24
"""How much longer the longer text may take. It is 8 times as long for a linear pattern, and 64 times for a square."""


SAMPLES = (
    "postgres://phoebe:hunter2@db.example.com/models",
    "AccountName=models;AccountKey=Zk3xQ9vLm2Np8Rt5Yw7Bc1==",
    "Bearer abcdefghijklmnop0123",
    "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",
    "sk-proj-Zk3xQ9vLm2Np8Rt5Yw7Bc1Df4Gh6Jk0S",
    "xoxb-2739104856-Zk3xQ9vLm2Np",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzb21lYm9keSJ9.Zk3xQ9vLm2Np8Rt5Yw7Bc1",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
)
"""Credentials, whose first parts are repeated."""


def cost(search: Callable[[str], object], text: str, times: int) -> float:
    """Return the shortest CPU time of some searches."""
    measured = []
    for _ in range(times):
        begin = time.process_time()
        search(text)
        measured.append(time.process_time() - begin)
    return min(measured)


def is_linear(search: Callable[[str], object], unit: str, length: int = SHORT) -> bool:
    """Tell whether a search in repetitions of a text is linear. What seems not to be is measured again."""
    short, long = unit * (length // len(unit)), unit * (8 * length // len(unit))
    for times in (1, 4):
        # What is too short to measure is compared with a plain search.
        few = max(cost(search, short, times), cost(PLAIN.search, long, times) / 8)
        if cost(search, long, times) <= GROWTH * few:
            return True
    return False


def hostile(parts: tuple[str, ...]) -> Iterator[str]:
    """Yield texts that begin like a credential again and again."""
    for part in parts:
        for separator in SEPARATORS:
            yield f"{part}{separator}"
            yield f"{separator}{part}aaaaaaaa{separator}"
    for sample in SAMPLES:
        if any(part in sample for part in parts):
            yield from (sample[:end] for end in (len(sample) // 2, len(sample) - 4))


@pytest.mark.parametrize("shape", credentials._table().shapes, ids=lambda shape: shape.what)
def test_a_shape_of_credentials_is_sought_in_linear_time(shape):
    """See defects H20."""
    search = shape.pattern.search
    assert [unit for unit in dict.fromkeys(hostile(shape.contains)) if not is_linear(search, unit)] == []
    assert is_linear(search, f"{shape.contains[0]}aaaaaaaa-", LONG)


@pytest.mark.parametrize("unit", ["$(", "$(a", "$((", "$$(", "$()", "$(a)$(", ")", "$"])
def test_references_are_sought_in_linear_time(unit):
    """See defects H20."""
    assert is_linear(lambda text: [*credentials.REFERENCE.finditer(text)], unit)
    assert is_linear(lambda text: credentials.REFERENCE.sub("", text), unit)


@pytest.mark.parametrize(
    "unit", [" went unchecked", " went unchecked for ", " went unchecked for a: ", "a went unchecked: "]
)
def test_what_went_unchecked_is_sought_in_linear_time(unit):
    """See defects H20."""
    line = problems.LogLine.write(problems.gap(Path(), "", ""))[0] + unit
    assert is_linear(problems.LogLine.gap_words, line)
    assert is_linear(problems.LogLine.gap_words, f"{line}\n")


def test_a_pattern_that_is_not_linear_is_noticed():
    assert not is_linear(re.compile(r"\beyJ[\w-]{8,}\.").search, "eyJaaaaaaaa-")


TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzb21lYm9keSJ9.Zk3xQ9vLm2Np8Rt5Yw7Bc1"


@pytest.mark.parametrize("before", ["", "a ", "-", "_", "a-", "a_b-", "eyJ-", "eyJa.", "x.", "=", "eyJaaaaaaaa-"])
def test_a_web_token_is_found_wherever_it_begins(before):
    """See defects H20."""
    assert credentials.has_shape(before + TOKEN)
    assert "Zk3xQ9vLm2Np8Rt5Yw7Bc1" not in credentials.hide(before + TOKEN)


@pytest.mark.parametrize(
    "text", [f"a{TOKEN}", "eyJa.eyJaaaaaaaa.a", "eyJaaaaaaaa.eyJa.a", "eyJaaaaaaaa.aaaaaaaa.a", "eyJaaaaaaaa"]
)
def test_a_text_that_resembles_a_web_token_is_none(text):
    assert not credentials.has_shape(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [("$(A)", ["A"]), ("$(A$(B)", ["A$(B"]), ("$(A) $(B", ["A"]), ("$$(A) $(B)", ["B"]), ("$()", []), ("$(", [])],
)
def test_the_names_in_references_are_those_that_kubernetes_reads(text, names):
    assert [match[1] for match in credentials.REFERENCE.finditer(text) if match[1]] == names
