"""Ports that a program can listen on later."""

import socket

import pytest

from local import ports
from local.errors import LocalError


def test_ports_differ_and_the_kernel_gives_none_of_them_to_programs_that_connect():
    numbers = ports.free_ports(f"listener-{number}" for number in range(50))
    assert [*numbers] == [f"listener-{number}" for number in range(50)]
    assert len(set(numbers.values())) == 50
    assert max(numbers.values()) < 32768


def test_a_port_that_is_taken_is_left_out(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        number = taken.getsockname()[1]
        monkeypatch.setattr(ports, "_PORTS", range(number, number + 1))
        with pytest.raises(LocalError, match=f"no port of loopback from {number} to {number} is free"):
            ports.free_ports(("listener",))
    assert ports.free_ports(("listener",)) == {"listener": number}
