"""A program beside a clone imports one name, and learns of a module that would replace one of this project."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMPORT = "import sys; sys.path.append('inference-stacks')\n"
PRINT = """
from inference_stacks import InferenceStack, read_platform
from pathlib import Path
files = {name: Path(getattr(module, "__file__", None) or "/") for name, module in sys.modules.items()}
ours = {name for name, file in files.items() if ROOT in file.resolve().parents and ".venv" not in file.parts}
print(*sorted({name.partition(".")[0] for name in ours if "." not in name or name.partition(".")[0] in ours}))
"""
ROOMS = ["components", "composition", "facts", "inference_stacks", "judging", "manifests", "models", "planning"]


@pytest.fixture
def program(tmp_path):
    """Make a program with a clone beside it, and return a function that runs it from another folder."""
    (tmp_path / "inference-stacks").symlink_to(ROOT)

    def run(text):
        (tmp_path / "__main__.py").write_text(text)
        command = [sys.executable, tmp_path / "__main__.py"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def test_one_import_loads_no_module_but_those_that_are_checked(program):
    done = program(f"{IMPORT}from pathlib import Path; ROOT = Path({str(ROOT)!r}){PRINT}")
    assert done.stdout.split() == ROOMS, done.stderr


@pytest.mark.parametrize("file", ["models.py", "facts/__init__.py", "judging/own.py"])
def test_a_module_of_the_program_in_the_place_of_one_of_this_project_is_refused(program, tmp_path, file):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("")
    done = program(f"{IMPORT}ROOT = ''{PRINT}")
    room = file.partition("/")[0].removesuffix(".py")
    if room == "judging":
        # A folder without __init__.py is no module if a later folder has a package of its name.
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode == 1
    assert (
        f"modules of this program have names of folders of Inference Stacks: {room} ({tmp_path / file});" in done.stderr
    )


def test_a_module_that_the_program_has_imported_already_is_refused(program, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "models.py").write_text("")
    begin = "import sys; sys.path.insert(0, 'elsewhere'); import models; del sys.path[0]\n"
    done = program(f"{begin}{IMPORT}ROOT = ''{PRINT}")
    assert f"models ({tmp_path / 'elsewhere' / 'models.py'})" in done.stderr
