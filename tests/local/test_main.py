"""Commands need the standard library alone, and end with one line instead of a traceback."""

import ast
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local import files, main, up
from local.vllm.command import EngineCommand
from local.vllm.server import EngineServer

ROOT = Path(__file__).parent.parent.parent


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "local", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=60
    )


RUN_BY_THE_ENGINES_PYTHON = {ROOT / "local" / "vllm" / "tiny_model.py"}


def test_the_entry_is_readable_by_an_old_python():
    for name in ("__init__.py", "__main__.py"):
        tree = ast.parse((ROOT / "local" / name).read_text(), feature_version=(3, 4))
        assert not any(isinstance(node, ast.JoinedStr | ast.AnnAssign) for node in ast.walk(tree))


def test_only_the_standard_library_is_imported():
    for path in {*(ROOT / "local").rglob("*.py")} - RUN_BY_THE_ENGINES_PYTHON:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            roots = {name.partition(".")[0] for name in names}
            assert roots <= {*sys.stdlib_module_names, "local"}, path


def test_an_error_is_one_line_without_a_traceback(tmp_path):
    result = run("env", INFERENCE_STACKS_STATE=str(tmp_path / "state"))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "error: there is nothing to use yet; run `make up` first\n"


def test_down_may_be_called_without_and_after_up(tmp_path):
    for _ in range(2):
        result = run("down", INFERENCE_STACKS_STATE=str(tmp_path / "state"))
        assert result.returncode == 0, result.stderr
    assert not (tmp_path / "state").exists()


def test_down_ends_model_servers(tmp_path):
    state = tmp_path / "state"
    command = EngineCommand(("/bin/sleep", "600"), {}, (), Path())
    directory = state / up.MODEL_SERVERS / "models.chat"
    directory.mkdir(parents=True)
    engine = EngineServer(command, directory)
    engine.start()
    try:
        result = run("down", INFERENCE_STACKS_STATE=str(state))
        assert result.returncode == 0, result.stderr
        assert engine.has_ended()
    finally:
        engine.end(grace=0)
    assert not state.exists()


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


IGNORING = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "


HEEDING = "from local import processes; processes.heed_interrupts(); "


INTERRUPTED = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"


ASKING = f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {INTERRUPTED!r}]).returncode)"


@pytest.mark.parametrize(("before", "code"), [(IGNORING, 0), (IGNORING + HEEDING, -signal.SIGINT)])
def test_children_of_a_job_that_runs_in_the_background_can_be_interrupted(before, code):
    """A child of a program that ignores interrupts ignores them, too, unless the program heeds them again."""
    done = subprocess.run([sys.executable, "-c", before + ASKING], capture_output=True, text=True, check=True)
    assert int(done.stdout) == code


@pytest.mark.parametrize(
    ("arguments", "installed", "removed"),
    [
        ([], ["0.30.0"], []),
        (["0.26.0", "0.32.0"], ["0.26.0", "0.32.0"], []),
        (["--remove", "0.26.0"], [], ["0.26.0"]),
        (["--remove"], [], ["0.26.0", "0.32.0"]),
    ],
)
def test_the_engine_of_the_embedded_stack_is_installed_unless_versions_are_named(
    monkeypatch, tmp_path, arguments, installed, removed
):
    for name in ("0.26.0", "0.32.0"):
        (tmp_path / "engines" / f"vllm-{name}").mkdir(parents=True)
    monkeypatch.setenv("INFERENCE_STACKS_CACHE", str(tmp_path))
    calls = {"install": [], "remove": []}
    for name, names in calls.items():
        monkeypatch.setattr(main.installation, name, lambda version, _, names=names: names.append(version))
    prepared = []
    monkeypatch.setattr(main.host, "check", lambda _: prepared.append("host"))
    monkeypatch.setattr(main.venv, "setup", lambda *_, **__: prepared.append("venv"))
    assert main.main(["engine", *arguments]) == 0
    assert calls == {"install": installed, "remove": removed}
    assert prepared == ["host", "venv"] * (not arguments)


def test_nothing_is_removed_where_nothing_is_installed(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("INFERENCE_STACKS_CACHE", str(tmp_path))
    assert main.main(["engine", "--remove"]) == 0
    assert capsys.readouterr().out == "no version of vLLM is installed\n"
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(("arguments", "option"), [([], ""), (["ENGINE=vllm"], " --engine=vllm"), (["ENGINE="], "")])
def test_the_engine_of_make_try_is_that_of_the_command_line_and_not_of_the_environment(arguments, option):
    command = ["make", "--dry-run", "--no-print-directory", "try", *arguments]
    environment = {"PATH": os.environ["PATH"], "ENGINE": "docker"}
    made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert made.stdout.rstrip() == f"python3 -m local try{option}"


@pytest.mark.parametrize(("arguments", "engine"), [([], None), (["--engine=vllm"], "vllm")])
def test_the_stack_is_tried_with_simulated_model_servers_unless_an_engine_is_named(monkeypatch, arguments, engine):
    calls = []
    monkeypatch.setattr(main, "COMMANDS", (("try", lambda _, engine: calls.append(engine), ""),))
    assert main.main(["try", *arguments]) == 0
    assert calls == [engine]


def test_another_engine_is_refused_with_those_that_there_are(capsys):
    with pytest.raises(SystemExit):
        main.main(["try", "--engine=sglang"])
    assert re.search("invalid choice: 'sglang' .choose from .*vllm", capsys.readouterr().err)
