"""Time to select profiles, by the number of profiles of one model, and by the number of services.

Run from the root of the repository: `.venv/bin/python -m benchmarks.selecting`. Services ask for different properties,
so that the program selects for each of them, and reuses no earlier result. Garbage collection is off, as in the
program. The column `growth` divides the seconds per pair of profile and service by those of the previous row: 1.0 is
linear.
"""

import gc
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from benchmarks import stacks
from benchmarks.tables import show
from benchmarks.timing import processor_seconds
from composition import Given, selecting
from composition.sources import Sources
from planning.ground.cluster_facts import NOTHING_READ

_MODEL = "org/model"
_PROFILES, _SERVICES = 50, 200
_BEST = 4
"""Number of the profile that has `default: true`, and therefore wins against equal profiles."""
_RUNS = 3
_CLASSES = ("nvidia-h100-80gb", "nvidia-l40s", "amd-mi300x", "nvidia-a100-80gb", "amd-mi325x")


def tree(profiles: int, services: int) -> dict[str, Any]:
    """Return a stack whose services select from profiles of one model, and ask for different properties."""
    return {
        "namespace": "models",
        "catalogue": {"shipped": False, "profiles": {f"p{number}": _profile(number) for number in range(profiles)}},
        "services": {f"s{number}": _service(number) for number in range(services)},
    }


def _profile(number: int) -> dict[str, Any]:
    service = {"accelerator": _CLASSES[number % len(_CLASSES)], "model": {"source": "hf://org/model"}}
    facts = {"model": _MODEL, "type": "optimized", "metric": "latency", "precision": "fp8", "default": number == _BEST}
    return {**facts, "deviceCount": number + 1, "source": "a page", "service": service}


def _service(number: int) -> dict[str, Any]:
    selection = {"minDeviceMemory": f"{number + 1}Mi", "metric": "latency"}
    return {"model": {"name": _MODEL}, "selection": selection}


def seconds(profiles: int, services: int) -> float:
    """Return the processor time of a selection."""
    stack = tree(profiles, services)
    return processor_seconds(lambda: _select(stack), _RUNS)


def _select(stack: dict[str, Any]) -> None:
    found = selecting.select(stack, Sources(), None, stacks.NAME.stack, Given(NOTHING_READ))
    if found.decided is None or found.decided.failures:
        raise ValueError("a service has no profile")


def main() -> None:
    """Print the times, and how they grow with the number of profiles and with the number of services."""
    gc.disable()
    _select(tree(1, 1))
    _table("profiles of one model, 200 services", [(number, _SERVICES) for number in (25, _PROFILES, 100)])
    _table("services, 50 profiles of one model", [(_PROFILES, number) for number in (100, _SERVICES, 400)])


def _table(title: str, sizes: Sequence[tuple[int, int]]) -> None:
    found = {size: seconds(*size) for size in sizes}
    shares = {size: of_size / (size[0] * size[1]) for size, of_size in found.items()}
    growths = {more: f"{shares[more] / shares[fewer]:.2f}" for fewer, more in pairwise(sizes)}
    rows = [(*size, f"{of_size:.3f}", growths.get(size, "")) for size, of_size in found.items()]
    show(f"Selection: {title}", ("profiles", "services", "seconds of processor time", "growth"), rows)


if __name__ == "__main__":
    main()
