"""The commands: one clear error for what cannot work, nothing but whole set-ups, two runs never at once."""

import ast
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local import files, host, main, up, venv
from local.errors import LocalError
from local.report import Report, Step

ROOT = Path(__file__).parent.parent.parent
RENDERING = ("cli", "composition", "facts", "judging", "manifests", "models", "planning", "Pulumi.yaml", ".venv")
"""Files that a project has to have for its plan to be printed."""
PLAN = """\
Pulumi.dev.yaml describes 13 objects:
  Namespace                   models
  Deployment          models  qwen-decode
  Service             models  qwen
  ServiceAccount      models  qwen-epp
  Role                models  qwen-epp
  RoleBinding         models  qwen-epp
  ClusterRoleBinding          inference-stacks:models:qwen-epp
  ConfigMap           models  qwen-epp
  Service             models  qwen-epp
  InferencePool       models  qwen
  Deployment          models  qwen-epp
  DestinationRule     models  qwen-epp
  HTTPRoute           models  qwen"""


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "local", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_entry_is_readable_by_an_old_python():
    for name in ("__init__.py", "__main__.py"):
        tree = ast.parse((ROOT / "local" / name).read_text(), feature_version=(3, 4))
        assert not any(isinstance(node, ast.JoinedStr | ast.AnnAssign) for node in ast.walk(tree))


def test_only_the_standard_library_is_imported():
    for path in (ROOT / "local").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            roots = {name.partition(".")[0] for name in names}
            assert roots <= {*sys.stdlib_module_names, "local"}, path


def test_another_platform_is_one_clear_error(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "uname", Machine)
    with pytest.raises(LocalError, match=r"Linux x86-64 only; this is linux aarch64"):
        host.check(tmp_path)


class Machine:
    machine = "aarch64"


