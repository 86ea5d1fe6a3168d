"""Tools: what is on PATH and fits is used, what is built is whole and verified."""

import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local import files, tools
from local.errors import LocalError
from local.report import Report
from local.tools import build, cache_directory, ensure, history, on_path, table

ROWS = """
[go]
minimum = "1.26"
below = "2"
version = "1.26.6"
requirements = "go.txt"
seconds = 1

[[tool]]
name = "greeter"
names = ["greeter", "greet"]
version = "1.0.0"
from = "go"
package = "."
seconds = 1
path = { minimum = "1.2", below = "2", probe = ["--version"], pattern = '(\\d+\\.\\d+\\.\\d+)' }

[[tool]]
name = "companion"
names = ["companion"]
version = "1.0.0"
from = "go"
package = "."
module = "greeter"
seconds = 1
with = "greeter"
"""
GO = """#!/bin/sh
echo "$@" >> "$0.calls"
case "$1" in
env) echo go1.26.8 ;;
build) while [ "$1" != -o ]; do shift; done; {build} ;;
esac
"""
WRITE = 'printf "#!/bin/sh\\necho built\\n" > "$2"; chmod +x "$2"'


@pytest.fixture
def quiet() -> Report:
    return Report(io.StringIO())


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Write a table with one small tool; a shell script takes the place of `go`."""
    root = tmp_path / "root"
    module = root / "modules" / "greeter"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module greeter\n\ngo 1.26.0\n")
    (module / "go.sum").write_text("")
    (root / "tools.toml").write_text(ROWS)
    return root


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def say_version(folder: Path, version: str, *names: str) -> None:
    for name in names:
        script(folder / name, f"#!/bin/sh\necho {version}\n")


def builds(folder: Path) -> int:
    calls = folder / "go.calls"
    return len(re.findall(r"^build", calls.read_text(), re.MULTILINE)) if calls.exists() else 0


def test_a_fitting_tool_on_path_is_used_with_all_its_names(tmp_path, root, bin_folder, quiet):
    say_version(bin_folder, "1.3.0", "greeter", "greet")
    found = ensure(["greet"], quiet, cache=tmp_path / "cache", root=root)
    assert {name: (tool.version, tool.path, tool.origin) for name, tool in found.items()} == {
        "greeter": ("1.3.0", bin_folder / "greeter", "PATH"),
        "greet": ("1.3.0", bin_folder / "greet", "PATH"),
    }
    assert found["greet"].sha256 == hashlib.sha256((bin_folder / "greet").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "versions",
    [
        {"greeter": "1.1.9", "greet": "1.1.9"},
        {"greeter": "2.0.0", "greet": "2.0.0"},
        {"greeter": "1.3.0", "greet": "1.4.0"},
    ],
    ids=["too old", "too new", "of two versions"],
)
def test_an_unfitting_tool_on_path_is_hidden(tmp_path, root, bin_folder, versions):
    for name, version in versions.items():
        say_version(bin_folder, version, name)
    script(bin_folder / "go", GO.replace("{build}", WRITE))
    output = io.StringIO()
    found = ensure(["greeter"], Report(output), cache=tmp_path / "cache", root=root)
    assert found["greeter"].origin == "built from Go modules"
    assert str(bin_folder) not in output.getvalue()


def test_a_tool_that_never_answers_does_not_fit(tmp_path, root, bin_folder, monkeypatch):
    monkeypatch.setattr(on_path, "PROBE_TIMEOUT", 0.2)
    for name in ("greeter", "greet"):
        script(bin_folder / name, "#!/bin/sh\nexec sleep 60\n")
    _, entries = table.read(root)
    assert on_path.find(entries[0]) is None


@pytest.mark.parametrize(("version", "fits"), [("4.28.1", True), ("4.29.0", False)])
def test_a_version_is_read_from_a_file_that_cannot_be_asked(bin_folder, version, fits):
    text = f'x{{"name": "kubernetes", "version": "{version}", "displayName": 1}}'
    script(bin_folder / "pulumi-resource-kubernetes", text)
    entry = next(entry for entry in table.read()[1] if entry.name == "pulumi-resource-kubernetes")
    found = on_path.find(entry)
    assert (found is not None and found[0] == version) == fits


def test_the_engine_on_path_counts_only_with_its_language_host_beside_it(bin_folder):
    entry = next(entry for entry in table.read()[1] if entry.name == "pulumi")
    say_version(bin_folder, "v3.231.0", "pulumi")
    assert on_path.find(entry) is None
    say_version(bin_folder, "", "pulumi-language-python", "pulumi-language-python-exec")
    assert on_path.find(entry) is not None


def test_a_second_call_builds_nothing(tmp_path, root, bin_folder, quiet):
    script(bin_folder / "go", GO.replace("{build}", WRITE))
    first = ensure(["greeter"], quiet, cache=tmp_path / "cache", root=root)
    assert ensure(["greeter"], quiet, cache=tmp_path / "cache", root=root) == first
    assert builds(bin_folder) == 1
    assert subprocess.check_output([first["greet"].path], text=True) == "built\n"


def test_a_changed_module_is_built_anew(tmp_path, root, bin_folder, quiet):
    script(bin_folder / "go", GO.replace("{build}", WRITE))
    first = ensure(["greeter"], quiet, cache=tmp_path / "cache", root=root)
    (root / "modules" / "greeter" / "go.sum").write_text("changed\n")
    assert ensure(["greeter"], quiet, cache=tmp_path / "cache", root=root)["greeter"].path != first["greeter"].path


def test_a_damaged_binary_is_built_anew_and_said_so(tmp_path, root, bin_folder):
    script(bin_folder / "go", GO.replace("{build}", WRITE))
    cache = tmp_path / "cache"
    first = ensure(["greeter"], Report(io.StringIO()), cache=cache, root=root)
    first["greeter"].path.write_text("#!/bin/sh\necho somebody else's\n")
    output = io.StringIO()
    assert ensure(["greeter"], Report(output), cache=cache, root=root) == first
    assert "greeter has changed since it was built" in output.getvalue()
    assert files.sha256(first["greeter"].path) == first["greeter"].sha256


def test_a_failed_build_shows_the_end_of_its_log_and_leaves_nothing(tmp_path, root, bin_folder, quiet):
    script(bin_folder / "go", GO.replace("{build}", "echo no such package >&2; exit 1"))
    cache = tmp_path / "cache"
    with pytest.raises(LocalError, match=r"the end of .*/logs/greeter.log:\nno such package"):
        ensure(["greeter"], quiet, cache=cache, root=root)
    assert not [
        path for path in (cache / "tools" / "greeter").iterdir() if not path.name.startswith((build.TEMPORARY, "lock"))
    ]


def test_a_killed_build_leaves_nothing_finished_and_the_next_one_succeeds(tmp_path, root, bin_folder, quiet):
    script(bin_folder / "go", GO.replace("{build}", f'{WRITE}; echo $$ > "$0.pid"; exec sleep 60'))
    cache = tmp_path / "cache"
    program = (
        "import io, pathlib, sys\nfrom local.report import Report\nfrom local.tools import ensure\n"
        "ensure(['greeter'], Report(io.StringIO()), cache=pathlib.Path(sys.argv[1]), root=pathlib.Path(sys.argv[2]))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(cache), str(root)])
    pid_file = bin_folder / "go.pid"
    wait_until(lambda: pid_file.exists() and pid_file.read_text().strip())
    child.send_signal(signal.SIGKILL)
    child.wait()
    wait_until(lambda: not alive(int(pid_file.read_text())))
    script(bin_folder / "go", GO.replace("{build}", WRITE))
    found = ensure(["greeter"], quiet, cache=cache, root=root)
    assert subprocess.check_output([found["greeter"].path], text=True) == "built\n"
    assert not list((cache / "tools" / "greeter").glob(f"{build.TEMPORARY}*"))


def test_a_full_disk_is_said_before_a_build_begins(tmp_path, root, bin_folder, quiet, monkeypatch):
    script(bin_folder / "go", GO.replace("{build}", WRITE))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12, 10**9))
    with pytest.raises(LocalError, match=r"1\.0 GB free; building the tools needs 8 GB"):
        ensure(["greeter"], quiet, cache=tmp_path / "cache", root=root)
    assert builds(bin_folder) == 0


def record(cache: Path, name: str, key: str, seconds: float, at: float) -> None:
    path = cache / "tools" / name / key / build.METADATA
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"version": "1", "seconds": seconds, "sha256": {}}))
    os.utime(path, (at, at))


def test_a_build_is_expected_to_take_as_long_as_the_last_one_on_this_machine(tmp_path):
    _, entries = table.read()
    by_name = {entry.name: entry for entry in entries}
    istiod, kwok = by_name["istiod"], by_name["kwok"]
    expected = history.History(tmp_path, entries).estimate
    assert expected(istiod) == istiod.seconds
    record(tmp_path, "kwok", "old", kwok.seconds * 5, at=1)
    record(tmp_path, "kwok", "new", kwok.seconds * 2, at=2)
    record(tmp_path, "etcd", "new", by_name["etcd"].seconds * 9, at=3)
    assert expected(kwok) == kwok.seconds * 2
    assert expected(istiod) == istiod.seconds * 2


def test_two_programs_never_build_the_same_tool_twice(tmp_path, root, bin_folder):
    script(bin_folder / "go", GO.replace("{build}", f"{WRITE}; sleep 1"))
    program = (
        "import pathlib, sys\nfrom local.report import Report\nfrom local.tools import ensure\n"
        "ensure(['greeter'], Report(), cache=pathlib.Path(sys.argv[1]), root=pathlib.Path(sys.argv[2]))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "cache"), str(root)]
    programs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    output = sorted(program.communicate()[0] for program in programs)
    assert [program.returncode for program in programs] == [0, 0]
    assert builds(bin_folder) == 1
    assert "… greeter 1.0.0: building (about 1 s)" in output[1] + output[0]
    assert "waiting for another program that is building it" in output[0] + output[1]


def test_the_list_of_tools_has_what_was_built_with_its_size_and_time_and_what_is_on_path(tmp_path, root, bin_folder):
    script(bin_folder / "go", GO.replace("{build}", f'{WRITE}; truncate -s 2500000 "$2"; sleep 1'))
    built = ensure(["greeter"], Report(io.StringIO()), cache=tmp_path / "cache", root=root)["greet"]
    say_version(bin_folder, "1.3.0", "greeter", "greet")
    on_the_path = ensure(["greeter"], Report(io.StringIO()), cache=tmp_path / "cache", root=root)["greeter"]
    header, *rows = (re.split(" {2,}| (?=[0-9])", line) for line in tools.listing([on_the_path, built]))
    assert [name.strip() for name in header] == ["TOOL", "VERSION", "SIZE", "TIME", "SHA-256", "PLACE"]
    assert rows == [
        [
            "greet",
            "1.0.0",
            "2.5 MB",
            f"{built.seconds:.0f} s",
            built.sha256,
            str(built.path),
            "(built from Go modules)",
        ],
        ["greeter", "1.3.0", "0.0 MB", on_the_path.sha256, str(on_the_path.path), "(PATH)"],
    ]
    assert built.seconds >= 1


def test_long_builds_are_announced_with_an_estimate(tmp_path, root, bin_folder):
    script(bin_folder / "go", GO.replace("{build}", WRITE))
    record(tmp_path / "cache", "greeter", "old", 600.0, at=1)
    output = io.StringIO()
    ensure(["greeter"], Report(output), cache=tmp_path / "cache", root=root)
    assert output.getvalue().startswith("tools to build first: 1, in about 10 minutes on this machine\n")
    assert "… greeter 1.0.0: building (about 600 s)" in output.getvalue()


@pytest.mark.real
def test_a_module_with_another_checksum_is_refused(tmp_path, tools, quiet):
    """Change one digit of a go.sum: nothing is built from the module, although Go has it already."""
    root = tmp_path / "root"
    shutil.copytree(table.ROOT, root)
    sums = root / "modules" / "kwok" / "go.sum"
    text = re.sub(
        r"(?m)^(sigs\.k8s\.io/kwok v\S+ h1:)(.)",
        lambda match: match[1] + ("A" if match[2] != "A" else "B"),
        sums.read_text(),
    )
    assert text != sums.read_text()
    sums.write_text(text)
    # The module is already unpacked in the shared cache; Go compares its recorded checksum all the same.
    with pytest.raises(LocalError, match="checksum mismatch"):
        ensure(["kwok-stages"], quiet, cache=tmp_path / "cache", root=root)
    assert not list((tmp_path / "cache" / "tools" / "kwok-stages").glob("*/" + build.METADATA))


@pytest.mark.real
def test_every_tool_of_the_table_is_there_with_its_checksum(tools):
    names = {name for entry in table.read()[1] for name in entry.names}
    assert set(tools) == names
    for tool in tools.values():
        assert files.sha256(tool.path) == tool.sha256
        if cache_directory() in tool.path.parents:
            recorded = json.loads(
                next(p for p in tool.path.parents if (p / build.METADATA).exists()).joinpath(build.METADATA).read_text()
            )
            assert recorded["sha256"][tool.name] == tool.sha256


def test_the_longest_build_goes_first():
    _, entries = table.read()
    seconds = {entry.name: entry.seconds for entry in entries}
    assert max(seconds, key=lambda name: seconds[name]) == "istiod"


def wait_until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_folder_of_commands_that_we_composed_is_not_taken_for_the_users_path(tmp_path, monkeypatch):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
        (folder / "go").write_text("#!/bin/sh\necho go1.26.9\n")
        (folder / "go").chmod(0o755)
    (ours / on_path.OURS).touch()
    monkeypatch.setenv("PATH", f"{ours}{os.pathsep}{theirs}{os.pathsep}{os.defpath}")
    found = on_path.find_go(table.read(table.ROOT)[0])
    assert found == ("1.26.9", theirs / "go")
