"""Benchmark of the fit: the time to compute the fit of roles, and to write the messages about roles that do not fit.

Run from the root of the repository: `.venv/bin/python -m benchmarks.fitting`. Services differ in model and in
`maxModelLen`, so that no cached result is used. Garbage collection is off, as in `python -m cli`. The column `growth`
divides the milliseconds for a service by those in the row above. A growth of 1.0 means that time grows linearly with n.
"""

import gc
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from benchmarks.tables import show
from benchmarks.timing import processor_seconds
from models.load import load
from planning.fit.memory import Fit
from planning.resolve import resolve
from planning.serving import EngineContext, device_memory, memory_rules
from planning.variant.context import RoleContext

_SIZES = (100, 200, 400)
_RUNS = 5
_MODELS = (
    "Qwen/Qwen3-8B",
    "meta-llama/Llama-3.1-8B-Instruct",
    "google/gemma-3-27b-it",
    "openai/gpt-oss-20b",
    "Qwen/Qwen3-30B-A3B-FP8",
)
"""Models of different architectures, some with grouped heads, sliding windows or experts."""
_LARGE, _SMALL = "nvidia-h200", "nvidia-t4"


def tree(services: int, accelerator: str) -> dict[str, Any]:
    """Return a stack of `services` services on one accelerator class. The services need different amounts of memory."""
    return {
        "namespace": "models",
        "gateway": {"name": "inference-gateway", "namespace": "gateways", "provider": "istio"},
        "defaults": {"accelerator": accelerator},
        "services": {f"s{number}": _service(number) for number in range(services)},
    }


def _service(number: int) -> dict[str, Any]:
    model = {"source": f"hf://{_MODELS[number % len(_MODELS)]}", "maxModelLen": 1024 + 16 * number}
    return {"model": model}


def seconds(services: int, accelerator: str, work: Callable[[RoleContext], object]) -> float:
    """Return the processor time, in seconds, that `work` takes for all roles of a stack with `services` services."""
    roles = tuple(resolve(load(tree(services, accelerator)).stack).contexts.roles.values())
    if len(roles) != services:
        raise ValueError("a service has no role")
    return processor_seconds(lambda: [work(role) for role in roles], _RUNS)


def _fit(context: RoleContext) -> None:
    found = device_memory.fit(context)
    if not isinstance(found, Fit) or not found.is_sufficient:
        raise ValueError("a role does not fit")


def _message(context: RoleContext) -> None:
    if not list(memory_rules.judge(EngineContext(context))):
        raise ValueError("a role fits")


def main() -> None:
    """Print the times, and how they grow with the number of services."""
    gc.disable()
    for accelerator, work in ((_LARGE, _fit), (_SMALL, _message)):
        seconds(len(_MODELS), accelerator, work)
    _table("of n services that fit", _SIZES, lambda number: seconds(number, _LARGE, _fit))
    _table("of n services that do not fit, with messages", _SIZES, lambda number: seconds(number, _SMALL, _message))


def _table(title: str, sizes: Sequence[int], measure: Callable[[int], float]) -> None:
    found = {size: measure(size) * 1000 for size in sizes}
    growths = {more: f"{found[more] / more / (found[fewer] / fewer):.2f}" for fewer, more in pairwise(sizes)}
    rows = [(size, f"{of_size:.1f}", f"{of_size / size:.3f}", growths.get(size, "")) for size, of_size in found.items()]
    show(f"Fit {title}, processor time", ("n", "milliseconds", "for a service", "growth"), rows)


if __name__ == "__main__":
    main()
