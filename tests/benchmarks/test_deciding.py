"""The benchmark of deciding measures what the program does."""

from benchmarks import deciding


def test_every_step_of_a_small_stack_is_measured():
    measured = deciding._measured_apart(2)
    assert measured["objects"] == 24
    assert 0 < sum(measured[step] for step in deciding._STEPS) < 60
