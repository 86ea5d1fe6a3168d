import threading

from facts import side_by_side
from facts.transport import Run


def test_all_questions_are_answered():
    assert side_by_side.answers(range(40), Run(60), str) == {number: str(number) for number in range(40)}


def test_questions_are_answered_at_the_same_time():
    both = threading.Barrier(2, timeout=60)
    assert side_by_side.answers(["a", "b"], Run(60), lambda _: both.wait() >= 0) == {"a": True, "b": True}


def test_answers_after_the_end_of_the_run_are_missing():
    never = threading.Event()

    def answer(question):
        if question == "late":
            never.wait(60)
        return question

    assert side_by_side.answers(["late", "early"], Run(0.5), answer) == {"early": "early"}
    never.set()
