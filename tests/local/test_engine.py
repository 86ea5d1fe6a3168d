"""The engine: the project stays as it is, secrets stay secret, whatever a killed run left is repaired."""

import io
import json
import os
import signal
import stat
import subprocess
import time
import uuid
from pathlib import Path

import pytest
import yaml

from local import processes
from local.engine import PulumiEngine
from local.errors import LocalError
from local.report import Report
from local.tools import Tool
from tests.support.locks import dead_pid, lock
from tests.support.waits import eventually

PROGRAM = """
import pulumi
import pulumi_kubernetes as k8s

config = pulumi.Config()
cluster = k8s.Provider("cluster", kubeconfig=config.require_secret("kubeconfig"), cluster_identifier="test")
for name in config.require_object("names"):
    metadata = {"name": name, "namespace": "default", "annotations": {"pulumi.com/skipAwait": "true"}}
    k8s.core.v1.ConfigMap(name, metadata=metadata, opts=pulumi.ResourceOptions(provider=cluster))
waited = config.get("waited")
if waited:
    metadata = {"name": waited, "namespace": "default", "annotations": {"pulumi.com/waitFor": "jsonpath={.data.go}=on"}}
    k8s.core.v1.ConfigMap(waited, metadata=metadata, opts=pulumi.ResourceOptions(provider=cluster))
pulumi.export("names", config.require_object("names"))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text(
        "name: engine-test\nruntime:\n  name: python\n  options: {virtualenv: .venv}\n"
    )
    (project / "__main__.py").write_text(PROGRAM)
    write_stack(project, "one")
    return project


def write_stack(project: Path, *names: str, waited: str = "") -> None:
    text = f"config:\n  engine-test:names: {json.dumps(names)}\n"
    (project / "Pulumi.dev.yaml").write_text(text + (f"  engine-test:waited: {waited}\n" if waited else ""))


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def engine(tmp_path, project, plane, tools, plain_python, output):
    environment = {"PULUMI_PYTHON_CMD": str(plain_python)}
    settings = {"report": Report(output), "environment": environment}
    engine = PulumiEngine(tmp_path / "engine", tools, plane.kubeconfig, project, "dev", **settings)
    yield engine
    engine.stop()
    write_stack(project)
    engine.run("destroy", "--yes", "--skip-preview", check=False)


@pytest.fixture
def broken(tmp_path, project, output):
    """Return an engine whose `pulumi` only leaves a trace, for what happens before it is called."""
    directory = tmp_path / "engine"
    fake = tmp_path / "fake"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    names = ("pulumi", "pulumi-language-python", "pulumi-language-python-exec", "pulumi-resource-kubernetes", "kubectl")
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("{}")
    tools = {name: Tool(name, "0", fake, "", "test") for name in names}
    return PulumiEngine(directory, tools, kubeconfig, project, "dev", report=Report(output))


ENCRYPTING = """#!/bin/sh
[ "$1 $2" = "config set" ] || exit 0
echo call >> "$PULUMI_HOME/../encryptions"
sed -i "s/^config:/&\\n  $4:\\n    secure: v1:$(wc -l < "$PULUMI_HOME/../encryptions")/" Pulumi.dev.yaml
grep -q ^encryptionsalt Pulumi.dev.yaml || echo "encryptionsalt: v1:salt" >> Pulumi.dev.yaml
"""
"""A `pulumi` that notes how often it encrypts, and gives another value each time."""


@pytest.fixture
def encrypting(broken, tmp_path):
    (tmp_path / "fake").write_text(ENCRYPTING)
    broken.ensure_stack()
    return broken


def configured(engine: PulumiEngine) -> dict[str, object]:
    """Return the engine's copy of the stack file."""
    return yaml.safe_load((engine.workspace / "Pulumi.dev.yaml").read_text())


def encryptions(engine: PulumiEngine) -> int:
    return len((engine.directory / "encryptions").read_text().splitlines())


def test_children_of_a_killed_run_end_before_its_lock_is_broken(broken, output):
    directory = broken.directory.resolve()
    child = subprocess.Popen(
        ["sleep", "60"], env={PulumiEngine.MARK: f"{directory}:{uuid.uuid4()}"}, start_new_session=True
    )
    stranger = subprocess.Popen(["sleep", "60"], env={PulumiEngine.MARK: f"{directory}-other:{uuid.uuid4()}"})
    try:
        # The kernel sets the variables of a program after it has closed the pipe on which its parent waits.
        for process in (child, stranger):
            eventually(lambda process=process: Path(f"/proc/{process.pid}/environ").read_bytes())
        lock(broken.directory / "backend", pid=dead_pid())
        broken.ensure_stack()
        assert child.wait(timeout=5) == -signal.SIGTERM
        assert stranger.poll() is None
        lines = output.getvalue().splitlines()
        assert [line.split()[0] for line in lines] == ["ending", "removed"]
    finally:
        stranger.kill()
        stranger.wait()


def test_secrets_under_a_foreign_passphrase_are_refused(broken, project):
    (project / "Pulumi.dev.yaml").write_text("config:\n  engine-test:token:\n    secure: v1:abc\n")
    with pytest.raises(LocalError, match="has secrets that only its author's passphrase decrypts"):
        broken.ensure_stack()


