"""Sizes of small models, asked in the engine's own Python. `python -m tests.support.engine.sizes` records them."""

import functools
import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from local.vllm import families, installation
from local.vllm.families import Family
from local.vllm.installation import Version
from planning.fit import cache, configs, memory
from planning.fit.cache import CacheSetting, Precision
from planning.ground.cluster_facts import Unknown
from tests.support.engine import scripts
from tests.support.engine.listing import VERSION

FOLDER = Path(__file__).parent
SCRIPT = FOLDER / "sizes_script.py"
SETTINGS = FOLDER / "size_settings.yaml"
RECORD = FOLDER / "sizes.yaml"
TOLERANCE = 0.05
_HEAD = "# Written by `python -m tests.support.engine.sizes`. Do not edit.\n"


@dataclass(frozen=True)
class SizedModel:
    """A model of random numbers, and how the engine is to load it."""

    family: Family
    arguments: Mapping[str, Any]
    """Fields of vLLM's `EngineArgs`."""


@functools.cache
def table() -> Mapping[str, Any]:
    """Return `size_settings.yaml`."""
    return yaml.safe_load(SETTINGS.read_text(encoding="utf-8"))


def models() -> dict[str, SizedModel]:
    """Return the models that are measured, by family."""
    return {name: _model(name, row) for name, row in table()["families"].items()}


def _model(name: str, row: Mapping[str, Any]) -> SizedModel:
    family = next((family for family in families.families() if family.name == name), None)
    config = row.get("config", {})
    if "architecture" in row:
        family = Family(name, name, row["architecture"], config, str(SETTINGS))
    else:
        assert family is not None, name
        family = replace(family, config={**family.config, **config})
    return SizedModel(family, table()["arguments"] | row.get("arguments", {}))


def measured_in(version: str) -> tuple[str, ...]:
    """Return the families that are measured in a version."""
    if version == VERSION.name:
        return tuple(models())
    return tuple(table()["versions"])


def measure(version: Version, names: Iterable[str], directory: Path) -> dict[str, dict[str, Any]]:
    """Return the figures of the engine by family, with the bytes of the files and the configuration of each model."""
    arguments = dict[str, dict[str, Any]]()
    for name in names:
        model = models()[name]
        families.write_model(directory / name, model.family, version)
        arguments[name] = {**model.arguments, "model": str(directory / name)}
    figures: dict[str, dict[str, Any]] = scripts.run(version, SCRIPT, [json.dumps(arguments)])
    for name, row in figures.items():
        row["files"] = sum(path.stat().st_size for path in (directory / name).glob("*.safetensors"))
        row["config"] = json.loads((directory / name / "config.json").read_text(encoding="utf-8"))
    return figures


def planned(row: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of planning/fit for a model and for the block of the engine's cache."""
    architecture = configs.architecture(row["config"])
    assert architecture is not None
    groups = cache.groups(architecture)
    assert not isinstance(groups, Unknown), groups
    precision = Precision(memory.HALF)
    setting = CacheSetting(precision, block=row["block"], batch=arguments["max_num_batched_tokens"], states=2)
    return {
        "token": sum(group.layers * group.entry(1, precision) for group in groups),
        "sequence": cache.reserved_bytes(groups, arguments["max_model_len"], setting),
        "weights": memory.loaded_bytes(architecture, row["files"], memory.HALF) or 0,
    }


def deviations(row: Mapping[str, Any], model: SizedModel) -> dict[str, float]:
    """Return the figures of planning/fit that are more than 5 % off the engine's, as shares of the engine's figures."""
    ours = planned(row, model.arguments)
    return {
        name: round(ours[name] / row[name], 3) if row[name] else float("inf")
        for name in ours
        if abs(ours[name] - row[name]) > TOLERANCE * row[name]
    }


def record() -> None:
    """Write the figures of all installed versions."""
    rows = dict[str, dict[str, Any]]()
    for version in map(installation.version, installation.versions()):
        if version.is_installed():
            with tempfile.TemporaryDirectory() as directory:
                rows[version.name] = measure(version, measured_in(version.name), Path(directory))
    RECORD.write_text(_HEAD + yaml.safe_dump(rows, sort_keys=False, width=120), encoding="utf-8")


if __name__ == "__main__":
    record()
