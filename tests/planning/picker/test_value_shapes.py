"""Values are judged by the shapes of a release's tables."""

from hypothesis import given, settings
from hypothesis import strategies as st

from models.paths import Path
from planning.picker import value_shapes

KEYS = ["plugins", "type", "name", "parameters", "schedulingProfiles", "pluginRef", "featureGates", "unknown"]


JSON = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=True) | st.sampled_from(["", "queue-scorer", "x", "5s"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(word=st.sampled_from(["boolean", "duration", "integer", "number", "quantity", "text"]), value=JSON)
def test_a_value_that_does_not_fit_is_reported_without_being_shown(word, value):
    problems = list(value_shapes.problems(value_shapes.Reading(Path("here")), value, word))
    assert bool(problems) == (not value_shapes.fits(value, word))
    assert all(repr(value) not in problem.what for problem in problems if len(repr(value)) > 8)
