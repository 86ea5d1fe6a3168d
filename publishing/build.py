"""Builds the files of a version from the commit: the same bytes for the same commit."""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from publishing import repository
from publishing.errors import PublishingError

NAME = "inference-stacks"
SUMS = "SHA256SUMS"
"""File with the checksum of every other file, which `sha256sum --check` reads."""
READER = "reader"
"""Folder of the reader of outputs, which is published as a wheel."""
SCHEMAS = "schemas"
_REQUIREMENTS = "requirements-build.txt"
"""Packages that build the wheel, pinned with hashes; a file in `READER`."""


def build(project: Path, target: Path, version: str) -> list[Path]:
    """Write source archive, wheel, schemas and checksums into a new folder. Return the files, sorted by name.

    The files of an earlier build in `target` are removed first. Raises `PublishingError` if the folder has other files,
    or if the wheel cannot be built.
    """
    _renew(target)
    root = f"{NAME}-{version}"
    content = repository.archive(project, root)
    # A name or a time in the header of gzip would differ from run to run.
    (target / f"{root}.tar.gz").write_bytes(gzip.compress(content, mtime=0))
    source = unpack(content, target / "source") / root
    _build_wheel(source / READER, target, repository.seconds(project))
    for schema in sorted((source / SCHEMAS).glob("*.json")):
        (target / schema.name).write_bytes(schema.read_bytes())
    shutil.rmtree(target / "source")
    (target / SUMS).write_text(sums(target), encoding="utf-8")
    return sorted(target.iterdir())


def sums(target: Path) -> str:
    """Return the lines of `SUMS` for the files of a folder."""
    files = sorted(file for file in target.iterdir() if file.name != SUMS)
    return "".join(f"{digest(file)}  {file.name}\n" for file in files)


def unpack(content: bytes, folder: Path) -> Path:
    """Write the files of a tar archive into a folder, which is returned."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def digest(file: Path) -> str:
    """Return the SHA-256 of a file as hex digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _renew(target: Path) -> None:
    """Make a folder with nothing but an empty file `SUMS`, which marks the folder as one of a build."""
    is_folder = target.is_dir()
    if (target.exists() and not is_folder) or (is_folder and any(target.iterdir()) and not (target / SUMS).exists()):
        raise PublishingError(f"{target}: has files of others; remove them, or name a new folder")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / SUMS).touch()


def _build_wheel(reader: Path, target: Path, seconds: int) -> None:
    """Build the wheel of the reader. Its files get the time of the commit."""
    pins = ("--build-constraints", str(reader / _REQUIREMENTS), "--require-hashes")
    command = [sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", str(target), *pins, str(reader)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(seconds)}
    done = subprocess.run(command, env=environment, umask=0o022, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PublishingError(f"{READER}: cannot be built as a wheel:\n{done.stderr.strip()}")
    # uv writes a file that keeps the folder out of git.
    (target / ".gitignore").unlink(missing_ok=True)
