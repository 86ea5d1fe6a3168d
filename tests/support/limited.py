"""Runs of a function in child processes with limits of time and memory, to which no network leads."""

import json
import os
import resource
import signal
import socket
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

SECONDS = 5
"""Maximum CPU time of one call."""
BYTES = 500 * 2**20
"""Maximum memory that a child may take beside what it has from its parent."""


class TooSlow(BaseException):
    """A call takes more than `SECONDS` of CPU time. No handler of an `Exception` catches it."""


def results(work: Callable[[Any], list[str]], cases: Iterable[Any]) -> list[str]:
    """Return the mistakes that `work` finds for the cases, and those of the limits. One child has all cases."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _run(work, cases, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        lines = [json.loads(line) for line in stream]
    _, status = os.waitpid(child, 0)
    mistakes = [f"{line['case']}: {text}" for line in lines if "mistakes" in line for text in line["mistakes"]]
    begun = [line["case"] for line in lines if "mistakes" not in line]
    if status != 0:
        mistakes.append(f"{begun[-1] if begun else 'no case'}: ended the process with {status}")
    return mistakes


def _run(work: Callable[[Any], list[str]], cases: Iterable[Any], writer: int) -> NoReturn:
    """Call `work` for each case, write the results, and end the process."""
    code = 1
    try:
        _limit()
        with os.fdopen(writer, "w", encoding="utf-8") as stream:
            for case in cases:
                print(json.dumps({"case": str(case)}), file=stream, flush=True)
                print(json.dumps({"case": str(case), "mistakes": _called(work, case)}), file=stream, flush=True)
        code = 0
    except BaseException:  # noqa: BLE001, a child must not return into the test of its parent
        traceback.print_exc()
    finally:
        os._exit(code)


def _limit() -> None:
    """Limit the memory of this process, and keep it from the network."""
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
    signal.signal(signal.SIGPROF, _interrupt)
    socket.getaddrinfo = socket.create_connection = _unreachable


def _called(work: Callable[[Any], list[str]], case: Any) -> list[str]:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return work(case)
    except TooSlow:
        return [f"takes more than {SECONDS} s: {traceback.format_exc(limit=-6)}"]
    except BaseException:  # noqa: BLE001, every exception is a mistake
        return [traceback.format_exc(limit=-6)]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _interrupt(*_: Any) -> NoReturn:
    raise TooSlow


def _unreachable(*_: Any, **__: Any) -> NoReturn:
    raise socket.gaierror(socket.EAI_NONAME, "no network")
