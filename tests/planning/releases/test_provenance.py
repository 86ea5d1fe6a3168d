"""Provenance of facts: warnings about facts that were not run or not proven."""

from models.stack import Stack
from planning.releases import Release, channel
from planning.releases.provenance import count_of_earlier, count_of_stated, newest_run_channel, unproven
from tests.support.stacks import plan, tree

DEFAULT = Stack.model_fields["release"].default


def proven(path: str, proof: str) -> Release:
    """Return the default channel with another proof of one entry."""
    facts = channel(DEFAULT).model_dump(by_alias=True)
    at = facts
    for part in path.split("."):
        at = at[part]
    at["proof"] = proof
    return Release.model_validate(facts)


def test_the_default_channel_leaves_nothing_unproven():
    release = channel(DEFAULT)
    assert unproven(release, release.images.engine) == ()


def test_what_nobody_proved_is_named():
    release = proven("picker.presets.precise-prefix-cache", "none")
    assert [at for at, _ in unproven(release, ())] == ["picker.presets.precise-prefix-cache"]


def test_a_picker_that_was_not_run_is_told_once_with_what_is_known_instead():
    release = channel(DEFAULT)
    commit = release.line.built
    earlier = [at for at, entry in release.entries if commit.short in entry.source]
    assert count_of_earlier(release) == len(earlier) > 15
    assert {"picker.config", "picker.flags", "picker.plugins", "sidecar"} <= {*earlier}
    assert count_of_stated(release, ["nvidia"]) == 3
    assert count_of_stated(release, ["nvidia", "cpu"]) == 4
    found = [str(problem) for problem in plan(tree()).warnings]
    assert found == [
        (
            "release llm-d-0.10: the picker v0.11.0 was not run here: "
            f"{len(earlier)} facts were read in source of 2026-08-22, 3 are stated by public texts; "
            "write release: llm-d-0.9 for a picker that was run here"
        )
    ]
    assert [
        str(problem) for problem in plan(tree() | {"release": "llm-d-0.9"}).warnings if "not run" in problem.what
    ] == []


def test_an_unproven_engine_matters_only_where_its_vendor_is_used():
    release = channel("gie-1.3")
    assert unproven(release, ["nvidia"]) == ()
    assert [at for at, _ in unproven(release, ["nvidia", "cpu"])] == ["images.engine.cpu"]


def test_the_newest_channel_that_was_run_has_no_commit_before_the_release():
    assert channel(newest_run_channel()).line.built is None
    assert newest_run_channel() == "llm-d-0.9"
