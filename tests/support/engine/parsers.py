"""Parsers of the engine, asked in the engine's own Python."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.engine.listing import VERSION

SCRIPT = Path(__file__).with_name("parser_script.py")


def ask(questions: Sequence[Mapping[str, Any]], tokenizer: Path) -> list[dict[str, Any]]:
    """Return the answers of `parser_script.py` to questions."""
    command = [str(VERSION.python), str(SCRIPT), str(tokenizer)]
    result = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])
