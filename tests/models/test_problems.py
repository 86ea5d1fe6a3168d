"""Problems as lines: for people, and for the engine's log, from which reports read them."""

from hypothesis import example, given
from hypothesis import strategies as st

from models.paths import Path
from models.problems import LogLine, Problem, gap, warning

TEXTS = st.text(max_size=30)
PATHS = st.lists(TEXTS, max_size=3).map(lambda parts: Path(*parts))
MARK = LogLine.write(gap(Path(), "nodes", "no answer"))[0]


@given(PATHS, TEXTS, TEXTS)
@example(Path(f"{MARK}nodes went unchecked: no"), "", "")
@example(Path(), f"{MARK}nodes went unchecked: no", "")
@example(Path(), "nodes went unchecked: no", "")
def test_no_words_of_a_user_make_a_line_of_a_check_that_did_not_run(path, what, remedy):
    line = LogLine.write(warning(path, what, remedy))
    assert line == str(Problem(path, what, remedy))
    assert LogLine.gap_words(line) is None


@given(
    st.sampled_from(["nodes", "whether it is new"]),
    st.text("abc :;()", min_size=1),
    st.lists(st.text("ab", min_size=1)),
)
def test_a_check_that_did_not_run_is_read_back_and_people_see_nothing_else(check, reason, objects):
    problem = gap(Path("services", "qwen"), check, reason, objects)
    line = LogLine.write(problem)
    assert line.removeprefix(MARK) == str(problem)
    of_objects = f" for {', '.join(objects)}" if objects else ""
    assert LogLine.gap_words(line) == f"services.qwen: {check}{of_objects} ({reason})"
