"""Reader of the sizes of s3:// and kit:// sources. It asks all sources at the same time, within one deadline.

Other sources are not asked. Users write the size of an hf:// source if it is needed; the weights of pvc:// and image://
are not fetched. Pods read sources with Secrets that this program does not see. A source may therefore deny access to
the user who runs the program and grant it to the pods. Its size is then unknown, and that is no error.
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
    """Ask sources for the sizes that are needed and that the user did not write.

    Returns the configuration with those sizes, and warnings. A failed read does not raise; it gives a warning. A source
    that no pod can fetch from gives an error in the configuration.
    """
    return with_answers(loaded, sizes(questions(loaded).values(), deadline))


def sizes(questions: Iterable[Wanted], deadline: float = DEADLINE_SECONDS) -> dict[Wanted, Answer]:
    """Answer all questions together within `deadline` seconds. A failed read does not raise; its answer is `Unknown`.

    Equal questions are asked once. Each source is asked in a daemon thread, because a credential plugin or a server
    that hangs must not keep the program from ending.
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
    reason = f"there was no answer within {deadline:g} seconds"
    return {question: answers.get(question) or question.unknown(reason) for question in distinct}


def _ask(question: Wanted, clients: s3.Clients, seconds: float) -> Answer:
    try:
        if scheme(question.source) == "s3":
            return s3.ask(question, clients)
        if scheme(question.source) == "kit":
            from facts import registry  # noqa: PLC0415, it imports urllib, which is slow, and most stacks do not need it

            return registry.ask(question, seconds)
    except Exception as error:  # noqa: BLE001, after any failure the size is unknown
        return question.unknown(f"it could not be reached or read ({_reason(error)})")
    return question.unknown("only s3:// and kit:// are asked")


def _reason(error: Exception) -> str:
    """Return the class name of an error or of its cause. Its text is left out, because it may contain a credential."""
    cause = getattr(error, "reason", None)
    return type(cause if isinstance(cause, Exception) else error).__name__
