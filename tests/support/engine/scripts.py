"""Programs that the engine's own Python runs. Each prints its answer as JSON in its last line."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from local import processes
from local.vllm.installation import Version

ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}


def run(version: Version, script: Path, arguments: Sequence[str], text: str | None = None) -> Any:
    """Return the answer of a program that reads a text. The program is killed when this process ends for any reason."""
    command = processes.tied_command([str(version.python), str(script), *arguments])
    result = subprocess.run(
        command, env=os.environ | ENVIRONMENT, input=text, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr + result.stdout
    return json.loads(result.stdout.splitlines()[-1])
