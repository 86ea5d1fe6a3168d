"""Metrics that an engine registers, asked in the engine's own Python."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from local.vllm.installation import Version
from tests.support.engine import scripts

SCRIPT = Path(__file__).with_name("registry_script.py")
_OWN = frozenset({"since", "fulfils"})
"""Keys of a setting that the script does not take."""


class RegisteredMetric(NamedTuple):
    """A metric in the registry of an engine."""

    kind: str
    labels: list[str]
    bounds: list[float]
    """Finite bounds of a histogram, ascending; empty for other metrics."""


def registered(
    version: Version, model: Path, settings: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, RegisteredMetric]]:
    """Return metrics by name, under each of the settings, and under `server` those of the API server."""
    rows = {name: {key: row[key] for key in row if key not in _OWN} for name, row in settings.items()}
    answer = scripts.run(version, SCRIPT, [str(model), json.dumps(rows)])
    return {
        setting: {name: RegisteredMetric(*metric) for name, metric in metrics.items()}
        for setting, metrics in answer.items()
    }
