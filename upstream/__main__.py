"""Write new tables of engine versions from the published wheels, and report newer versions. `make facts` runs this."""

import hashlib
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from upstream import history, newest, series, series_labels, sglang, vllm, wheels
from upstream.series import Series
from upstream.series_labels import Shapes
from upstream.vllm import Knowledge
from upstream.wheels import Wheel

TABLES = Path("planning/releases/engines")
VERSIONS = tuple(Path(__file__).with_name("versions.txt").read_text(encoding="utf-8").split())
"""Versions of vLLM whose wheels are read: all releases since 0.8.5."""
SGLANG_VERSIONS = tuple(Path(__file__).with_name("sglang-versions.txt").read_text(encoding="utf-8").split())
"""Versions of SGLang whose wheels are read: all releases since the oldest one in llm-d's guides."""
_HEAD = "# Written by `make facts` from the wheels that {sources} names. Do not edit.\n"
_RANGES = "# `0.18.0..`: known to 0.18.0 and later; `0.9.0..0.11.2`: known to the versions from 0.9.0 to 0.11.2.\n"


def main() -> None:
    """Read all versions, write the tables, and print what registries offer beside what this project pins."""
    by_version = dict[str, Knowledge]()
    series_by_version = dict[str, Series]()
    shapes_by_version = dict[str, Shapes]()
    sources = list[str]()
    for version in VERSIONS:
        wheel = wheels.find(vllm.PACKAGE, version)
        files = wheels.files(wheel, (*vllm.FILES, *series_labels.FILES))
        by_version[version] = vllm.read(files)
        series_by_version[version] = series.read({path: files[path] for path in series.FILES if path in files})
        shapes_by_version[version] = series_labels.read(
            {path: files[path] for path in series_labels.FILES if path in files}
        )
        sources += _source(version, wheel, files)
        print(f"vllm {version}: {len(by_version[version].flags)} flags", file=sys.stderr)
    today = datetime.now(tz=UTC).date()
    _write("vllm-sources.yaml", [f"date: {today}", "wheels:", *sources])
    _write("vllm.yaml", _table(_of_knowledge(by_version), VERSIONS), _RANGES)
    _write("series.yaml", _table(_of_series(series_by_version), VERSIONS), _RANGES)
    _write("series-labels.yaml", _rows(_of_shapes(shapes_by_version), VERSIONS), _RANGES)
    write_sglang()
    print("\n".join(newest.report()))


def write_sglang() -> None:
    """Read all versions of SGLang, and write its tables."""
    by_version = dict[str, frozenset[str]]()
    sources = list[str]()
    for version in SGLANG_VERSIONS:
        wheel = wheels.find(sglang.PACKAGE, version)
        files = wheels.files(wheel, sglang.FILES)
        by_version[version] = sglang.read(files)
        sources += _source(version, wheel, files)
        print(f"sglang {version}: {len(by_version[version])} flags", file=sys.stderr)
    today = datetime.now(tz=UTC).date()
    _write("sglang-sources.yaml", [f"date: {today}", "wheels:", *sources], engine="sglang")
    _write("sglang.yaml", _table({"flags": by_version}, SGLANG_VERSIONS), _RANGES, engine="sglang")


def _of_knowledge(known: dict[str, Knowledge]) -> dict[str, dict[str, frozenset[str]]]:
    return {
        "flags": {version: knowledge.flags for version, knowledge in known.items()},
        "variables": {version: knowledge.variables for version, knowledge in known.items()},
        "values": {version: knowledge.values for version, knowledge in known.items()},
    }


def _of_series(known: dict[str, Series]) -> dict[str, dict[str, frozenset[str]]]:
    return {
        "counters": {version: names.counters for version, names in known.items()},
        "gauges": {version: names.gauges for version, names in known.items()},
        "histograms": {version: names.histograms for version, names in known.items()},
    }


def _of_shapes(known: dict[str, Shapes]) -> dict[str, dict[str, frozenset[str]]]:
    """Return labels, bounds and families of metrics, each as a line `metric: value` of YAML."""
    rows = {version: series_labels.rows(shapes) for version, shapes in known.items()}
    return {group: {version: groups[group] for version, groups in rows.items()} for group in series_labels.GROUPS}


def _rows(groups: dict[str, dict[str, frozenset[str]]], versions: Iterable[str]) -> list[str]:
    """Return the lines of a table of rows `name: value`, as `_table` returns those of a table of names."""
    lines = _table(groups, versions)
    return [line.replace("    - ", "    ", 1) for line in lines]


def _table(groups: dict[str, dict[str, frozenset[str]]], versions: Iterable[str]) -> list[str]:
    """Return the lines of a table: the versions, and in each group the names by ranges of versions that know them."""
    lines = [f"versions: [{', '.join(versions)}]"]
    for group, names in groups.items():
        lines.append(f"{group}:")
        for known_to, known_names in history.ranges(names).items():
            lines += [f"  {known_to}:", *(f"    - {name}" for name in known_names)]
    return lines


def _source(version: str, wheel: Wheel, files: dict[str, bytes]) -> list[str]:
    """Return the lines of the table about a version's wheel: its name and digest, and the digests of the read files."""
    digests = [f"      {path}: {hashlib.sha256(content).hexdigest()}" for path, content in files.items()]
    return [f"  {version}:", f"    wheel: {wheel.name}", f"    sha256: {wheel.sha256}", "    files:", *digests]


def _write(name: str, lines: list[str], remark: str = "", engine: str = "vllm") -> None:
    head = _HEAD.format(sources=f"{engine}-sources.yaml")
    (TABLES / name).write_text(head + remark + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
