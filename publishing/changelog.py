"""Reader of `CHANGELOG.md`, which has the form of Keep a Changelog 1.1.0 (https://keepachangelog.com/en/1.1.0)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from publishing.errors import PublishingError

FILE = "CHANGELOG.md"
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
"""Headings of changes, in the order of the format."""
UNRELEASED = "Unreleased"
_TITLE = "# Changelog\n"
_SECTION = re.compile(r"^## (.*)$", re.MULTILINE)
_HEADING = re.compile(rf"\[({UNRELEASED})\]|\[(\d+\.\d+\.\d+)\] - \d{{4}}-\d\d-\d\d")
_KIND = re.compile(r"^### (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """The changes of one version."""

    version: str
    """`UNRELEASED`, or a version such as `0.1.0`."""
    text: str
    """Markdown below the heading, without blank lines around it; empty if nothing has changed."""


def read(text: str) -> list[Section]:
    """Return the sections of a changelog, the newest first. Raises `PublishingError` if its form is another one."""
    if not text.startswith(_TITLE):
        raise PublishingError(f"{FILE}: does not begin with its title; write {_TITLE.strip()}")
    headings = [*_SECTION.finditer(text)]
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    sections = [
        Section(_version(heading[1]), text[heading.end() : end].strip())
        for heading, end in zip(headings, ends, strict=True)
    ]
    for problem in _problems(sections):
        raise PublishingError(f"{FILE}: {problem}")
    return sections


def newest(text: str) -> Section:
    """Return the section of the newest version. Raises `PublishingError` if there is none."""
    return next(section for section in read(text) if section.version != UNRELEASED)


def _version(heading: str) -> str:
    match = _HEADING.fullmatch(heading)
    if match is None:
        raise PublishingError(f"{FILE}: is no heading of a version (## {heading}); write ## [1.2.3] - 2026-01-31")
    return match[1] or match[2]


def _problems(sections: list[Section]) -> Iterator[str]:
    """Yield mistakes in the order of versions and of kinds of changes."""
    versions = [section.version for section in sections]
    if versions[:1] != [UNRELEASED]:
        yield f"lacks the first section; write ## [{UNRELEASED}]"
    numbers = [tuple(map(int, version.split("."))) for version in versions[1:] if version != UNRELEASED]
    if len(numbers) != len(versions) - 1 or not numbers:
        yield f"lacks a version below ## [{UNRELEASED}]; write ## [1.2.3] - 2026-01-31"
    if numbers != sorted(set(numbers), reverse=True):
        yield f"has versions out of order ({', '.join(versions[1:])}); write each once, the newest first"
    for section in sections:
        kinds = _KIND.findall(section.text)
        if kinds != [kind for kind in KINDS if kind in kinds]:
            yield f"has other kinds of changes in {section.version} ({', '.join(kinds)}); write {', '.join(KINDS)}"
        if not section.text and section.version != UNRELEASED:
            yield f"says nothing of {section.version}; write what has changed for users"
