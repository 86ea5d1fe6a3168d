"""Metrics that an engine registers, asked in the engine's own Python."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.vllm.installation import Version

SCRIPT = Path(__file__).with_name("registry_script.py")
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
_OWN = frozenset({"since", "fulfils"})
"""Keys of a setting that the script does not take."""


def registered(version: Version, model: Path, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return the kinds of metrics by name, under each of the settings, and under `server` those of the API server."""
    rows = {name: {key: row[key] for key in row if key not in _OWN} for name, row in settings.items()}
    command = [str(version.python), str(SCRIPT), str(model), json.dumps(rows)]
    result = subprocess.run(command, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])
