"""The shipped profiles, each as the service that its keys make."""

import copy
import re
from functools import cache
from pathlib import Path
from typing import Any

from planning.selection import shipped
from tests.support.stacks import tree

COMMENT = re.compile(r"    # (?P<keys>[\w., ]+): (?P<place>https?://\S+)")
"""A comment with the source of some keys of a profile."""


@cache
def profiles() -> dict[str, dict[str, Any]]:
    """Return the shipped profiles by id, as they are written."""
    return {key: each for document in shipped.files() for key, each in document.tree["profiles"].items()}


@cache
def comments() -> dict[str, list[str]]:
    """Return the comments in each profile."""
    found = dict[str, list[str]]()
    for document in shipped.files():
        key = ""
        for line in Path(document.file).read_text(encoding="utf-8").splitlines():
            head = re.fullmatch(r"  ([\w-]+):", line)
            key = head[1] if head else key
            if key and "#" in line.partition("#L")[0]:
                found.setdefault(key, []).append(line)
    return found


def service(key: str) -> dict[str, Any]:
    """Return the keys that a profile gives to a service, with the name of its model."""
    profile = copy.deepcopy(profiles()[key])
    found = profile["service"] | {"model": {"name": profile["model"], **profile["service"]["model"]}}
    if profile["deviceCount"] > 1:
        found["parallelism"] = {"tensor": profile["deviceCount"], **found.get("parallelism", {})}
    return found


def stack() -> dict[str, Any]:
    """Return a stack with a service for each profile, called `p` and its position."""
    return tree(**{f"p{index}": service(key) for index, key in enumerate(profiles())})
