"""The table of tools (tools.toml), read into types."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent


@dataclass(frozen=True)
class OnPath:
    """Which versions on PATH fit, and how a version is found out."""

    minimum: tuple[int, ...]
    below: tuple[int, ...]
    pattern: str
    probe: tuple[str, ...] | None
    probes: dict[str, tuple[str, ...]]
    beside: tuple[str, ...]

    def fits(self, version: str) -> bool:
        """Say whether a dotted version is at least `minimum` and below `below`; ValueError if it is not of numbers."""
        return self.minimum <= numbers(version) < self.below


@dataclass(frozen=True)
class Files:
    """Files of a Go module, with regular expressions to substitute in them."""

    module: str
    glob: str
    into: str
    substitutions: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Entry:
    """One row of the table. `seconds` is the expected time of a first build."""

    name: str
    names: tuple[str, ...]
    version: str
    origin: str
    seconds: float
    package: str
    ldflags: str
    requirements: Path
    module: Path
    files: tuple[Files, ...]
    at: str | None
    together: str | None
    on_path: OnPath | None
    row: str

    @property
    def key(self) -> str:
        """A short digest of everything that decides what a build yields."""
        digest = hashlib.sha256(self.row.encode())
        for file in (self.requirements, *(self.module / name for name in ("go.mod", "go.sum", "main.go"))):
            digest.update(file.name.encode() + (file.read_bytes() if file.is_file() else b""))
        return digest.hexdigest()[:16]

    def location(self, name: str) -> str:
        """Return where in what a build yields the tool of this name is: a path below the build's folder."""
        return self.at if self.at is not None else name


@dataclass(frozen=True)
class Go:
    """Which Go toolchain on PATH fits, and the package that carries one where none does."""

    minimum: tuple[int, ...]
    below: tuple[int, ...]
    version: str
    requirements: Path
    seconds: float


def numbers(version: str) -> tuple[int, ...]:
    """Return a dotted version as numbers, so that versions compare."""
    return tuple(int(part) for part in version.split("."))


def read(root: Path = ROOT) -> tuple[Go, list[Entry]]:
    """Read tools.toml, modules/ and requirements/ under `root`."""
    table = tomllib.loads((root / "tools.toml").read_text(encoding="utf-8"))
    go = table["go"]
    toolchain = Go(
        numbers(go["minimum"]),
        numbers(go["below"]),
        go["version"],
        root / "requirements" / go["requirements"],
        go["seconds"],
    )
    return toolchain, [_entry(root, row) for row in table["tool"]]


def _entry(root: Path, row: dict[str, Any]) -> Entry:
    return Entry(
        name=row["name"],
        names=tuple(row["names"]),
        version=row["version"],
        origin=row["from"],
        seconds=row["seconds"],
        package=row.get("package", ""),
        ldflags=row.get("ldflags", ""),
        requirements=root / "requirements" / row.get("requirements", "none"),
        module=root / "modules" / row.get("module", row["name"]),
        files=tuple(_files(item) for item in row.get("files", ())),
        at=row.get("at"),
        together=row.get("with"),
        on_path=_on_path(row["path"]) if "path" in row else None,
        row=json.dumps({key: value for key, value in row.items() if key not in {"path", "seconds"}}, sort_keys=True),
    )


def _files(item: dict[str, Any]) -> Files:
    pairs = tuple((pattern, replacement) for pattern, replacement in item.get("substitutions", ()))
    return Files(item["module"], item["glob"], item.get("into", "."), pairs)


def _on_path(item: dict[str, Any]) -> OnPath:
    return OnPath(
        minimum=numbers(item["minimum"]),
        below=numbers(item["below"]),
        pattern=item["pattern"],
        probe=tuple(item["probe"]) if "probe" in item else None,
        probes={name: tuple(arguments) for name, arguments in item.get("probes", {}).items()},
        beside=tuple(item.get("beside", ())),
    )
