"""Options and plugins of the whole suite."""

import gc
import logging
import os
import resource
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from local import processes

pytest_plugins = [
    "tests.support.cluster.buckets",
    "tests.support.cluster.pythons",
    "tests.support.cluster.plane",
    "tests.support.cluster.deployments",
    "tests.support.cluster.forks",
    "tests.support.cluster.lws",
    "tests.support.engine.listing",
    "tests.support.traffic.data_path",
    "tests.support.traffic.sources",
]
TESTS = Path(__file__).parent
ROOT = TESTS.parent
REAL = ("real", "local", "real/status")
"""Folders of tests on real parts, in the order in which they begin. Gateways of `status` serve a whole control plane,
on which other tests expect none."""
LONGEST = (
    "real/test_topologies",
    "real/test_make_up",
    "real/test_turns",
    "real/test_autoscaling",
    "real/test_crash",
    "real/test_storage",
    "real/test_canary",
    "real/test_lws",
    "real/test_drift",
    "real/test_judge",
)
"""Modules that take longest, in this order: what begins first keeps no process waiting for another at the end."""
FILES = 8192
"""Files that a process of the tests may have open, unless the system allows fewer or more."""
# How long an example takes says how busy the machine is; a test that hangs meets pytest's own limit.
settings.register_profile("suite", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=30)
settings.load_profile("suite")


def pytest_configure() -> None:
    processes.heed_interrupts()
    # The program lets the collector of garbage pass over what it made, event loops of Pulumi's SDK included. A process
    # that runs the program hundreds of times needs more files than most systems allow at first.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, FILES)), hard))


def pytest_unconfigure() -> None:
    # Tasks of Pulumi's SDK end with the process. That they were pending concerns nobody.
    logging.getLogger("asyncio").disabled = True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_start)


def _start(item: pytest.Item) -> tuple[int, int]:
    """Return what orders modules: those that take longest, then others on real parts, then what needs none."""
    folder = item.path.parent.relative_to(TESTS).as_posix()
    module = f"{folder}/{item.path.stem}"
    group = REAL.index(folder) if folder in REAL else len(REAL)
    return LONGEST.index(module) if module in LONGEST else len(LONGEST), group


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep what is collected out of the garbage collector's sight: it stays until the end, and takes long to walk."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(200_000, 20, 100)
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write goldens, schema and messages anew; review the diff")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Begin every test at the root. A fixture would cost a second for all tests together."""
    os.chdir(ROOT)


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Compare a text with a committed file, or write the file under --update."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), (
            f"{path} differs; review with: {sys.executable} -m pytest --update"
        )

    return compare
