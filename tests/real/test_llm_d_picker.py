"""Behaviour that only a running picker of llm-d has. No test here runs unless one is on PATH."""

import contextlib
import socket
import threading

import pytest

from tests.support.stacks import tree
from tests.support.traffic import llm_d
from tests.support.waits import eventually

pytestmark = pytest.mark.real
__test__ = llm_d.found() is not None

EVENTS = 5556
WIDE = {
    "accelerator": "nvidia-h100-80gb",
    "engine": {"image": "registry.example/vllm-openai:v0.23.0"},
    "parallelism": {"data": 2, "loadBalancing": "external", "expert": True},
}


def heard(listener, callers):
    """Keep that somebody asks a listener."""
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        callers.append(listener.getsockname()[1])
        connection.close()


def test_precise_prefix_cache_asks_every_copy_for_its_events(new_path):
    """See defects A23."""
    release, picker = llm_d.found()
    copies = 2 if release != "llm-d-0.8" else 1
    service = (WIDE if copies > 1 else {}) | {"endpointPicker": {"preset": "precise-prefix-cache"}}
    settings = {"namespace": "precise", "namespaceOptions": {"create": True}, "release": release}
    path = new_path(tree(wide=service) | settings, picker)
    address, _ = path.of("wide")[0].server_address
    callers = []
    with contextlib.ExitStack() as ends:
        for rank in range(copies):
            listener = ends.enter_context(socket.create_server((address, EVENTS + rank)))
            threading.Thread(target=heard, args=(listener, callers), daemon=True).start()
        eventually(lambda: sorted(callers) == [EVENTS + rank for rank in range(copies)])
