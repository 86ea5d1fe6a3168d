"""The benchmark of the policy pack compares one stack in two engines, in pairs."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

from benchmarks import policy


def test_a_row_has_medians_and_their_ratio(monkeypatch, tmp_path):
    seconds = iter([9.0, 2.4, 1.0, 2.2, 2.0, 9.0, 4.0])
    arguments = []

    def preview(_engine, more):
        arguments.append(bool(more))
        return next(seconds)

    monkeypatch.setattr(policy, "_preview", preview)
    monkeypatch.setattr(policy, "planned_resources", lambda _engine: {"a": {}, "b": {}})
    shared = SimpleNamespace(
        directory=tmp_path,
        program_engine=lambda *_: None,
        report=SimpleNamespace(step=lambda _text: nullcontext()),
    )
    assert policy._row(shared, Path("python"), 2) == (2, 2, "2.4", "2.0", "1.20")
    assert arguments == [True, True, False, True, False, True, False]
