"""promtool: it checks groups of rules, evaluates them on series that a test writes, and makes blocks of past samples.

Groups are trees as in `spec.groups` of a PrometheusRule.
"""

import json
import os
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Tree = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Suite:
    """Groups of rules, and tests of them."""

    name: str
    groups: Sequence[Tree]
    tests: Sequence[Tree]
    """Test groups in promtool's words: `input_series`, `alert_rule_test`, `promql_expr_test`."""
    step: str = "1m"
    """Time between two evaluations of the rules, which is also the time between two samples of a series."""


def problem(binary: Path, groups: Sequence[Sequence[Tree]], directory: Path) -> str | None:
    """Return what promtool has against lists of groups, duplicates included; None if it accepts them.

    Rules of one list are duplicates if they have the same name and labels. `directory` must not exist.
    """
    directory.mkdir(parents=True)
    files = [directory / f"{number}.rules.yaml" for number in range(len(groups))]
    for file, tree in zip(files, groups, strict=True):
        _write(file, {"groups": tree})
    end = _run(binary, ("check", "rules", "--lint=all", "--lint-fatal", *map(str, files)))
    return None if end.returncode == 0 else f"{end.stdout}{end.stderr}"


def failures(binary: Path, suites: Sequence[Suite], directory: Path) -> dict[str, list[str]]:
    """Run the tests of suites in one process, and return the failures by the suite's name.

    The list of a suite whose tests all pass is empty. Rules that Prometheus refuses are a failure, too. All suites have
    different names. `directory` must not exist.
    """
    directory.mkdir(parents=True)
    names = [suite.name for suite in suites]
    assert len(names) == len(set(names)), "two suites have one name"
    files = [_write_suite(suite, directory / str(number)) for number, suite in enumerate(suites)]
    results = directory / "results.xml"
    end = _run(binary, ("test", "--junit", str(results), "rules", *map(str, files)))
    assert end.returncode in (0, 1), end.stderr
    reports = ET.parse(results).getroot().findall("testsuite")
    assert [report.get("name") for report in reports] == [str(file) for file in files], end.stderr
    for suite, report in zip(suites, reports, strict=True):
        assert report.find("testcase/error") is None, ET.tostring(report, encoding="unicode")
        assert len(report.findall("testcase")) == len(suite.tests), f"{suite.name}: promtool left tests out"
    texts = ([failure.text or "" for failure in report.iter("failure")] for report in reports)
    by_name = dict(zip(names, texts, strict=True))
    assert any(by_name.values()) == (end.returncode == 1), end.stderr
    return by_name


def fill(binary: Path, exposition: str, storage: Path) -> None:
    """Put past samples into the storage of a server that does not run yet.

    `exposition` is OpenMetrics with a time in seconds after each value, and ends with `# EOF`.
    """
    samples = storage.with_name(f"{storage.name}.openmetrics")
    samples.write_text(exposition, encoding="utf-8")
    end = _run(binary, ("tsdb", "create-blocks-from", "openmetrics", "--quiet", str(samples), str(storage)))
    assert end.returncode == 0, end.stderr


def _run(binary: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(binary), *arguments], env={"PATH": os.defpath, "GOGC": "400"}, capture_output=True, text=True, check=False
    )


def _write_suite(suite: Suite, stem: Path) -> Path:
    """Write the rules and the tests of a suite, and return the file of the tests."""
    rules = stem.with_suffix(".rules.yaml")
    tests = stem.with_suffix(".tests.yaml")
    _write(rules, {"groups": suite.groups})
    groups = [group["name"] for group in suite.groups]
    written = {"rule_files": [str(rules)], "evaluation_interval": suite.step, "group_eval_order": groups}
    _write(tests, {**written, "tests": suite.tests})
    return tests


def _write(path: Path, tree: Tree) -> None:
    """Write a tree as JSON, which is YAML."""
    path.write_text(json.dumps(tree), encoding="utf-8")
