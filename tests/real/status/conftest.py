"""Namespaces for the statuses of tests."""

import pytest

from tests.support.cluster import status


@pytest.fixture
def space(plane, request):
    """Return a namespace of its own for a test."""
    name = request.node.originalname.removeprefix("test_").replace("_", "-")[:50].strip("-")
    with status.space(plane, name) as namespace:
        yield namespace
