"""A role meets the advisories of its engine's version whose condition holds."""

from planning.advisories import exposure, table
from tests.planning.advisories.roles import role


def test_a_custom_engine_meets_nothing():
    custom = role({"engine": {"type": "custom"}})
    assert exposure(custom).met == ()
    assert exposure(custom).ids == frozenset()


def test_an_exposure_counts_whatever_the_version():
    newest = role({}, "0.33.0")
    assert exposure(newest).met == ()
    assert exposure(newest).ids == {
        row.id for row in table.read().advisories if row.condition in {"answers-requests", "generates-text"}
    }


def test_an_engine_of_an_unknown_version_meets_nothing():
    unknown = role({"engine": {"image": "registry.example/vllm-openai:nightly"}})
    assert exposure(unknown).met == ()
    assert exposure(unknown).ids
