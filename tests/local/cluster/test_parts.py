"""The parts of a control plane listen on loopback, and tell nobody their secrets."""

import stat
from pathlib import Path

import pytest

from local.cluster import parts

pytestmark = pytest.mark.real


def listeners(pid: int) -> set[str]:
    """Return the addresses on which a process listens, as the kernel writes them."""
    inodes = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.exists()}
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                addresses.add(fields[1].partition(":")[0])
    return addresses


def test_every_listener_is_on_loopback(plane):
    pids = plane.pids()
    assert set(pids) == set(parts.PARTS)
    assert set().union(*map(listeners, pids.values())) == {"0100007F"}


def test_controllers_listen_on_no_port(plane):
    for part in parts.CONTROLLERS:
        assert not listeners(plane.pids()[part])


def test_only_the_owner_reads_keys_and_state(plane):
    for path in (plane.directory, *plane.directory.rglob("*")):
        if path.is_dir() and path.parent in (plane.directory, plane.directory.parent):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
    for path in (plane.kubeconfig, plane.directory / "tokens.csv", *(plane.directory / "pki").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_no_command_line_holds_the_token(plane):
    token = (plane.directory / "tokens.csv").read_text().partition(",")[0]
    for pid in plane.pids().values():
        assert token.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
