"""The README's samples of what `make up` and `make try` print, and their comparison with what a run prints."""

import re
from collections.abc import Iterator
from pathlib import Path

ELISION = "…"
"""A line of the sample that stands for further objects or resources."""
_LISTED = re.compile(r"[A-Z]\w+ (models )?\S+|\+ \S+:\S+ \S+ created TIME")
"""An object that the stack describes, or a resource that the run made: the sample shows some of them."""
_PASSING = re.compile(rf"{ELISION} .+|.+ \(\d+ s( of about \d+ s)?\)(: .+)?")
"""A step that begins or goes on, which a terminal shows for a while only."""
_VARYING = (
    (r"\(\d+(\.\d+)? ?s\)", "TIME"),
    (r"-[a-z0-9]{8,10}-[a-z0-9]{5}\b", "-HASH"),
    (r"\b\d+s\b", "AGE"),
    (r"\bgpu-[a-z0-9]+-\d+\b", "NODE"),
    (r"\b127(\.\d+){3}:\d+\b", "ADDRESS"),
    (r'"created": ?\d+', "CREATED"),
)
"""Times, hashes, addresses, and the places of pods."""


UP, TRY = "The output:", "sends a request through it:"
"""Ends of the sentences before the samples."""


def written(heading: str = UP) -> str:
    """Return the sample after a heading."""
    text = Path("README.md").read_text(encoding="utf-8")
    return text.partition(f"{heading}\n\n```\n")[2].partition("```\n")[0]


def differences(sample: str, printed: str) -> Iterator[str]:
    """Yield what a sample shows and a run does not print, or the other way round."""
    shown = list(_lines(sample))
    seen = list(_lines("\n".join(line for line in printed.splitlines() if not _PASSING.fullmatch(line))))
    yield from (f"is not printed: {line}" for line in shown if line != ELISION and line not in seen)
    yield from (f"is not in the sample: {line}" for line in seen if not _LISTED.fullmatch(line) and line not in shown)
    order = [line for line in shown if line in seen and not _LISTED.fullmatch(line)]
    if order != [line for line in seen if line in order]:
        yield "the order is another"


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text that are not empty, without what varies from run to run."""
    for line in text.splitlines():
        for pattern, name in _VARYING:
            line = re.sub(pattern, name, line)  # noqa: PLW2901, each name takes the place of what varies
        if line.strip():
            yield " ".join(line.split())