def test_everything_that_is_missing_is_named_at_once(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(host.importlib.util, "find_spec", lambda name: None if name == "ensurepip" else object())
    with pytest.raises(LocalError, match=r"lacks Python's module ensurepip, the command git, the command make"):
        host.check(tmp_path)


def test_too_little_disk_is_said_at_the_first_set_up_only(monkeypatch, tmp_path):
    monkeypatch.setenv("INFERENCE_STACKS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12, 7 * 10**9))
    with pytest.raises(LocalError, match=r"needs 8 GB of free disk space; .* has 7\.0 GB"):
        host.check(tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / "cache" / "tools").mkdir(parents=True)
    host.check(tmp_path)


def test_an_error_is_one_line_without_a_traceback(tmp_path):
    result = run("env", INFERENCE_STACKS_STATE=str(tmp_path / "state"))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "error: there is nothing to use yet; run `make up` first\n"


def test_down_may_be_called_without_and_after_up(tmp_path):
    for _ in range(2):
        result = run("down", INFERENCE_STACKS_STATE=str(tmp_path / "state"))
        assert result.returncode == 0, result.stderr
    assert not (tmp_path / "state").exists()


def test_a_second_up_at_the_same_time_is_refused(tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    with files.lock(state):
        for command in ("up", "down"):
            result = run(command, INFERENCE_STACKS_STATE=str(state))
            assert result.returncode == 1
            assert result.stderr == f"error: another `up` or `down` works on {state}; wait for it or end it\n"


def test_ctrl_c_is_one_line(monkeypatch, capsys):
    def interrupted(_report):
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "COMMANDS", (("up", interrupted, ""),))
    assert main.main(["up"]) == 130
    assert capsys.readouterr().err.count("\n") == 1


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return a project without requirements, so that its environment is made in seconds."""
    monkeypatch.setenv("INFERENCE_STACKS_CACHE", str(tmp_path / "cache"))
    project = tmp_path / "project"
    project.mkdir()
    (project / venv.DEVELOPMENT).write_text(f"-r {venv.REQUIREMENTS}\n")
    (project / venv.REQUIREMENTS).write_text("# nothing\n")
    return project


IGNORING = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
HEEDING = "from local import processes; processes.heed_interrupts(); "
INTERRUPTED = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
ASKING = f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {INTERRUPTED!r}]).returncode)"


@pytest.mark.parametrize(("before", "code"), [(IGNORING, 0), (IGNORING + HEEDING, -signal.SIGINT)])
def test_children_of_a_job_that_runs_in_the_background_can_be_interrupted(before, code):
    """A child of a program that ignores interrupts ignores them, too, unless the program heeds them again."""
    done = subprocess.run([sys.executable, "-c", before + ASKING], capture_output=True, text=True, check=True)
    assert int(done.stdout) == code


@pytest.mark.real
def test_the_environment_is_made_once_and_made_anew_when_broken(small):
    output = io.StringIO()
    venv.setup(small, Report(output), development=True)
    python = small / ".venv" / "bin" / "python"
    assert subprocess.run([python, "-c", "pass"], check=False).returncode == 0
    first = output.getvalue()
    venv.setup(small, Report(output), development=True)
    venv.setup(small, Report(output), development=False)
    assert output.getvalue() == first
    python.unlink()
    venv.setup(small, Report(output), development=False)
    assert subprocess.run([python, "-c", "pass"], check=False).returncode == 0
    (small / ".venv" / venv.UNFINISHED).touch()
    (small / ".venv" / "half-a-package").touch()
    venv.setup(small, Report(output), development=False)
    assert not (small / ".venv" / "half-a-package").exists()


def test_what_tests_and_linters_need_is_added_when_it_is_asked_for(small, monkeypatch):
    installed = []
    monkeypatch.setattr(venv, "_run", lambda command, _: installed.append(command[-1]))
    monkeypatch.setattr(venv, "_runs", lambda *_: True)
    (small / ".venv").mkdir()
    for development in (False, False, True, True, False):
        venv.setup(small, Report(io.StringIO()), development=development)
    assert installed == [venv.REQUIREMENTS, venv.DEVELOPMENT]


def test_python_compiles_what_it_imports_and_pip_nothing(small, monkeypatch):
    commands = []
    monkeypatch.setattr(venv, "_run", lambda command, _: commands.append(command))
    monkeypatch.setattr(venv, "_runs", lambda *_: True)
    (small / ".venv").mkdir()
    venv.setup(small, Report(io.StringIO()), development=False)
    (command,) = commands
    assert command[1:5] == ["-m", "pip", "install", "--quiet"]
    assert "--no-compile" in command


@pytest.mark.real
def test_requirements_without_a_hash_are_refused_with_the_log(small):
    (small / venv.REQUIREMENTS).write_text("six==1.17.0\n")
    with pytest.raises(LocalError, match=r"(?s)the end of .*venv\.log:.*hash"):
        venv.setup(small, Report(io.StringIO()), development=False)
    assert not (small / ".venv" / venv.STAMP).exists()


def test_each_package_is_pinned_once():
    pins = [
        re.findall(r"^([\w.-]+)==", Path(name).read_text(), re.MULTILINE)
        for name in (venv.DEVELOPMENT, venv.REQUIREMENTS)
    ]
    added, first = map(set, pins)
    assert first
    assert added
    assert first & added == set()
    assert Path(venv.DEVELOPMENT).read_text().startswith(f"-r {venv.REQUIREMENTS}\n")


def test_a_plain_stream_gets_a_line_at_the_start_and_one_at_the_end():
    stream = io.StringIO()
    report = Report(stream)
    with report.step("build", 30):
        report.say("hello")
    with pytest.raises(LocalError), report.step("other"):
        raise LocalError("no")
    lines = stream.getvalue().splitlines()
    assert lines[:2] == ["… build (about 30 s)", "hello"]
    assert [line.split(" (")[0] for line in lines[2:]] == ["✓ build", "… other", "✗ other"]
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_gets_one_live_line_per_running_step():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    report = Report(stream)
    with report.step("one", 10), report.step("two", 20):
        pass
    text = stream.getvalue()
    assert "  one (0 s of about 10 s)\n  two (0 s of about 20 s)\n" in text
    assert text.rstrip().endswith("✓ one (0.0 s)")


def test_the_plan_lists_kind_namespace_and_name():
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {"name": "c"},
    }
    assert up._row(manifest) == ("Service", "b", "a")


def test_the_plan_of_an_object_without_a_namespace_has_none():
    assert up._row({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}) == ("Namespace", "", "a")


def test_the_plan_of_the_embedded_default_is_a_table_of_its_objects():
    assert up._object_table(up.render(ROOT)) == PLAN


def test_the_plan_of_a_mistaken_stack_file_is_its_message(tmp_path):
    for name in RENDERING:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  inference-stacks:stack: {service: {}}\n")
    with pytest.raises(LocalError) as error:
        up.render(tmp_path)
    assert "service: unknown key (service); did you mean services?" in str(error.value).splitlines()


@pytest.mark.parametrize(("elapsed", "text"), [(10, "one (10 s of about 350 s)"), (2177, "one (2177 s)")])
def test_an_estimate_that_has_passed_is_not_shown(elapsed, text):
    """See defects R8."""
    assert Step("one", 350, started=time.monotonic() - elapsed).line() == text
