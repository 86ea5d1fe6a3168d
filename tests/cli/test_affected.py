"""`affected` prints exactly the stacks that a change of files touches."""

import shutil
import subprocess

import pytest

from cli import affected
from models.problems import ConfigError
from planning.releases import channels

STACKS = {
    "dev": "extends: [stacks/dev.yaml], cluster: {facts: {type: file, path: ./facts.json}}, formerly: [models/old]",
    "prod": "extends: [stacks/base.yaml, stacks/eu.yaml]",
    "staging": "extends: [./stacks/base.yaml], release: llm-d-0.8",
}
BASES = {
    "stacks/base.yaml": "release: llm-d-0.10\nextends: [../shared/all.yaml]\n",
    "stacks/dev.yaml": "extends: [stacks/base.yaml]\n",
    "stacks/eu.yaml": "labels: {region: eu}\n",
    "../shared/all.yaml": "labels: {owner: ml}\n",
    "facts.json": "{}",
}
ALL = [*STACKS]


def git(*arguments, at):
    # No configuration of the machine is read, so that no hook or signature of its user takes part.
    environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": "/usr/bin:/bin"}
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], cwd=at, env=environment, check=True, capture_output=True)


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """Make a repository with three stacks in a folder of it."""
    top = tmp_path_factory.mktemp("committed")
    for name, stack in STACKS.items():
        write(top / "program", f"Pulumi.{name}.yaml", f"config: {{'inference-stacks:stack': {{{stack}}}}}\n")
    for name, text in BASES.items():
        write(top / "program", name, text)
    git("init", at=top)
    git("add", ".", at=top)
    git("commit", "-m", "before", at=top)
    return top


@pytest.fixture
def program(committed, tmp_path, monkeypatch):
    """Work in the folder of a fresh copy of the repository."""
    folder = shutil.copytree(committed, tmp_path / "copy") / "program"
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("changed", "stacks"),
    [
        ("stacks/base.yaml", ALL),
        ("stacks/eu.yaml", ["prod"]),
        ("stacks/dev.yaml", ["dev"]),
        ("../shared/all.yaml", ALL),
        ("Pulumi.staging.yaml", ["staging"]),
        ("Pulumi.eu.yaml", ["eu"]),
        ("facts.json", ["dev"]),
        ("inference.prod.lock.yaml", ["prod"]),
        ("inference.old.lock.yaml", ["dev"]),
        ("inference.other.lock.yaml", []),
        ("planning/releases/llm-d-0.8.yaml", ["staging"]),
        ("planning/releases/llm-d-0.10.yaml", ["dev", "prod"]),
        ("planning/hardware/accelerators.yaml", ALL),
        ("models/stack.py", ALL),
        ("__main__.py", ALL),
        ("requirements.txt", ALL),
        ("docs/run.md", []),
        ("tests/cli/test_affected.py", []),
        ("cli/affected.py", []),
        ("stacks/unused.yaml", []),
        ("../other/Pulumi.dev.yaml", []),
    ],
)
def test_a_change_touches_exactly_these_stacks(program, changed, stacks):
    write(program, changed, "config: {}\nlabels: {changed: 'true'}\n")
    assert affected.since("HEAD") == stacks


def test_what_is_committed_is_a_change_since_the_commit_before(program):
    write(program, "stacks/eu.yaml", "labels: {region: us}\n")
    git("commit", "-a", "-m", "after", at=program)
    assert affected.since("HEAD~1") == ["prod"]
    assert affected.since("HEAD") == []


def test_what_is_deleted_or_renamed_touches_stacks_too(program):
    (program / "stacks/eu.yaml").rename(program / "stacks/us.yaml")
    (program / "Pulumi.staging.yaml").unlink()
    assert affected.since("HEAD") == ["prod"]


def test_what_the_other_branch_did_meanwhile_is_no_change(program):
    git("checkout", "-b", "topic", at=program)
    git("checkout", "main", at=program)
    write(program, "models/stack.py", "")
    git("add", ".", at=program)
    git("commit", "-m", "elsewhere", at=program)
    git("checkout", "topic", at=program)
    write(program, "stacks/eu.yaml", "labels: {region: us}\n")
    assert affected.since("main") == ["prod"]


@pytest.mark.parametrize(
    ("keys", "releases"),
    [
        ("services: {a: {release: gie-1.3}}", {"gie-1.3", "llm-d-0.10", "llm-d-0.9"}),
        (
            "services: {a: {release: gie-1.3, canary: {release: llm-d-0.6}}}",
            {"gie-1.3", "llm-d-0.6", "llm-d-0.10", "llm-d-0.9"},
        ),
        ("defaults: {release: gie-1.3}, services: {a: {canary: {weight: 1}}}", {"gie-1.3", "llm-d-0.10", "llm-d-0.9"}),
        ("release: router-0.9", {"llm-d-0.8"}),
        ("release: llm-d-0.6, services: {a: null, b: [], c: {release: null, canary: 1}}", {"llm-d-0.6"}),
    ],
)
def test_a_stack_is_touched_by_the_tables_of_all_channels_that_it_uses(program, keys, releases):
    write(program, "Pulumi.mixed.yaml", f"config: {{'inference-stacks:stack': {{{keys}}}}}\n")
    git("add", ".", at=program)
    git("commit", "-m", "mixed", at=program)
    for release in channels():
        write(program, f"planning/releases/{release}.yaml", "changed: true\n")
        assert ("mixed" in affected.since("HEAD")) is (release in releases)
        (program / f"planning/releases/{release}.yaml").unlink()


@pytest.mark.parametrize("ref", ["nosuch", "--all", ""])
def test_a_commit_that_is_not_there_is_told(program, ref):
    with pytest.raises(ConfigError, match="--since: names no commit that shares history with HEAD") as error:
        affected.since(ref)
    assert "fetch the commit" in str(error.value)


def test_a_stack_that_cannot_be_read_is_touched_by_what_it_may_read(program):
    write(program, "stacks/eu.yaml", "[")
    git("add", ".", at=program)
    git("commit", "-m", "broken", at=program)
    write(program, "planning/releases/llm-d-0.8.yaml", "")
    assert affected.since("HEAD") == ["prod", "staging"]
