"""Samples of a namespace's status, taken in a thread while something changes."""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from composition import status
from facts.kubeconfig import KubeAccess
from judging.status.records import Finding
from judging.status.states import Level
from judging.status.verdict import ExitCode, Status
from local.cluster import ControlPlane
from tests.support.waits import DEADLINE

PAUSE = 0.5
"""Seconds between two samples."""


@dataclass(frozen=True)
class Sample:
    """The status of the services of one namespace at one moment."""

    exit_code: ExitCode
    states: tuple[Finding, ...]
    """States of all links of all services."""
    culprits: tuple[Finding, ...]

    @property
    def ids(self) -> set[str]:
        """Return the ids of all states."""
        return {state.state.id for state in self.states}

    def blames(self) -> list[str]:
        """Return a line for each state that is to blame and not normal. What follows from others is not to blame."""
        wrong = (state for state in self.culprits if state.level is not Level.NORMAL)
        return sorted({f"{state.object} {state.words} [{state.state.id}]" for state in wrong})


class Watch:
    """Samples by the name of the phase in which they were taken."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.phases = dict[str, list[Sample]]()
        self._access = KubeAccess(plane.kubeconfig.read_text(encoding="utf-8"), None)
        self._namespace = namespace

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Take samples until the end of the block, and one more."""
        stop = threading.Event()
        samples = self.phases.setdefault(name, [])

        def follow() -> None:
            while not stop.is_set():
                samples.append(self.sample())
                stop.wait(PAUSE)

        thread = threading.Thread(target=follow)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        samples.append(self.sample())

    def settle(self, seconds: float = DEADLINE) -> Sample:
        """Wait until everything serves as configured, and return that sample."""
        end = time.monotonic() + seconds
        while True:
            sample = self.sample()
            if sample.exit_code is ExitCode.SERVES:
                return sample
            assert time.monotonic() < end, [f"{state.object} {state.words}" for state in sample.states]
            time.sleep(PAUSE)

    def sample(self) -> Sample:
        """Read the status of the namespace."""
        everything = status.read(self._access)
        services = tuple(each for each in everything.services if each.view.namespace == self._namespace)
        selected = Status(services, everything.read_at, everything.unread)
        states = (state for service in services for component in service.components for state in component.findings)
        culprits = (service.culprit for service in services if service.culprit is not None)
        return Sample(selected.exit_code, tuple(states), tuple(culprits))
