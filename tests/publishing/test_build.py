"""Files of a version, built from a small clone with all that is published; the packages that build a wheel are real."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from models import version
from publishing import build

ROOT = Path(__file__).parents[2]
PARTS = ("CHANGELOG.md", "pyproject.toml", "models/__init__.py", "models/version.py", "publishing", "reader", "schemas")
CONTRACTS = "tests/contracts/outputs"
NUMBER = version.read()
WHEEL = f"inference_stacks_outputs-{NUMBER}-py3-none-any.whl"
ARCHIVE = f"inference-stacks-{NUMBER}.tar.gz"
WHO = {"NAME": "a", "EMAIL": "a@example.com", "DATE": "2026-01-31T12:00:00Z"}
COMMITTER = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in WHO.items()}
pytestmark = pytest.mark.real


def git(folder, *arguments):
    environment = {**os.environ, **COMMITTER, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path):
    """Return a function that makes a clone with one commit in a folder; its commit is always the same."""

    def new(name):
        folder = tmp_path / name
        for part in (*PARTS, CONTRACTS):
            source = ROOT / part
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(
                    source, folder / part, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
                )
            else:
                shutil.copy(source, folder / part)
        (folder / ".gitignore").write_text("__pycache__/\ndist/\n", encoding="utf-8")
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "publish")
        return folder

    return new


def publish(folder, *options):
    """Run the command in a clone. Return its exit code and what it wrote."""
    command = [sys.executable, "-m", "publishing", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def replace(folder, name, right, wrong):
    text = (folder / name).read_text(encoding="utf-8")
    assert right in text
    (folder / name).write_text(text.replace(right, wrong, 1), encoding="utf-8")
    git(folder, "commit", "-q", "-a", "-m", "change")


def test_two_builds_of_a_commit_in_different_folders_have_equal_bytes(clone):
    first, second = clone("first"), clone("second place")
    old = os.umask(0o077)
    try:
        code, output = publish(first)
    finally:
        os.umask(old)
    assert code == 0, output
    for file in (second / "schemas").iterdir():
        os.utime(file, (0, 0))
    code, output = publish(second, "--into", "elsewhere/files")
    assert code == 0, output
    files = contents(first / "dist")
    assert files == contents(second / "elsewhere/files")
    schemas = {file.name for file in (ROOT / "schemas").glob("*.json")}
    assert {*files} == {ARCHIVE, WHEEL, "SHA256SUMS", *schemas}
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=first / "dist", check=True)
    holds_what_was_committed(first)
    code, output = publish(first)
    assert (code, contents(first / "dist")) == (0, files), output


def holds_what_was_committed(folder):
    """Assert that archive and wheel have the committed files, from the time of the commit."""
    content = (folder / "dist" / ARCHIVE).read_bytes()
    assert content[3:8] == bytes(5), "a name or a time in the header of gzip"
    with tarfile.open(folder / "dist" / ARCHIVE) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
    tracked = subprocess.run(["git", "ls-files"], cwd=folder, capture_output=True, text=True, check=True)
    assert {member.name.partition("/")[2] for member in members} == {*tracked.stdout.split()}
    assert {member.mtime for member in members} == {1769860800}
    with zipfile.ZipFile(folder / "dist" / WHEEL) as wheel:
        assert "inference_stacks_outputs.py" in wheel.namelist()
        assert {entry.date_time for entry in wheel.infolist()} == {(2026, 1, 31, 12, 0, 0)}
        assert wheel.read("inference_stacks_outputs.py") == (ROOT / "reader/inference_stacks_outputs.py").read_bytes()


def test_another_version_or_another_tree_is_refused(clone):
    folder = clone("refused")
    git(folder, "tag", f"v{NUMBER}")
    (folder / "schemas/new.json").write_text("{}", encoding="utf-8")
    assert publish(folder) == (2, "schemas/new.json: differs from the commit; commit all changes, or remove them\n")
    (folder / "schemas/new.json").unlink()
    git(folder, "tag", "v9.9.9")
    tags = f"pyproject.toml: version is {NUMBER}, but the tag is v{NUMBER}, v9.9.9; make them equal\n"
    assert publish(folder) == (2, tags)
    git(folder, "tag", "-d", "v9.9.9")
    changelog = (folder / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = changelog[changelog.index("## [Unreleased]\n") : changelog.index(f"## [{NUMBER}]")]
    replace(folder, "CHANGELOG.md", unreleased, "## [Unreleased]\n\n### Fixed\n\n- more\n\n")
    git(folder, "tag", "-f", f"v{NUMBER}")
    assert publish(folder) == (2, f"CHANGELOG.md: has unreleased changes; move them to {NUMBER}\n")
    replace(folder, "CHANGELOG.md", f"[{NUMBER}]", "[9.0.0]")
    assert publish(folder) == (
        2,
        f"CHANGELOG.md: begins with another version (9.0.0); write a section for {NUMBER}\n",
    )
    assert not (folder / "dist").exists()


def test_a_reader_that_does_not_work_or_has_another_version_is_refused(clone):
    folder = clone("reader")
    replace(folder, "reader/pyproject.toml", f'"{NUMBER}"', '"2.0.0"')
    message = f"reader/pyproject.toml: version is 2.0.0, that of the project {NUMBER}; make them equal\n"
    assert publish(folder) == (2, message)
    replace(folder, "reader/pyproject.toml", '"2.0.0"', f'"{NUMBER}"')
    replace(
        folder, "reader/inference_stacks_outputs.py", "from typing import Any", "import yaml\nfrom typing import Any"
    )
    code, output = publish(folder)
    assert code == 2
    assert f"{WHEEL}: does not work in an empty environment:" in output
    assert "No module named 'yaml'" in output


def test_files_that_were_altered_after_the_build_are_noticed(clone):
    folder = clone("altered")
    code, output = publish(folder)
    assert code == 0, output
    judge = f"from pathlib import Path; from publishing import check; check.files(Path('dist'), '{NUMBER}')"
    checked = [sys.executable, "-c", judge]
    assert subprocess.run(checked, cwd=folder, check=False).returncode == 0
    schema = folder / "dist/stack.schema.json"
    schema.write_bytes(schema.read_bytes() + b"\n")
    done = subprocess.run(checked, cwd=folder, capture_output=True, text=True, check=False)
    assert "PublishingError: dist: differs from SHA256SUMS; build it again" in done.stderr
    (folder / "dist/SHA256SUMS").write_text(build.sums(folder / "dist"), encoding="utf-8")
    done = subprocess.run(checked, cwd=folder, capture_output=True, text=True, check=False)
    assert "PublishingError: dist/stack.schema.json: is not that of the archive; build it again" in done.stderr


def test_files_of_others_are_not_removed(clone):
    folder = clone("others")
    for target in ("models", "pyproject.toml"):
        message = f"{folder / target}: has files of others; remove them, or name a new folder\n"
        assert publish(folder, "--into", target) == (2, message)
    assert (folder / "models/version.py").exists()
    assert (folder / "pyproject.toml").exists()


def test_a_folder_that_is_no_clone_is_refused(clone):
    folder = clone("plain")
    shutil.rmtree(folder / ".git")
    code, output = publish(folder)
    assert code == 2
    assert output.startswith(f"{folder}: git cannot read it (")
    assert output.endswith("; run this in a clone of the repository\n")


def test_the_changes_of_the_version_are_printed(clone):
    code, output = publish(clone("notes"), "--notes")
    assert code == 0
    assert output.startswith("The first version.\n\n### Added\n")
