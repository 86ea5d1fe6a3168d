"""Ids of test cases: `module::function[parameters]`."""

from collections import defaultdict
from collections.abc import Iterable


def function_of(case: str) -> str:
    """Return the id of a case's test function."""
    return case.partition("[")[0]


def named(case: str) -> str:
    """Return an id without its module."""
    return case.partition("::")[2]


def folded(ids: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    """Return ids by module and function, so that neither stands in a file more than once."""
    found = defaultdict[str, dict[str, list[str]]](dict)
    for case in ids:
        function, _, parameters = case.partition("[")
        module, _, name = function.partition("::")
        found[module].setdefault(name, []).extend([parameters.removesuffix("]")] if parameters else [])
    return dict(found)


def unfolded(modules: dict[str, dict[str, list[str]]]) -> list[str]:
    """Return the ids again."""
    return [
        f"{module}::{name}{suffix}"
        for module, functions in modules.items()
        for name, cases in functions.items()
        for suffix in ([f"[{case}]" for case in cases] or [""])
    ]
