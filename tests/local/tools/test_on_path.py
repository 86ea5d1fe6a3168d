"""Tools on PATH are used if they fit."""

import hashlib
import io
import os

import pytest

from local.report import Report
from local.tools import ensure, on_path, table
from tests.support.greeter import GO, WRITE, say_version, script


def test_a_fitting_tool_on_path_is_used_with_all_its_names(tmp_path, root, bin_folder, quiet):
    say_version(bin_folder, "1.3.0", "greeter", "greet")
    tools = ensure(["greet"], quiet, cache=tmp_path / "cache", root=root)
    assert {name: (tool.version, tool.path, tool.origin) for name, tool in tools.items()} == {
        "greeter": ("1.3.0", bin_folder / "greeter", "PATH"),
        "greet": ("1.3.0", bin_folder / "greet", "PATH"),
    }
    assert tools["greet"].sha256 == hashlib.sha256((bin_folder / "greet").read_bytes()).hexdigest()


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
    tools = ensure(["greeter"], Report(output), cache=tmp_path / "cache", root=root)
    assert tools["greeter"].origin == "built from Go modules"
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
    tool = on_path.find(entry)
    assert (tool is not None and tool[0] == version) == fits


def test_the_engine_on_path_counts_only_with_its_language_host_beside_it(bin_folder):
    entry = next(entry for entry in table.read()[1] if entry.name == "pulumi")
    say_version(bin_folder, "v3.231.0", "pulumi")
    assert on_path.find(entry) is None
    say_version(bin_folder, "", "pulumi-language-python", "pulumi-language-python-exec")
    assert on_path.find(entry) is not None


def test_a_folder_of_commands_that_we_composed_is_not_taken_for_the_users_path(tmp_path, monkeypatch):
    ours = tmp_path / "ours"
    theirs = tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
        (folder / "go").write_text("#!/bin/sh\necho go1.26.9\n")
        (folder / "go").chmod(0o755)
    (ours / on_path.OURS).touch()
    monkeypatch.setenv("PATH", f"{ours}{os.pathsep}{theirs}{os.pathsep}{os.defpath}")
    go = on_path.find_go(table.read(table.ROOT)[0])
    assert go == ("1.26.9", theirs / "go")
