"""Records and reader of the table of tools, `tools.toml`."""

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
    """Suitable versions of a tool on PATH, and the way to find the version of a tool."""

    minimum: tuple[int, ...]
    """Lowest suitable version."""
    below: tuple[int, ...]
    """Lowest version that is too new."""
    pattern: str
    """Regular expression whose group is the version, in a tool's output or file."""
    probe: tuple[str, ...] | None
    """Arguments with which a tool prints its version. If None, `pattern` is searched for in the tool's file."""
    probes: dict[str, tuple[str, ...]]
    """Arguments that some tools take instead of `probe`, by name of the tool."""
    beside: tuple[str, ...]
    """Other files that must be in the same folder as the tools. Without these files, the tools on PATH do not count."""

    def fits(self, version: str) -> bool:
        """Return whether a dotted version is at least `minimum` and below `below`.

        Raises ValueError if a text between the dots is no number.
        """
        return self.minimum <= numbers(version) < self.below


@dataclass(frozen=True)
class Files:
    """Files that the build of a tool copies from a Go module."""

    module: str
    glob: str
    into: str
    """Folder that the files are copied to."""
    substitutions: tuple[tuple[str, str], ...]
    """Regular expressions, each with the text that replaces its matches in the copied files."""


_IDLE = {"path", "seconds"}
"""Keys of a row that do not change the result of a build."""


@dataclass(frozen=True)
class Entry:
    """One row of the table: tools that are built together."""

    name: str
    names: tuple[str, ...]
    """Names of the tools."""
    version: str
    origin: str
    """`go`, `python` or `files`."""
    seconds: float
    """Expected duration of a first build."""
    packages: tuple[str, ...]
    """Go packages that one build compiles. The tool of one package has the entry's first name, and the other names are
    links to it. Of several packages, each is the tool whose name is the last part of its path."""
    tags: str
    """Build tags of a Go package, separated by commas."""
    ldflags: str
    requirements: Path
    module: Path
    files: tuple[Files, ...]
    at: str | None
    """Path of the tool below the build's folder. If None, the tool's name is the path."""
    together: str | None
    """Name of another entry. If the tools of that entry are taken from PATH, the tools of this entry are, too. If not,
    the tools of this entry are built. If `together` is None, `on_path` decides."""
    on_path: OnPath | None
    row: str
    """The row as JSON, without the keys that do not change the result of a build."""

    @property
    def key(self) -> str:
        """Short digest of everything that the result of a build depends on."""
        digest = hashlib.sha256(self.row.encode())
        for file in (self.requirements, *(self.module / name for name in ("go.mod", "go.sum", "main.go"))):
            digest.update(file.name.encode())
            if file.is_file():
                digest.update(file.read_bytes())
        return digest.hexdigest()[:16]

    def location(self, name: str) -> str:
        """Return the path of a tool below the build's folder."""
        if self.at is None:
            return name
        return self.at


@dataclass(frozen=True)
class Go:
    """Suitable versions of a Go toolchain on PATH, and the Python package with a toolchain to install otherwise."""

    minimum: tuple[int, ...]
    """Lowest suitable version."""
    below: tuple[int, ...]
    """Lowest version that is too new."""
    version: str
    """Version of the package, and of the toolchain in the package."""
    requirements: Path
    """Requirements file of the package."""
    seconds: float
    """Expected duration of the installation."""


def numbers(version: str) -> tuple[int, ...]:
    """Return a dotted version as numbers, so that versions can be compared."""
    return tuple(int(part) for part in version.split("."))


def read(root: Path = ROOT) -> tuple[Go, list[Entry]]:
    """Read `tools.toml` under `root`. Paths in it are below the folders `modules` and `requirements` under `root`."""
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
        packages=_packages(row),
        tags=row.get("tags", ""),
        ldflags=row.get("ldflags", ""),
        requirements=root / "requirements" / row.get("requirements", "none"),
        module=root / "modules" / row.get("module", row["name"]),
        files=tuple(_files(item) for item in row.get("files", ())),
        at=row.get("at"),
        together=row.get("with"),
        on_path=_on_path(row["path"]) if "path" in row else None,
        row=json.dumps({key: value for key, value in row.items() if key not in _IDLE}, sort_keys=True),
    )


def _packages(row: dict[str, Any]) -> tuple[str, ...]:
    if "package" in row:
        return (row["package"],)
    return tuple(row.get("packages", ()))


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
