"""Checks of a version: whether it may be published, and whether its files are those of the commit."""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from publishing import build, changelog, repository
from publishing.errors import PublishingError

_READ = """
import importlib.metadata, json, pathlib, sys
import inference_stacks_outputs as outputs
outputs.read(json.loads((pathlib.Path(sys.argv[1]) / f"v{outputs.VERSION}.json").read_text()))
print(importlib.metadata.version("inference-stacks-outputs"))
"""
"""Program that reads a contract by the installed reader, and prints the version of the reader."""
_CONTRACTS = "tests/contracts/outputs"
"""Folder with outputs of each version of the contract."""


def commit(project: Path, version: str) -> None:
    """Raise `PublishingError` if the commit is not that of the version: by its files, its tags or its changelog."""
    repository.require_clean(project)
    sections = changelog.read((project / changelog.FILE).read_text(encoding="utf-8"))
    unreleased = sections[0]
    newest = sections[1]
    if newest.version != version:
        raise PublishingError(
            f"{changelog.FILE}: begins with another version ({newest.version}); write a section for {version}"
        )
    tags = repository.tags(project)
    if tags and tags != [f"v{version}"]:
        raise PublishingError(
            f"pyproject.toml: version is {version}, but the tag is {', '.join(tags)}; make them equal"
        )
    if tags and unreleased.text:
        raise PublishingError(f"{changelog.FILE}: has unreleased changes; move them to {version}")


def files(target: Path, version: str) -> None:
    """Raise `PublishingError` if a file of a build is missing, altered, or not of the version."""
    sums = (target / build.SUMS).read_text(encoding="utf-8")
    if sums != build.sums(target):
        raise PublishingError(f"{target}: differs from {build.SUMS}; build it again")
    root = f"{build.NAME}-{version}"
    archive = target / f"{root}.tar.gz"
    (wheel,) = target.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as content:
        content.extractall(folder, filter="data")
        source = Path(folder) / root
        _compare_schemas(source / build.SCHEMAS, target)
        installed = _installed_version(wheel, Path(folder) / "venv", source / _CONTRACTS)
    if installed != version:
        raise PublishingError(
            f"{build.READER}/pyproject.toml: version is {installed}, that of the project {version}; make them equal"
        )


def _compare_schemas(source: Path, target: Path) -> None:
    """Raise `PublishingError` if the archive and the folder have different schemas."""
    archived = {file.name: file.read_bytes() for file in source.glob("*.json")}
    published = {file.name: file.read_bytes() for file in target.glob("*.json")}
    different = sorted(name for name in archived | published if archived.get(name) != published.get(name))
    if different:
        raise PublishingError(f"{target / different[0]}: is not that of the archive; build it again")


def _installed_version(wheel: Path, venv: Path, contracts: Path) -> str:
    """Install the wheel into an empty environment, read a contract by it there, and return its version."""
    uv = (sys.executable, "-m", "uv", "--quiet", "--offline")
    python = venv / "bin" / "python"
    for command in (
        [*uv, "venv", "--python", sys.executable, str(venv)],
        [*uv, "pip", "install", "--python", str(python), "--no-index", "--no-deps", str(wheel)],
        [str(python), "-I", "-c", _READ, str(contracts)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PublishingError(f"{wheel}: does not work in an empty environment:\n{done.stderr.strip()}")
    return done.stdout.strip()
