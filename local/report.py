"""Progress of long commands: live lines on a terminal, plain lines in any other output."""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Generator

TERMINAL_INTERVAL = 0.5
PLAIN_INTERVAL = 15.0
CLEAR_LINE = "\x1b[2K"


@dataclass
class ReportStep:
    """One step of a command."""

    title: str
    expected: float | None
    """Expected duration in seconds; None if unknown."""
    started: float = field(default_factory=time.monotonic)
    note: str = ""
    """Text after the title. The caller may change this text while the step runs."""

    def line(self) -> str:
        """Return title, elapsed seconds, expected seconds if they are known and have not passed, and note."""
        elapsed = time.monotonic() - self.started
        expected = ""
        if self.expected is not None and elapsed < self.expected:
            expected = f" of about {self.expected:.0f} s"
        return f"{self.title} ({elapsed:.0f} s{expected}){self._end()}"

    def result(self) -> str:
        """Return title, elapsed seconds and note of a step that has ended."""
        return f"{self.title} ({time.monotonic() - self.started:.1f} s){self._end()}"

    def _end(self) -> str:
        return self.note and f": {self.note}"


class Report:
    """Printer of steps and messages to a stream; threads can share it."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._terminal = self._stream.isatty()
        self._lock = threading.Lock()
        self._steps: list[ReportStep] = []
        self._drawn = 0
        self._ticker: threading.Thread | None = None

    def say(self, text: str) -> None:
        """Print a permanent line."""
        with self._lock:
            self._print(text)

    @contextlib.contextmanager
    def step(self, title: str, expected: float | None = None) -> Generator[ReportStep]:
        """Show a step while the `with` block runs, then print whether the step succeeded; `expected` is in seconds."""
        step = ReportStep(title, expected)
        with self._lock:
            self._steps.append(step)
            if self._terminal:
                self._redraw()
            elif expected:
                self._print(f"… {title} (about {expected:.0f} s)")
            else:
                self._print(f"… {title}")
            if self._ticker is None:
                self._ticker = threading.Thread(target=self._tick, daemon=True)
                self._ticker.start()
        mark = "✗"
        try:
            yield step
            mark = "✓"
        finally:
            with self._lock:
                self._steps.remove(step)
                self._print(f"{mark} {step.result()}")

    def _tick(self) -> None:
        interval = PLAIN_INTERVAL
        if self._terminal:
            interval = TERMINAL_INTERVAL
        while True:
            time.sleep(interval)
            with self._lock:
                if not self._steps:
                    self._ticker = None
                    return
                if self._terminal:
                    self._redraw()
                else:
                    for step in self._steps:
                        self._print(f"  {step.line()}")

    def _print(self, text: str) -> None:
        self._erase()
        self._stream.write(text + "\n")
        self._draw()
        self._stream.flush()

    def _redraw(self) -> None:
        self._erase()
        self._draw()
        self._stream.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}A" + f"{CLEAR_LINE}\n" * self._drawn + f"\x1b[{self._drawn}A")
        self._drawn = 0

    def _draw(self) -> None:
        if not self._terminal:
            return
        for step in self._steps:
            self._stream.write(f"  {step.line()}"[: shutil.get_terminal_size().columns - 1] + "\n")
        self._drawn = len(self._steps)
