"""Tools: what is on PATH and fits is used, what is built is whole and verified."""

import io
import json
import re
import shutil

import pytest

from local import files, tools
from local.errors import LocalError
from local.report import Report
from local.tools import build, cache_directory, ensure, table
from tests.support.greeter import GO, WRITE, builds, record, say_version, script


def test_a_full_disk_is_said_before_a_build_begins(tmp_path, root, bin_folder, quiet, monkeypatch):
    script(bin_folder / "go", GO.replace("{build}", WRITE))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12, 10**9))
    with pytest.raises(LocalError, match=r"1\.0 GB free; building the tools needs 8 GB"):
        ensure(["greeter"], quiet, cache=tmp_path / "cache", root=root)
    assert builds(bin_folder) == 0


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
    assert output.getvalue().startswith("tools to build: 1, in about 10 minutes on this machine\n")
    assert "… greeter 1.0.0: building (about 600 s)" in output.getvalue()


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
