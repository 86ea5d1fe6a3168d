"""Parsers of the engine, asked in the engine's own Python."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.engine.listing import VERSION

SCRIPT = Path(__file__).with_name("parser_script.py")


def known(parsers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return those of the parsers, each a kind and a name, that the engine knows."""
    return [(kind, name) for kind, name in _ask(parsers)]


def _ask(items: Sequence[Any]) -> Any:
    command = [str(VERSION.python), str(SCRIPT)]
    result = subprocess.run(command, input=json.dumps(items), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])
