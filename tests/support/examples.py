"""Numbers of examples of tests of properties, which follow the profile of the run."""

from hypothesis import settings

USUAL = 100
"""Number of examples of a test that asks for none, in a run of all tests."""


def share(number: int) -> int:
    """Return how many examples a test tries that tries `number` in a run of all tests."""
    return number * settings().max_examples // USUAL
