"""Mutants that the suite kills, each with its test: the nearest tests first, the whole suite for survivors."""

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.baseline import forks, layout, mutation, recorder
from tests.baseline.compare import Map
from tests.baseline.ids import function_of, named

SEED = 24
SIZE = 150
"""Candidates, more than are compared: later versions lack some of their functions."""
NEAR = 0.05
"""Share of the suite's time that is spent on one mutant before the whole suite is asked."""


@dataclass(frozen=True)
class Case:
    """A mutant, where it is in the tree that is measured, and the tests to ask first."""

    mutant: mutation.Mutant
    module: str
    function: str
    edit: mutation.Edit
    source: str
    first: str = ""
    """Test to ask before all others."""

    @property
    def changed(self) -> str:
        """Return the source of the module with the mutant in it."""
        return self.edit.apply(self.source)


def sources() -> dict[str, str]:
    """Return the sources of every module that is mutated, by module name."""
    return {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): path.read_text(encoding="utf-8")
        for layer in layout.MUTATED
        for path in sorted(Path(layer).rglob("*.py"))
        if path.stem != "__main__"
    }


def path_of(module: str) -> Path:
    """Return the file of a module."""
    package = Path(*module.split("."))
    return package / "__init__.py" if package.is_dir() else package.with_suffix(".py")


def chosen(texts: Mapping[str, str]) -> list[Case]:
    """Return the seeded mutants of this tree."""
    found = [located(texts, mutant, [mutant.module]) for mutant in mutation.pool(texts, SIZE, SEED)]
    return [case for case in found if case]


def again(rows: Iterable[Mapping[str, Any]], texts: Mapping[str, str], names: Map) -> list[Case]:
    """Return the baseline's mutants that this tree has, too, each with the test that killed it."""
    found: list[Case] = []
    for row in rows:
        mutant = mutation.Mutant(**{field.name: row[field.name] for field in fields(mutation.Mutant)})
        name = f"{mutant.module}:{mutant.function}"
        if name in names.mutants:
            case = written_anew(texts, mutant, *names.mutants[name])
        else:
            case = located(texts, mutant, names.module(mutant.module), names.functions.get(name, mutant.function))
        found += [replace(case, first=names.test(row["by"]))] if case else []
    return found


def written_anew(
    texts: Mapping[str, str], mutant: mutation.Mutant, place: str, expression: str, operator: str | None = None
) -> Case | None:
    """Return where a mutant is whose expression is written otherwise in this tree."""
    module, _, function = place.partition(":")
    source = texts.get(module, "")
    later = mutation.rewritten(source, module, function, expression, operator or mutant.operator)
    edit = mutation.find(source, later) if later else None
    return Case(mutant, module, function, edit, source) if edit else None


def located(
    texts: Mapping[str, str], mutant: mutation.Mutant, modules: Sequence[str], function: str | None = None
) -> Case | None:
    """Return where a mutant is: in one of the modules, or in the only other one that has its function."""
    function = function or mutant.function
    here = replace(mutant, function=function)
    for group in (modules, texts):
        edits = [(module, mutation.find(texts[module], here)) for module in group if module in texts]
        found = [(module, edit) for module, edit in edits if edit]
        if len(found) == 1:
            module, edit = found[0]
            return Case(mutant, module, function, edit, texts[module])
    return None


def judge(cases: list[Case], scratch: Path) -> list[dict[str, Any]]:
    """Return a row per mutant. Needs the record and the coverage of a run without binaries in the scratch folder."""
    tree = copied(scratch)
    rows = {str(turn): case for turn, case in enumerate(cases)}
    found = asked(rows, nearest(rows, scratch), tree, scratch)
    rest = {name: case for name, case in rows.items() if name not in found}
    found |= everything(rest, tree, scratch)
    verdicts = {
        name: {"verdict": "killed" if name in found else "survived", "by": found.get(name, "")} for name in rows
    }
    return [asdict(case.mutant) | verdicts[name] for name, case in rows.items()]


def copied(scratch: Path) -> Path:
    """Return a copy of the tree in the working directory; mutants are in no other file."""
    tree = scratch / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    listing = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in filter(os.path.isfile, listed):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(name, tree / name)
    if Path(".venv").exists():
        (tree / ".venv").symlink_to(Path(".venv").resolve())
    return tree


