"""Order of what `convert` prints: the same in every process, although sets have another order in each."""

import os
import subprocess
import sys
from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "migration" / "samples"
OPERATOR = SAMPLES / "modelservice-operator.yaml"
BESIDE = {
    "chart-values.yaml": "--from llm-d-modelservice",
    "modelservice-full.yaml": f"--with {OPERATOR}",
    "zerfoo.yaml": "--from zerfoo",
}
"""Further arguments by sample."""
PROGRAM = """
import sys
from cli import commands
print(list({str(number) for number in range(50)}))
print("---")
for line in sys.argv[1:]:
    code = commands.main(["convert", "--notes", *line.split()])
    print(f"{line}: {code}", file=sys.stderr)
"""
"""Program that converts the files of each argument after it has shown the order of a set."""


def _start(seed: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *_lines()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        text=True,
    )


def _lines() -> list[str]:
    """Return the arguments for each sample with services."""
    paths = [path for path in sorted(SAMPLES.glob("*.yaml")) if path != OPERATOR]
    return [f"{path} {BESIDE.get(path.name, '')}" for path in paths]


def test_two_processes_print_the_same_bytes_for_each_sample() -> None:
    """On both streams. The control is the order of a set, which differs."""
    processes = [_start(seed) for seed in (0, 1)]
    outputs = [process.communicate(timeout=60) for process in processes]
    (first, first_errors), (second, second_errors) = outputs
    orders = [text.partition("---\n")[0] for text in (first, second)]
    assert orders[0] != orders[1]
    assert first.partition("---\n")[2] == second.partition("---\n")[2]
    assert first_errors == second_errors
    assert first.count("config:\n") == len(_lines())
