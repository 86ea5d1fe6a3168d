"""Time and memory to turn a configuration into checked manifests, without Pulumi and without a cluster.

Run from the root of the repository: `.venv/bin/python -m benchmarks.deciding [SERVICES ...]` (10, 100 and 1000 if
absent). Each size runs in a separate process. The process first plans and renders a small stack, so that reading
tables and schemas is not measured. Garbage collection is off, as in `python -m cli`. The column `growth` divides the
milliseconds for a service by those in the row above. A growth of 1.0 means that time grows linearly with n.
"""

import gc
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

import planning
from benchmarks import stacks
from benchmarks.measuring import processor_seconds, show
from judging import validation
from manifests.assembly import objects, render
from models.load import load

_SIZES = (10, 100, 1000)
_WARM = 10
"""Number of services of the stack that each process plans and renders before it measures another stack."""
_RUNS = 5
_STEPS = ("load", "plan", "render", "check")
_RENDERED = (10, 100)
"""Numbers of services of the stacks that `python -m cli render` renders."""
_MEASURE = "--measure"


def main(sizes: tuple[int, ...]) -> None:
    """Print the figures for each number of services in `sizes`, which must be in ascending order."""
    figures = {size: _measured_apart(size) for size in sizes}
    milliseconds = {size: of_size["whole"] * 1000 / size for size, of_size in figures.items()}
    growths = {more: f"{milliseconds[more] / milliseconds[fewer]:.2f}" for fewer, more in pairwise(sizes)}
    show(
        "From configuration to checked manifests, stacks of n services, milliseconds of processor time for a service",
        ("n", "objects", "milliseconds", *_STEPS, "growth", "peak memory, MiB"),
        [
            (
                size,
                of_size["objects"],
                f"{milliseconds[size]:.2f}",
                *(f"{of_size[step] / sum(of_size[step] for step in _STEPS):.0%}" for step in _STEPS),
                growths.get(size, ""),
                f"{of_size['memory']:.0f}",
            )
            for size, of_size in figures.items()
        ],
    )
    seconds = {size: _render_seconds(size) for size in _RENDERED}
    further = {more: 1000 * (seconds[more] - seconds[fewer]) / (more - fewer) for fewer, more in pairwise(_RENDERED)}
    show(
        "`python -m cli render` of stacks of n services as YAML, processor time, start of Python included",
        ("n", "seconds", "milliseconds for each additional service"),
        [(size, f"{seconds[size]:.2f}", f"{further.get(size, 0):.1f}") for size in _RENDERED],
    )


def _render_seconds(services: int) -> float:
    """Return the lowest processor time, in seconds, of several runs of `python -m cli render`."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "Pulumi.stack.yaml"
        file.write_text(yaml.safe_dump({"config": {"inference-stacks:stack": stacks.tree(services)}}))
        command = [sys.executable, "-m", "cli", "render", str(file)]
        return min(_child_seconds(command) for _ in range(_RUNS))


def _child_seconds(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _measured_apart(services: int) -> dict[str, float]:
    """Measure a stack of `services` services in a separate process, and return the figures."""
    command = [sys.executable, "-m", "benchmarks.deciding", _MEASURE, str(services)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def _measure(services: int) -> dict[str, float]:
    """Return the processor seconds of each step, the number of objects, and the peak memory of this process in MiB."""
    _whole(stacks.tree(_WARM))
    gc.disable()
    tree = stacks.tree(services)
    count = _whole(tree)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    loaded = load(tree)
    plan = planning.plan(loaded, stacks.NAME)
    components = render(plan)
    works: dict[str, Callable[[], object]] = {
        "load": lambda: load(tree),
        "plan": lambda: planning.plan(loaded, stacks.NAME),
        "render": lambda: render(plan),
        "check": lambda: validation.check(objects(components)),
        "whole": lambda: _whole(tree),
    }
    seconds = {step: processor_seconds(work, _RUNS) for step, work in works.items()}
    return {**seconds, "objects": count, "memory": memory}


def _whole(tree: dict[str, Any]) -> int:
    components = render(planning.plan(load(tree), stacks.NAME))
    validation.check(objects(components))
    return sum(len(component.objects) for component in components)


if __name__ == "__main__":
    if sys.argv[1:2] == [_MEASURE]:
        print(json.dumps(_measure(int(sys.argv[2]))))
    else:
        main(tuple(map(int, sys.argv[1:])) or _SIZES)
