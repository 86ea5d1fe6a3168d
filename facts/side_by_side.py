"""Questions that a few threads answer side by side until a run ends."""

import queue
import threading
from collections.abc import Callable, Collection
from typing import TypeVar

from facts.transport import Run

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")
_THREADS = 16


def answers(
    questions: Collection[_Question], run: Run, answer: Callable[[_Question], _Answer]
) -> dict[_Question, _Answer]:
    """Return the answers by question; those that come after the end of the run are missing.

    `answer` must not raise. It runs in daemon threads, so that the program can end while a server hangs.
    """
    pending = queue.SimpleQueue[_Question]()
    results = queue.SimpleQueue[tuple[_Question, _Answer]]()
    for question in questions:
        pending.put(question)

    def work() -> None:
        while run.seconds_left():
            try:
                question = pending.get_nowait()
            except queue.Empty:
                return
            result = answer(question)
            # Requests end with the run, so that a failure after the end says nothing of a server.
            if run.seconds_left():
                results.put((question, result))

    for _ in range(min(_THREADS, len(questions))):
        threading.Thread(target=work, daemon=True).start()
    complete = dict[_Question, _Answer]()
    while len(complete) < len(questions):
        try:
            complete.update([results.get(timeout=run.seconds_left())])
        except queue.Empty:
            break
    return complete