def nearest(cases: Mapping[str, Case], scratch: Path) -> dict[str, dict[str, float]]:
    """Return the tests to ask first, with their seconds: the known killer, then the quickest that run its lines."""
    durations = json.loads((scratch / "suite.json").read_text(encoding="utf-8"))["durations"]
    reached = reaching(cases, scratch)
    found: dict[str, dict[str, float]] = {}
    for name, case in cases.items():
        near = sorted((test for test in durations if function_of(test) in reached[name]), key=durations.__getitem__)
        spent = accumulate(durations[test] for test in near)
        quick = [test for test, seconds in zip(near, spent, strict=True) if seconds < NEAR * sum(durations.values())]
        first = [test for test in durations if named(test) == named(case.first)]
        found[name] = {test: durations[test] for test in (*first, *quick)}
    return found


def asked(
    cases: Mapping[str, Case], tests: Mapping[str, Mapping[str, float]], tree: Path, scratch: Path
) -> dict[str, str]:
    """Return the tests that kill mutants in memory, of those that are to be asked."""
    jobs = [
        asdict(forks.Job(name, case.module, case.function, case.changed, dict(tests[name])))
        for name, case in cases.items()
    ]
    path = scratch / "jobs.json"
    path.write_text(json.dumps(jobs), encoding="utf-8")
    path.with_suffix(".verdicts").unlink(missing_ok=True)
    run(tree, scratch / "asked.log", "-p", forks.__name__, variables={forks.JOBS: str(path)})
    lines = path.with_suffix(".verdicts").read_text(encoding="utf-8").splitlines()
    found = {verdict.name: verdict for verdict in (forks.Verdict(**json.loads(line)) for line in lines)}
    if found.pop(forks.CONTROL).test:
        raise SystemExit(f"a test fails without a mutant; see {scratch / 'asked.log'}")
    return {name: verdict.test for name, verdict in found.items() if verdict.test}


def reaching(cases: Mapping[str, Case], scratch: Path) -> dict[str, set[str]]:
    """Return the test functions that run a line of each mutant."""
    from coverage import CoverageData  # noqa: PLC0415, no dependency of the project

    data = CoverageData(str(scratch / "coverage.db"))
    data.read()
    contexts = {case.module: data.contexts_by_lineno(str(path_of(case.module))) for case in cases.values()}
    return {
        name: {test for line in case.edit.lines for test in contexts[case.module].get(line, ())}
        for name, case in cases.items()
    }


def everything(cases: Mapping[str, Case], tree: Path, scratch: Path) -> dict[str, str]:
    """Run the whole suite without binaries on files with all mutants at once, less those it kills, until it passes.

    Which mutant a failing test kills is seen by asking that test of every mutant alone.
    """
    found: dict[str, str] = {}
    rest = dict(cases)
    log = scratch / "everything.log"
    while rest:
        failing = on_files(rest.values(), tree, log)
        always = on_files([], tree, log, *failing) if failing else []
        failing = [test for test in failing if test not in always]
        if not failing:
            break
        killed = asked(rest, dict.fromkeys(rest, dict.fromkeys(failing, 0)), tree, scratch)
        alone = {} if killed else {name: on_files([case], tree, log, "-x", *failing) for name, case in rest.items()}
        killed |= {name: tests[0] for name, tests in alone.items() if tests}
        if not killed:
            raise SystemExit(f"these fail for several mutants together, and for none alone: {failing}; see {log}")
        found |= killed
        rest = {name: case for name, case in rest.items() if name not in found}
    return found


def on_files(cases: Iterable[Case], tree: Path, log: Path, *tests: str) -> list[str]:
    """Return the tests that fail while files of the copy hold the mutants."""
    changed, modules = defaultdict[str, list[Case]](list), dict[str, str]()
    for case in cases:
        changed[case.module].append(case)
        modules[case.module] = case.source
    for module, inside in changed.items():
        text = modules[module]
        for case in sorted(inside, key=lambda case: case.edit.start, reverse=True):
            text = case.edit.apply(text)
        (tree / path_of(module)).write_text(text, encoding="utf-8")
    try:
        return run(tree, log, *tests)
    finally:
        for module, source in modules.items():
            (tree / path_of(module)).write_text(source, encoding="utf-8")


def run(tree: Path, log: Path, *options: str, variables: Mapping[str, str] | None = None) -> list[str]:
    """Run tests that need no binaries in the copy; return the ids of those that fail."""
    record = log.with_suffix(".json")
    plugins = ["-p", "no:cacheprovider", "-p", recorder.__name__]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, "-m", "not real", *options]
    with log.open("w", encoding="utf-8") as out:
        environment = os.environ | {recorder.OUT: str(record)} | (variables or {})
        subprocess.run(command, cwd=tree, env=environment, stdout=out, stderr=out, check=False)
    return json.loads(record.read_text(encoding="utf-8"))["failed"]
