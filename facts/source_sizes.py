"""Reader of the sizes of s3:// and kit:// sources, all at once and within a deadline.

Hugging Face is not asked: users write the size of an hf:// source where it is needed. Weights behind pvc:// and
image:// are not fetched. Pods open sources with Secrets that this program does not read, so a source that is denied to
the user who runs the program has an unknown size, and is no mistake.
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
"""Deadline for all sources together."""


def add_sizes(loaded: Loaded, deadline: float = DEADLINE_SECONDS) -> tuple[Loaded, list[Problem]]:
    """Ask sources for the sizes that are needed and not explicit; return the configuration with them, and warnings.

    Never raises for a failed read. A source that no pod can fetch from becomes a problem of the configuration.
    """
    return with_answers(loaded, sizes(questions(loaded.stack).values(), deadline))


def sizes(questions: Iterable[Wanted], deadline: float = DEADLINE_SECONDS) -> dict[Wanted, Answer]:
    """Ask each source once, within `deadline` seconds in all. Never raises for a failed read.

    The threads are daemons, so that a credential plugin or a server that hangs does not keep the program from ending.
    """
    distinct = dict.fromkeys(questions)
    results = queue.SimpleQueue[tuple[Wanted, Answer]]()
    clients = s3.Clients(deadline)

    def ask(question: Wanted) -> None:
        results.put((question, _ask(question, clients, deadline)))

    for question in distinct:
        threading.Thread(target=ask, args=(question,), daemon=True).start()
    answers, end = dict[Wanted, Answer](), time.monotonic() + deadline
    while len(answers) < len(distinct):
        try:
            question, answer = results.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            break
        answers[question] = answer
    late = f"there was no answer within {deadline:g} seconds"
    return {question: answers.get(question) or question.unknown(late) for question in distinct}


def _ask(question: Wanted, clients: s3.Clients, seconds: float) -> Answer:
    try:
        if scheme(question.source) == "s3":
            return s3.ask(question, clients)
        if scheme(question.source) == "kit":
            from facts import registry  # noqa: PLC0415, most stacks need no urllib, which is slow to import

            return registry.ask(question, seconds)
    except Exception as error:  # noqa: BLE001, every failure is the same fact: unknown, with a reason
        return question.unknown(f"it could not be reached or read ({_reason(error)})")
    return question.unknown("only s3:// and kit:// are asked")


def _reason(error: Exception) -> str:
    """Return the name of an error, or of its cause, without its text, which may contain a credential."""
    cause = getattr(error, "reason", None)
    return type(cause if isinstance(cause, Exception) else error).__name__
