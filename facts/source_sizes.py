"""Asks sources how many bytes of weights they hold: s3:// and kit://, all at once and within a deadline.

hf:// is not asked: its size is written down where it is needed. pvc:// and image:// hold weights that nobody fetches.
Pods open a source with Secrets that are not read here: what is denied to whoever runs the program is `Unknown`, not
wrong.
"""

import queue
import threading
import time
from collections.abc import Iterable

from facts import s3
from models.load import Loaded
from models.problems import Problem
from models.source import scheme
from planning.weights.sizes import Answer, Wanted, questions, with_answers

DEADLINE_SECONDS = 15.0
"""For all sources together."""


def asked(loaded: Loaded, deadline: float = DEADLINE_SECONDS) -> tuple[Loaded, list[Problem]]:
    """Ask for the sizes that are needed and not written; return the configuration with them, and warnings.

    Never raises for a failed read; a source that no pod could be filled from is a problem of its path.
    """
    return with_answers(loaded, sizes(questions(loaded.stack).values(), deadline))


def sizes(wanted: Iterable[Wanted], deadline: float = DEADLINE_SECONDS) -> dict[Wanted, Answer]:
    """Ask each source once, within `deadline` seconds in all. Never raises for a failed read.

    The threads are daemons: a credential plugin or a server that hangs must not keep the program from ending.
    """
    asked = dict.fromkeys(wanted)
    answers = queue.SimpleQueue[tuple[Wanted, Answer]]()
    clients = s3.Clients(deadline)

    def asking(one: Wanted) -> None:
        answers.put((one, _ask(one, clients, deadline)))

    for one in asked:
        threading.Thread(target=asking, args=(one,), daemon=True).start()
    found, end = dict[Wanted, Answer](), time.monotonic() + deadline
    while len(found) < len(asked):
        try:
            one, answer = answers.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            break
        found[one] = answer
    late = f"there was no answer within {deadline:g} seconds"
    return {one: found.get(one) or one.unknown(late) for one in asked}


def _ask(wanted: Wanted, clients: s3.Clients, seconds: float) -> Answer:
    try:
        if scheme(wanted.source) == "s3":
            return s3.ask(wanted, clients)
        if scheme(wanted.source) == "kit":
            from facts import registry  # noqa: PLC0415, urllib costs more than most stacks have a use for

            return registry.ask(wanted, seconds)
    except Exception as error:  # noqa: BLE001, every way to fail is the same fact: unknown, and why
        return wanted.unknown(f"it could not be reached or read ({_reason(error)})")
    return wanted.unknown("only s3:// and kit:// are asked")


def _reason(error: Exception) -> str:
    """Name the error, or what caused it, without its text, which may carry a credential."""
    cause = getattr(error, "reason", None)
    return type(cause if isinstance(cause, Exception) else error).__name__
