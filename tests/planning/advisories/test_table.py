"""The table of advisories says of each what it is, which versions it affects and where that is written."""

import re

import pytest

from planning.advisories import affecting, is_known, table
from planning.advisories.conditions import PREDICATES
from planning.releases import engine_versions
from planning.releases.engine_versions import EngineVersion

ROWS = table.read().advisories


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_has_its_id_its_source_and_a_range_of_versions(row):
    assert re.fullmatch(r"CVE-20\d\d-\d{4,}|GHSA(-[0-9a-z]{4}){3}", row.id)
    assert re.fullmatch(r"https://\S+", row.source)
    assert row.published <= table.read().date
    assert not engine_versions.is_older(row.fixed_in, "0.8.0")
    assert row.since is None or engine_versions.is_older(row.since, row.fixed_in)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_summary_is_one_plain_line_within_a_list(row):
    assert re.fullmatch(r"[a-z][^,;:\n]*[^.,;:\s]", row.summary)


def test_no_advisory_has_two_rows():
    ids = [row.id for row in ROWS]
    assert len(set(ids)) == len(ids)


def test_the_rows_are_in_the_order_of_their_fixes():
    assert [row.fixed_in for row in ROWS] == sorted((row.fixed_in for row in ROWS), key=engine_versions.order)


def test_the_conditions_are_those_that_have_a_predicate_and_a_row():
    conditions = table.read().conditions
    assert set(conditions) == set(PREDICATES) == {row.condition for row in ROWS}


def test_words_stand_where_a_condition_reads_them():
    reading = {"serves-model", "transfers-cache"}
    assert all(bool(row.words) == (row.condition in reading) for row in ROWS)


def test_a_version_is_affected_from_the_first_one_up_to_the_fix():
    row = next(row for row in ROWS if row.id == "CVE-2026-22778")
    versions = ["0.8.2", "0.8.3", "0.14.0", "0.14.1", "0.21.0"]
    assert [row.affects(version) for version in versions] == [False, True, True, False, False]


def test_an_advisory_of_a_part_does_not_affect_versions_without_the_part():
    rows = [row for row in ROWS if row.condition == "uses-rust-frontend"]
    versions = [EngineVersion(number, is_known=True) for number in engine_versions.table().versions]
    lacking = [version.number for version in versions if not version.knows_variable("VLLM_USE_RUST_FRONTEND")]
    assert rows
    assert lacking
    assert not any(row.affects(version) for row in rows for version in lacking)


def test_a_post_release_is_newer_than_its_release():
    row = next(row for row in ROWS if row.id == "CVE-2025-48956")
    assert row.affects("0.10.1")
    assert not row.affects("0.10.1.1")


@pytest.mark.parametrize(
    "image",
    [None, "registry.example/server:v1", "registry.example/vllm-openai:nightly", f"vllm/vllm-openai@sha256:{'0' * 64}"],
)
def test_an_image_of_an_unknown_version_has_no_advisory(image):
    assert affecting(image) == ()
    assert image is None or not is_known(image)


def test_an_image_in_a_mirror_has_the_advisories_of_its_version():
    mirrored = affecting("registry.example/mirror/vllm-openai:v0.27.1")
    assert mirrored == affecting("vllm/vllm-openai:v0.27.1")
    assert "CVE-2026-90553" in {row.id for row in mirrored}
    assert "CVE-2026-90553" not in {row.id for row in affecting("vllm/vllm-openai:v0.28.0")}