def test_a_changed_stack_file_keeps_the_encrypted_kubeconfig(encrypting, project):
    first = configured(encrypting)
    write_stack(project, "one", "two")
    encrypting.ensure_stack()
    encrypting.ensure_stack()
    changed = configured(encrypting)
    assert changed["config"].pop("engine-test:names") == ["one", "two"]
    assert first["config"].pop("engine-test:names") == ["one"]
    assert changed == first
    assert first["config"] == {"engine-test:kubeconfig": {"secure": "v1:1"}}
    assert encryptions(encrypting) == 1


def test_another_kubeconfig_is_encrypted_anew(encrypting):
    encrypting._kubeconfig.write_text('{"another": 1}')
    encrypting.ensure_stack()
    assert configured(encrypting)["config"]["engine-test:kubeconfig"] == {"secure": "v1:2"}


@pytest.mark.parametrize("text", [
    "config: {engine-test:names: [two]}\n",
    "config:\n  # of the test\n  engine-test:names: [two]\n",
    "config:\n  kubeconfig: plain\n",
    "{}\n",
])  # fmt: skip
def test_what_the_engine_alone_can_write_into_is_left_to_it(encrypting, project, text):
    (project / "Pulumi.dev.yaml").write_text(text)
    encrypting.ensure_stack()
    assert encryptions(encrypting) == 2


def test_after_a_run_that_failed_to_encrypt_the_stack_file_has_the_kubeconfig(encrypting, project):
    fake = encrypting.directory / "bin" / "pulumi"
    working = fake.read_bytes()
    fake.write_text("#!/bin/sh\nexit 1\n")
    encrypting._kubeconfig.write_text('{"another": 1}')
    write_stack(project, "two")
    with pytest.raises(LocalError, match="pulumi config set"):
        encrypting._configure()
    encrypting._kubeconfig.write_text("{}")
    write_stack(project, "one")
    fake.write_bytes(working)
    encrypting._configure()
    assert configured(encrypting)["config"]["engine-test:kubeconfig"] == {"secure": "v1:2"}


def test_children_see_nothing_of_the_users_environment(broken, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/somebody/else")
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", "pul-secret")
    monkeypatch.setenv("AWS_PROFILE", "production")
    environment = broken._environment()
    assert environment["KUBECONFIG"] == str(broken._kubeconfig)
    assert environment["HOME"] == str(broken.directory / "home")
    assert not {"PULUMI_ACCESS_TOKEN", "AWS_PROFILE"} & set(environment)


@pytest.mark.real
def test_up_leaves_the_project_untouched_and_the_second_preview_empty(engine, project, plane):
    before = {path: path.read_bytes() for path in sorted(project.iterdir()) if path.is_file()}
    engine.run("up", "--yes", "--skip-preview")
    assert "3 unchanged" in engine.run("preview", "--refresh", "--expect-no-changes").stdout
    assert {path: path.read_bytes() for path in sorted(project.iterdir()) if path.is_file()} == before
    assert engine.outputs() == {"names": ["one"]}
    assert "one" in plane.kubectl("get", "configmap", "-n", "default")


@pytest.mark.real
def test_a_changed_stack_file_is_taken_over_without_another_salt(engine, project):
    engine.run("up", "--yes", "--skip-preview")
    before = configured(engine)
    write_stack(project, "one", "two")
    engine.run("up", "--yes", "--skip-preview")
    assert engine.outputs() == {"names": ["one", "two"]}
    after = configured(engine)
    assert after["encryptionsalt"] == before["encryptionsalt"]
    assert after["config"]["engine-test:kubeconfig"] == before["config"]["engine-test:kubeconfig"], "encrypted anew"


@pytest.mark.real
def test_the_kubeconfig_is_nowhere_in_the_clear(engine, plane):
    engine.run("up", "--yes", "--skip-preview")
    token = (plane.directory / "tokens.csv").read_text().partition(",")[0]
    holders = [path for path in engine.directory.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
    assert holders == []
    assert token not in json.dumps(engine.export())
    assert stat.S_IMODE((engine.directory / "passphrase").stat().st_mode) == 0o600


@pytest.mark.real
@pytest.mark.parametrize("whole_group", [False, True], ids=["parent", "group"])
def test_a_killed_up_converges_and_leaves_no_process(engine, project, plane, output, whole_group):
    write_stack(project, "one", waited="slow")
    with (engine.directory.parent / "log").open("wb") as log:
        child = engine.popen("up", "--yes", "--skip-preview", output=log)
        wait_until(lambda: "slow" in plane.kubectl("get", "configmap", "-n", "default"))
        with pytest.raises(LocalError, match=f"locked by process {child.pid}"):
            engine.run("up", "--yes", "--skip-preview")
        (os.killpg if whole_group else os.kill)(child.pid, signal.SIGKILL)
        child.wait()
    plane.kubectl("patch", "configmap", "slow", "-n", "default", "--type=merge", '--patch={"data":{"go":"on"}}')
    engine.run("up", "--yes", "--skip-preview")
    assert "removed the lock" in output.getvalue()
    assert not engine.export()["deployment"].get("pending_operations")
    assert "unchanged" in engine.run("preview", "--refresh", "--expect-no-changes").stdout
    mine = f"{engine.directory}:"
    wait_until(
        lambda: not [mark for mark in processes.find_marked(PulumiEngine.MARK).values() if mark.startswith(mine)]
    )


def wait_until(condition, seconds=120.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
