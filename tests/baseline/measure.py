"""Measures one tree: what its tests are, what they try, what they reach, and the files that may not change."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from tests.baseline import layout, leaves, recorder
from tests.baseline.ids import folded, function_of

Texts = dict[str, str]
"""Name in the texts of the baseline, by a text of this tree."""
CONFIGURATION = """
[run]
branch = true
source = .
omit = tests/*,benchmarks/*
relative_files = true
"""


def measure(scratch: Path, texts: Texts) -> dict[str, Any]:
    """Return everything about the tree in the working directory; runs the tests that need no binaries."""
    results = scratch / "leaves.json"
    os.environ[leaves.OUT] = str(results)
    collected = pytest(scratch, "collected", "--collect-only", "-p", leaves.__name__)
    pytest(scratch, "suite", "-m", "not real", coverage=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    return {
        "commit": commit.strip(),
        **of_cases(collected["cases"]),
        **json.loads(results.read_text(encoding="utf-8")),
        "coverage": of_coverage(scratch),
        **of_files(texts),
    }


def pytest(scratch: Path, name: str, *options: str, coverage: bool = False) -> dict[str, Any]:
    """Run pytest under the recorder and return its record; coverage goes to the scratch folder."""
    record, rc = scratch / f"{name}.json", scratch / "coveragerc"
    rc.write_text(CONFIGURATION, encoding="utf-8")
    data = scratch / "coverage.db"
    measured = ["-m", "coverage", "run", f"--rcfile={rc}", f"--data-file={data}"] if coverage else []
    command = [sys.executable, *measured, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", recorder.__name__]
    with (scratch / f"{name}.log").open("w", encoding="utf-8") as log:
        environment = os.environ | {recorder.OUT: str(record)}
        subprocess.run([*command, *options], env=environment, stdout=log, stderr=log, check=True)
    return json.loads(record.read_text(encoding="utf-8"))


def of_cases(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what collection says: ids, marks, examples of property tests, negative controls."""
    controls = {function_of(case["id"]) for case in cases if case["control"]}
    examples = {function_of(case["id"]): case["max_examples"] for case in cases}
    return {
        "cases": len(cases),
        "marks": Counter(mark for case in cases for mark in case["marks"]),
        "controls": len([case for case in cases if case["control"]]),
        "control functions": sorted(controls),
        "max examples": {name: count for name, count in examples.items() if count},
        "ids": folded(case["id"] for case in cases),
    }


def of_coverage(scratch: Path) -> dict[str, dict[str, int]]:
    """Return statements and branches of each layer, and how many of them no test reaches."""
    report = scratch / "coverage.json"
    options = [f"--rcfile={scratch / 'coveragerc'}", f"--data-file={scratch / 'coverage.db'}", "-q", "-o", str(report)]
    subprocess.run([sys.executable, "-m", "coverage", "json", *options], check=True)
    found: dict[str, Counter[str]] = {layer: Counter() for layer in layout.LAYERS}
    for path, file in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        layer, summary = Path(path).parts[0].removesuffix(".py"), file["summary"]
        found.setdefault(layer, Counter()).update(
            statements=summary["num_statements"],
            missed=summary["missing_lines"],
            branches=summary["num_branches"],
            untaken=summary["missing_branches"],
        )
    return {layer: dict(counts) for layer, counts in found.items()}


def of_files(texts: Texts) -> dict[str, Any]:
    """Return digests of goldens, the schema, and every mistake with its message."""
    schema = json.loads(layout.SCHEMA.read_text(encoding="utf-8"))
    goldens = sorted(path for pattern in layout.GOLDENS for path in Path().glob(pattern))
    return {
        "goldens": {path.name: digest(path.read_text(encoding="utf-8")) for path in goldens},
        "schema without descriptions": digest(json.dumps(undescribed(schema))),
        "errors": {
            name: [digest(canonical(renamed(text, texts)))[:16], digest(renamed(message, texts))[:16]]
            for name, text, message in sorted(layout.error_cases())
        },
    }


def digest(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def renamed(text: str, texts: Texts) -> str:
    """Return a text with what this tree calls otherwise called as the baseline does."""
    for new, old in texts.items():
        text = text.replace(new, old)
    return text


def undescribed(schema: Any, *, named: bool = False) -> Any:
    """Return a schema without its descriptions; `named` says that the keys are the user's, no keywords."""
    if isinstance(schema, list):
        return [undescribed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    names = {"properties", "patternProperties", "$defs"}
    return {
        key: undescribed(value, named=key in names and not named)
        for key, value in schema.items()
        if named or key != "description"
    }


def canonical(text: str) -> str:
    """Return the tree that a YAML text holds as JSON; the text where it is none, or loses something as one."""
    try:
        node = yaml.compose(text)
        if node is not None and repeats(node):
            return text
        return json.dumps(yaml.safe_load(text), sort_keys=True)
    except (yaml.YAMLError, TypeError, ValueError, RecursionError):
        return text


def repeats(node: yaml.Node) -> bool:
    """Tell whether a mapping has a key twice, or a part stands in itself; JSON cannot say the latter."""
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        return len(keys) != len(set(keys)) or any(repeats(value) for _, value in node.value)
    return isinstance(node, yaml.SequenceNode) and any(map(repeats, node.value))
