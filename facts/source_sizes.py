"""Reader of the sizes of s3:// and kit:// sources, and of the contents of sources for a lock.

A few threads ask all sources within one deadline. In an offline run, nobody is asked. Only s3:// and kit:// sources are
asked for sizes. If a claim needs the size of an hf:// source, the user writes the size or a lock has it. Sizes of
pvc:// and image:// sources are never needed, because their weights are not fetched.

Pods read sources with Secrets that this program does not see. A source may therefore deny access to the user who runs
the program, and grant access to the pods. So an unknown size is no error.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from facts import docker_config, hosts, s3, side_by_side
from facts.transport import RefusedAddressError, Run, Transport
from models.load import Loaded
from models.problems import Problem
from models.source import scheme
from planning.ground.cluster_facts import Unknown
from planning.weights.contents import Answered, Content
from planning.weights.sizes import ASKED, Answer, Wanted, questions, with_answers

_Answer = TypeVar("_Answer")
DEADLINE_SECONDS = 15.0
"""Deadline for all sources together."""
_UNTOLD = f"its server could not be read; list the server in {hosts.TRUSTED} to read why"
"""Reason for a server that is neither public nor named by the environment, whatever has failed."""


def add_sizes(
    loaded: Loaded, deadline: float = DEADLINE_SECONDS, known: Mapping[Wanted, Answer] = MappingProxyType({})
) -> tuple[Loaded, list[Problem]]:
    """Ask sources for the sizes that the stack needs and that the user did not write.

    `known` are the answers that a lock already has. Their sources are not asked.
    Returns the configuration with those sizes, and warnings. A failed read does not raise; it gives a warning. A source
    from which no pod can fetch adds an error to the returned configuration.
    """
    of_stack = questions(loaded)
    open_questions = [
        question for question in of_stack.asked.values() if question not in known and scheme(question.source) in ASKED
    ]
    return with_answers(loaded, of_stack, {**sizes(open_questions, deadline), **known})


def sizes(questions: Iterable[Wanted], deadline: float = DEADLINE_SECONDS) -> dict[Wanted, Answer]:
    """Answer all questions together within `deadline` seconds. A failed read does not raise; its answer is `Unknown`.

    Equal questions are asked once. Sources are asked in daemon threads, so that the program can end while a credential
    plugin or a server hangs.
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
    reader: Callable[[Wanted, s3.Clients, Transport], _Answer | Unknown],
) -> dict[Wanted, _Answer | Unknown]:
    run = Run(deadline)
    clients = s3.Clients(run)
    transports = {question: Transport(run, _is_known) for question in questions}
    answers = side_by_side.answers(
        transports, run, lambda question: _answer(question, clients, transports[question], reader)
    )
    late = f"there was no answer within {deadline:g} seconds"
    return {
        question: answers.get(question) or question.unknown(late if transport.is_telling else _UNTOLD)
        for question, transport in transports.items()
    }


def _is_known(server: hosts.ServerOrigin) -> bool:
    return hosts.is_known(server) or docker_config.names(server)


def _answer(
    question: Wanted,
    clients: s3.Clients,
    transport: Transport,
    reader: Callable[[Wanted, s3.Clients, Transport], _Answer | Unknown],
) -> _Answer | Unknown:
    """Return the answer to one question. Its reason is left out if the reason says something of a private network."""
    if hosts.is_offline() and scheme(question.source) != "pvc":
        return question.unknown("this run is offline")
    try:
        answer = reader(question, clients, transport)
    except Exception as error:  # noqa: BLE001, after any failure the answer is unknown
        answer = question.unknown(f"it could not be reached or read ({_reason(error)})")
    if isinstance(answer, Unknown) and not transport.is_telling:
        return question.unknown(_UNTOLD)
    return answer


def _ask(question: Wanted, clients: s3.Clients, transport: Transport) -> Answer:
    if scheme(question.source) == "s3":
        return s3.ask(question, clients, transport)
    if scheme(question.source) == "kit":
        from facts import registry  # noqa: PLC0415, it imports urllib, which is slow, and most stacks do not need it

        return registry.ask(question, transport)
    return question.unknown("only s3:// and kit:// are asked")


def _ask_content(question: Wanted, clients: s3.Clients, transport: Transport) -> Answered:
    match scheme(question.source):
        case "s3":
            return s3.content(question, clients, transport)
        case "hf":
            from facts import hub  # noqa: PLC0415, as above

            return hub.ask(question, transport)
        case "pvc":
            return Content(question.source, origin="nobody")
        case _:
            from facts import registry  # noqa: PLC0415, as above

            return registry.content(question, transport)


def _reason(error: Exception) -> str:
    """Return the class name of an error or of its cause. The error's text may contain a credential."""
    cause = getattr(error, "reason", None)
    if not isinstance(cause, Exception):
        cause = error
    if isinstance(cause, RefusedAddressError):
        return "link-local addresses and those of clouds' metadata are never asked"
    return type(cause).__name__
