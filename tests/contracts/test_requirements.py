"""Pinned requirements: pip refuses a hashed file if an extra is asked for that no line pins."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PIN = re.compile(r"^(?P<name>[\w.-]+)(?:\[(?P<extras>[\w,-]+)\])?==(?P<version>[^ ;]+)", re.MULTILINE)
FILES = ("requirements.txt", "requirements-dev.txt")


def _pins() -> dict[str, set[str]]:
    """Return the extras of each pinned package, by the package's name."""
    text = "\n".join(Path(name).read_text(encoding="utf-8") for name in FILES)
    return {
        canonicalize_name(match["name"]): set((match["extras"] or "").split(",")) - {""} for match in PIN.finditer(text)
    }


def _requirements(name: str, extras: set[str]) -> list[Requirement]:
    """Return what an installed package requires here, with its extras."""
    requirements = [Requirement(text) for text in metadata.requires(name) or ()]
    return [
        requirement
        for requirement in requirements
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def _unpinned_extras(pins: dict[str, set[str]]) -> list[str]:
    return [
        f"{name} requires {requirement.name}[{extra}]"
        for name, extras in pins.items()
        for requirement in _requirements(name, extras)
        for extra in sorted(requirement.extras)
        if extra not in pins[canonicalize_name(requirement.name)]
    ]


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_pinned_with_checksums(name: str) -> None:
    text = Path(name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith(("#", "-r"))]
    assert lines
    assert [line for line in lines if not PIN.match(line) or "--hash=sha256:" not in line] == []


def test_every_extra_that_a_package_requires_is_pinned() -> None:
    assert _unpinned_extras(_pins()) == []


def test_an_extra_without_a_pin_is_noticed() -> None:
    pins = _pins() | {"coverage": set[str]()}
    assert "pytest-cov requires coverage[toml]" in _unpinned_extras(pins)
