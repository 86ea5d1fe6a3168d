"""Tools are built once, whole, and from what the checksums say."""

import io
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local import files
from local.errors import LocalError
from local.report import Report
from local.tools import build, ensure, table
from tests.support.greeter import GO, WRITE, builds, script


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


def test_one_build_compiles_the_packages_of_several_tools(tmp_path, root, bin_folder, quiet):
    row = 'package = "."\nseconds = 1\npath'
    packages = 'packages = ["example.com/cmd/greeter", "example.com/cmd/greet"]\nseconds = 1\npath'
    table_file = root / "tools.toml"
    table_file.write_text(table_file.read_text().replace(row, packages))
    write = 'for package in "$3" "$4"; do printf "#!/bin/sh\\necho $package\\n" > "$2${package##*/}"; done'
    script(bin_folder / "go", GO.replace("{build}", f'{write}; chmod +x "$2"*'))
    tools = ensure(["greeter"], quiet, cache=tmp_path / "cache", root=root)
    assert builds(bin_folder) == 1
    for name in ("greeter", "greet"):
        assert not tools[name].path.is_symlink()
        assert subprocess.check_output([tools[name].path], text=True) == f"example.com/cmd/{name}\n"
    assert tools["greeter"].sha256 != tools["greet"].sha256


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
    tools = ensure(["greeter"], quiet, cache=cache, root=root)
    assert subprocess.check_output([tools["greeter"].path], text=True) == "built\n"
    assert not list((cache / "tools" / "greeter").glob(f"{build.TEMPORARY}*"))


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
