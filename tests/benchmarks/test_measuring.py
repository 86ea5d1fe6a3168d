"""Clocks measure the work that they are given, and tables are Markdown."""

import time

from benchmarks import measuring


def test_the_clock_on_the_wall_counts_sleep_and_returns_the_result():
    seconds, result = measuring.wall_seconds(lambda: (time.sleep(0.05), "done")[1])
    assert seconds >= 0.05
    assert result == "done"


def test_processor_time_is_the_lowest_of_several_runs():
    calls = []
    seconds = measuring.processor_seconds(lambda: calls.append(time.sleep(0.05)), 3)
    assert len(calls) == 3
    assert seconds < 0.05


def test_a_table_has_a_row_for_each_line(capsys):
    measuring.show("What was measured", ("n", "s"), [(1, "0.1"), (2, "0.2")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("What was measured (")
    assert lines[2:6] == ["| n | s |", "| --- | --- |", "| 1 | 0.1 |", "| 2 | 0.2 |"]
