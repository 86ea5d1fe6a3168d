"""No stack that we ship, none of our documents and no profile fails the program's own check of fit."""

import re
from pathlib import Path

import pytest
import yaml

from judging.report import memory_rows
from models.problems import ConfigError
from planning.fit.memory import Fit
from tests.support import catalogue
from tests.support.stacks import SHIPPED, plan, shipped

BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


def too_small(found):
    """Return the roles of a plan that do not fit."""
    return [row.path for row in memory_rows.rows(found) if isinstance(row.fit, Fit) and not row.fit.is_sufficient]


def computed(found):
    return [row.path for row in memory_rows.rows(found) if isinstance(row.fit, Fit)]


def planned(stack):
    """Return the plan of a stack; None for a part of one."""
    try:
        return plan(stack)
    except ConfigError:
        return None


def documented():
    """Return the plans of the blocks of YAML in our documents that are whole stacks."""
    stacks = {}
    for path in [Path("README.md"), *sorted(Path("docs").rglob("*.md"))]:
        for number, block in enumerate(BLOCK.findall(path.read_text(encoding="utf-8"))):
            if "inference-stacks:stack:" not in block:
                continue
            for tree in yaml.load_all(block, yaml.CSafeLoader):
                stack = tree.get("config", {}).get("inference-stacks:stack")
                if isinstance(stack, dict) and {"namespace", "services"} <= stack.keys():
                    stacks[f"{path} {number}"] = stack
    plans = {name: planned(stack) for name, stack in stacks.items()}
    return {name: found for name, found in plans.items() if found is not None}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_stack_fits(path):
    """See defects A9."""
    assert too_small(plan(shipped(path))) == []


def test_every_stack_of_a_document_fits():
    found = documented()
    assert found
    assert [name for name, stack in found.items() if too_small(stack)] == []


def test_every_profile_fits_and_is_known():
    found = plan(catalogue.stack())
    assert too_small(found) == []
    assert len(computed(found)) == len(catalogue.profiles())
