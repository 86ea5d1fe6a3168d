"""A role meets the advisories of its engine's version whose condition holds."""

from planning.advisories import exposures, table, verdicts
from tests.planning.advisories.roles import role


def test_a_custom_engine_meets_nothing():
    custom = role({"engine": {"type": "custom"}})
    assert verdicts.met(custom) == ()
    assert exposures(custom) == frozenset()


def test_exposures_count_whatever_the_version():
    newest = role({}, "0.33.0")
    assert verdicts.met(newest) == ()
    assert exposures(newest) == {
        row.id for row in table.read().advisories if row.condition in {"answers-requests", "generates-text"}
    }


def test_an_engine_of_an_unknown_version_meets_nothing():
    unknown = role({"engine": {"image": "registry.example/vllm-openai:nightly"}})
    assert verdicts.met(unknown) == ()
    assert exposures(unknown)
