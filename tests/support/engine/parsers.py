"""Parsers of the engine, asked in the engine's own Python."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.engine import scripts
from tests.support.engine.listing import VERSION

SCRIPT = Path(__file__).with_name("parser_script.py")


def ask(questions: Sequence[Mapping[str, Any]], tokenizer: Path) -> list[dict[str, Any]]:
    """Return the answers of `parser_script.py` to questions."""
    return scripts.run(VERSION, SCRIPT, [str(tokenizer)], json.dumps(questions))
