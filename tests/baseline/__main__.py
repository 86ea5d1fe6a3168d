"""`python -m tests.baseline measure|mutants|compare`: how strong the suite is, and whether it is less than it was."""

import argparse
import importlib.util
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.baseline import compare, files, measure, verdicts

HERE = Path(__file__).parent
BASELINE, MUTANTS, NAMES = HERE / "baseline.json", HERE / "mutants.json", HERE / "names.yaml"
SCRATCH = Path(tempfile.gettempdir()) / "inference-stacks-baseline"
NEEDED = "coverage is needed: pip install --target FOLDER coverage==7.17.3, and PYTHONPATH=FOLDER before this command"


def main() -> int:
    """Do what the command line says; 1 where something is less."""
    parser = argparse.ArgumentParser(prog="python -m tests.baseline", description=__doc__)
    parser.add_argument("command", choices=["measure", "mutants", "compare"])
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="where runs leave what they find")
    parser.add_argument("--first", type=int, default=compare.COMPARED, help="how many mutants are tried")
    parser.add_argument("--anew", action="store_true", help="write the baseline itself, with mutants of this tree")
    given = parser.parse_args()
    given.scratch.mkdir(parents=True, exist_ok=True)
    names = compare.Map.of(yaml.safe_load(NAMES.read_text(encoding="utf-8")))
    now, mutants = (BASELINE, MUTANTS) if given.anew else (given.scratch / "now.json", given.scratch / "mutants.json")
    if given.command == "compare":
        before, later = read(BASELINE), read(now)
        losses = [*compare.less(before, later, names), *files.lost(before, later, names)]
        less = [*names.unexplained([*losses, *compare.survivors(read(MUTANTS), read(mutants))])]
        print("\n".join(less) or "nothing is less")
        return int(bool(less))
    if importlib.util.find_spec("coverage") is None:
        raise SystemExit(NEEDED)
    if given.command == "measure":
        now.write_text(lines(measure.measure(given.scratch.absolute(), names.texts)), encoding="utf-8")
    else:
        sources = verdicts.sources()
        cases = verdicts.chosen(sources) if given.anew else verdicts.again(read(MUTANTS), sources, names)
        mutants.write_text(lines(verdicts.judge(cases[: given.first], given.scratch.absolute())), encoding="utf-8")
    return 0


def read(path: Path) -> Any:
    """Return what a file of numbers holds."""
    return json.loads(path.read_text(encoding="utf-8"))


def lines(data: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return data as JSON with a line per entry, and per entry of those, so that a diff can be read."""
    if isinstance(data, Mapping):
        return "{\n" + ",\n".join(f"{json.dumps(key)}: {_inside(value)}" for key, value in data.items()) + "\n}\n"
    return "[\n" + ",\n".join(map(_line, data)) + "\n]\n"


def _inside(value: Any) -> str:
    if isinstance(value, Mapping) and value:
        return "{\n" + ",\n".join(f" {json.dumps(key)}: {_line(part)}" for key, part in value.items()) + "\n}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f" {_line(part)}" for part in value) + "\n]"
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
