"""The end of this process with the process that started it, which may be killed without a word."""

import os
import threading
import time

_SECONDS = 0.5


def follow() -> None:
    """End this process soon after its parent has ended. The system then gives it another parent."""
    parent = os.getppid()
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS)
    os._exit(1)
