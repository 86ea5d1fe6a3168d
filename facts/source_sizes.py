"""Reader of the sizes of s3:// and kit:// sources, and of the contents of sources for a lock.

All sources are asked at the same time, within one deadline. Only s3:// and kit:// sources are asked for sizes. If a
claim needs the size of an hf:// source, the user writes the size or a lock has it. Sizes of pvc:// and image:// sources
are never needed, because their weights are not fetched.

Pods read sources with Secrets that this program does not see. A source may therefore deny access to the user who runs
the program, and grant access to the pods. So an unknown size is no error.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from facts import s3
from models.load import Loaded
from models.problems import Problem
from models.source import scheme
from planning.ground.cluster_facts import Unknown
from planning.weights.contents import Answered, Content
from planning.weights.sizes import ASKED, Answer, Wanted, questions, with_answers

_Answer = TypeVar("_Answer")
DEADLINE_SECONDS = 15.0
"""Deadline for all sources together."""


def add_sizes(
    loaded: Loaded, deadline: float = DEADLINE_SECONDS, known: Mapping[Wanted, Answer] = MappingProxyType({})
) -> tuple[Loaded, list[Problem]]:
    """Ask sources for the sizes that the stack needs and that the user did not write.

    `known` are the answers that a lock already has. Their sources are not asked.
    Returns the configuration with those sizes, and warnings. A failed read does not raise; it gives a warning. A source
    from which no pod can fetch adds an error to the returned configuration.
    """
    asked = [each for each in questions(loaded).values() if each not in known and scheme(each.source) in ASKED]
    return with_answers(loaded, {**sizes(asked, deadline), **known})


def sizes(questions: Iterable[Wanted], deadline: float = DEADLINE_SECONDS) -> dict[Wanted, Answer]:
    """Answer all questions together within `deadline` seconds. A failed read does not raise; its answer is `Unknown`.

    Equal questions are asked once. Each source is asked in a daemon thread, so that the program can end while a
    credential plugin or a server hangs.
    """
    return _answers(questions, deadline, _ask)


def contents(questions: Iterable[Wanted], deadline: float = DEADLINE_SECONDS) -> dict[Wanted, Answered]:
    """Answer questions about contents of sources. The deadline, failed reads and equal questions are as in `sizes`.

    A pvc:// source is not read; the answer only repeats the source.
    """
    return _answers(questions, deadline, _ask_content)


def _answers(
    questions: Iterable[Wanted],
    deadline: float,
    reader: Callable[[Wanted, s3.Clients, float], _Answer | Unknown],
) -> dict[Wanted, _Answer | Unknown]:
    distinct = dict.fromkeys(questions)
    results = queue.SimpleQueue[tuple[Wanted, _Answer | Unknown]]()
    clients = s3.Clients(deadline)

    def ask(question: Wanted) -> None:
        try:
            answer = reader(question, clients, deadline)
        except Exception as error:  # noqa: BLE001, after any failure the answer is unknown
            answer = question.unknown(f"it could not be reached or read ({_reason(error)})")
        results.put((question, answer))

    for question in distinct:
        threading.Thread(target=ask, args=(question,), daemon=True).start()
    answers, end = dict[Wanted, _Answer | Unknown](), time.monotonic() + deadline
    while len(answers) < len(distinct):
        try:
            question, answer = results.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            break
        answers[question] = answer
    reason = f"there was no answer within {deadline:g} seconds"
    return {question: answers.get(question) or question.unknown(reason) for question in distinct}


def _ask(question: Wanted, clients: s3.Clients, seconds: float) -> Answer:
    if scheme(question.source) == "s3":
        return s3.ask(question, clients)
    if scheme(question.source) == "kit":
        from facts import registry  # noqa: PLC0415, it imports urllib, which is slow, and most stacks do not need it

        return registry.ask(question, seconds)
    return question.unknown("only s3:// and kit:// are asked")


def _ask_content(question: Wanted, clients: s3.Clients, seconds: float) -> Answered:
    match scheme(question.source):
        case "s3":
            return s3.content(question, clients)
        case "hf":
            from facts import hub  # noqa: PLC0415, as above

            return hub.ask(question, seconds)
        case "pvc":
            return Content(question.source, origin="nobody")
        case _:
            from facts import registry  # noqa: PLC0415, as above

            return registry.content(question, seconds)


def _reason(error: Exception) -> str:
    """Return the class name of an error or of its cause. The error's text may contain a credential."""
    cause = getattr(error, "reason", None)
    return type(cause if isinstance(cause, Exception) else error).__name__
