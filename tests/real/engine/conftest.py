"""Engines of the tests. One runs at a time, because each takes a gigabyte of memory."""

import contextlib

import pytest

from tests.support.engine.engines import Engine, Pod, free_address, make_model
from tests.support.stacks import find, rendered, tree

WORKLOAD = "qwen-decode"


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Return the directory of a small model of random numbers."""
    return make_model(tmp_path_factory.mktemp("model") / "qwen3")


@pytest.fixture(scope="module")
def new_engine(model, tmp_path_factory):
    """Return a function that starts the engine of a service as the program renders it, and ends the one before.

    `change` edits the rendered container; `secrets` are values by key; `adapters` are directories by path in the
    container. Without `wait`, the engine may not be ready yet.
    """
    with contextlib.ExitStack() as ends:

        def start(service=None, *, change=None, secrets=None, adapters=None, wait=True):
            ends.close()
            template = find(rendered(tree(qwen=service or {})), "Deployment", WORKLOAD)["spec"]["template"]
            if change is not None:
                change(template["spec"]["containers"][0])
            pod = Pod(template, free_address(), secrets or {})
            engine = Engine(pod, tmp_path_factory.mktemp("engine"), model, adapters)
            ends.callback(engine.end)
            engine.start()
            if wait:
                engine.wait()
            return engine

        yield start
