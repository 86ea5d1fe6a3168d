"""Objects of the stacks of `EVERY`, which many tests of behaviours read."""

from functools import cache

import pytest

from manifests.objects import Manifest
from tests.support.stacks import rendered
from tests.support.stacks.shapes import EVERY


@pytest.fixture
def everything(request: pytest.FixtureRequest) -> list[Manifest]:
    """Return the objects of a stack of `EVERY`. All tests have the same ones, and none may change them."""
    return _rendered(request.param)


@cache
def _rendered(name: str) -> list[Manifest]:
    return rendered(EVERY[name])
