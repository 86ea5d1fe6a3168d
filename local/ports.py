"""Ports of loopback for programs that listen later."""

from __future__ import annotations

import contextlib
import random
import socket
from typing import TYPE_CHECKING

from local.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Iterable

# Linux gives ports from 32768 on to programs that connect. A lower port stays free until its program listens on it.
_PORTS = range(20000, 30000)


def free_ports(names: Iterable[str]) -> dict[str, int]:
    """Return a free port for each name. Raises LocalError if too few ports are free.

    All ports are held until the last port is found, so that the ports differ.
    """
    numbers = iter(random.sample(_PORTS, len(_PORTS)))
    with contextlib.ExitStack() as held:
        return {name: _hold_port(numbers, held) for name in names}


def _hold_port(numbers: Iterable[int], held: contextlib.ExitStack) -> int:
    for number in numbers:
        listener = held.enter_context(socket.socket())
        with contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", number))
            return number
    raise LocalError(f"no port of loopback from {_PORTS.start} to {_PORTS.stop - 1} is free")
