"""`python -m upstream.trtllm FILE COMMIT`: flags of TensorRT-LLM, from its own list of the options of `trtllm-serve`.

No public index has its wheels, so the file has to be at hand: `REFERENCE` of a commit of the project. A test of
TensorRT-LLM compares the list with the program's own definitions, so it has every option (test_serve_cli.py beside it).
"""

import argparse
import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import yaml

TABLES = Path("planning/releases/engines")
TABLE = "trtllm-serve.yaml"
SOURCES = "trtllm-serve-sources.yaml"
REFERENCE = "tests/unittest/api_stability/references/trtllm_serve_cli.yaml"
_EVERYWHERE = frozenset({"--host", "--port", "--tp_size", "--served_model_name"})
"""Flags that every version has. If one is missing, TensorRT-LLM has changed the form of the list."""
_SOURCES_TEXT = """\
# Written by `python -m upstream.trtllm`. Do not edit.
date: {date}
files:
  {file}:
    project: TensorRT-LLM
    commit: {commit}
    sha256: {sha256}
"""
_TABLE_HEAD = """\
# Written by `python -m upstream.trtllm` from the file that trtllm-serve-sources.yaml names. Do not edit.
# Images name no version of this file: all of them get the same flags.
versions: []
flags:
  "0..":
"""


def read(content: bytes) -> frozenset[str]:
    """Return the flags of `trtllm-serve serve`.

    Raises ValueError if the list lacks flags that every version has.
    """
    document = cast("dict[str, Any]", yaml.safe_load(content))
    options = document.get("commands", {}).get("serve", {}).get("options", {})
    flags = frozenset(flag for option in options.values() for flag in option["flags"])
    if not flags >= _EVERYWHERE:
        raise ValueError("the list lacks flags that every version has")
    return flags


def main() -> None:
    """Write the table of flags and its source from a file."""
    parser = argparse.ArgumentParser(prog="python -m upstream.trtllm", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("commit")
    options = parser.parse_args()
    content = options.file.read_bytes()
    lines = [f"    - {flag}\n" for flag in sorted(read(content))]
    sha256 = hashlib.sha256(content).hexdigest()
    today = datetime.now(tz=UTC).date()
    source = _SOURCES_TEXT.format(date=today, file=REFERENCE, commit=options.commit, sha256=sha256)
    (TABLES / SOURCES).write_text(source, encoding="utf-8")
    (TABLES / TABLE).write_text(_TABLE_HEAD + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
