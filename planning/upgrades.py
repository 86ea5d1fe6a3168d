"""Rules for the order in which a run restarts services."""

import difflib
from collections.abc import Iterator

from models.paths import Path
from models.problems import Problem
from models.stack import Stack

_ORDER = Path("upgrades", "order")


def judge(stack: Stack) -> Iterator[Problem]:
    """Reject names in the order that are no service, and names that come twice."""
    if stack.upgrades is None:
        return
    named = set[str]()
    for index, key in enumerate(stack.upgrades.order):
        if key not in stack.services:
            remedy = "name a key of services, or remove it"
            for close in difflib.get_close_matches(key, stack.services, n=1):
                remedy = f"did you mean {close}?"
            yield Problem(_ORDER / index, f"unknown service ({key})", remedy)
        elif key in named:
            yield Problem(_ORDER / index, f"names a service twice ({key})", "keep one of them")
        named.add(key)
