"""Waits for conditions."""

import time
from collections.abc import Callable

DEADLINE = 240.0
"""Seconds that suffice on a busy machine."""
PAUSE = 0.05


def eventually(
    condition: Callable[[], object],
    deadline: float = DEADLINE,
    pause: float = PAUSE,
    state: Callable[[], object] = lambda: "the condition did not come true",
) -> None:
    """Return as soon as a condition holds, which is checked after each pause of so many seconds.

    An assertion fails with `state()` if it does not hold before the deadline, in seconds from now.
    """
    until = time.monotonic() + deadline
    while not condition():
        assert time.monotonic() < until, state()
        time.sleep(pause)
