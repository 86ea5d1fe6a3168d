"""The form of CHANGELOG.md, and the version that it begins with."""

from pathlib import Path

import pytest

from models import version
from publishing import changelog
from publishing.errors import PublishingError
from tests.support.cluster.upgrades import PUBLISHED

TEXT = Path(changelog.FILE).read_text(encoding="utf-8")
SMALL = """# Changelog

## [Unreleased]

### Fixed

- a

## [0.2.0] - 2026-02-01

### Added

- b

### Fixed

- c

## [0.1.0] - 2026-01-01

### Removed

- d
"""


def test_the_changelog_of_the_project_has_its_version_at_the_top():
    assert changelog.newest(TEXT).version == version.read()


def test_state_and_lock_of_every_version_are_recorded():
    versions = {section.version for section in changelog.read(TEXT)} - {changelog.UNRELEASED}
    assert versions == {*PUBLISHED}


def test_sections_are_read_from_the_newest_to_the_oldest():
    sections = changelog.read(SMALL)
    assert [section.version for section in sections] == ["Unreleased", "0.2.0", "0.1.0"]
    assert changelog.newest(SMALL).text == "### Added\n\n- b\n\n### Fixed\n\n- c"


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("# Changelog\n", "# Changes\n", "does not begin with its title; write # Changelog"),
        ("## [Unreleased]", "## Unreleased", "is no heading of a version (## Unreleased); write ## [1.2.3] - 2026"),
        ("[0.2.0] - 2026-02-01", "[0.2] - 2026-02-01", "is no heading of a version (## [0.2] - 2026-02-01)"),
        ("[0.2.0] - 2026-02-01", "[0.2.0]", "is no heading of a version (## [0.2.0])"),
        ("## [Unreleased]", "## [0.3.0] - 2026-03-01", "lacks the first section; write ## [Unreleased]"),
        ("[0.1.0] - 2026-01-01", "[Unreleased]", "lacks a version below ## [Unreleased]"),
        ("0.2.0", "0.0.9", "has versions out of order (0.0.9, 0.1.0); write each once, the newest first"),
        ("0.2.0", "0.1.0", "has versions out of order (0.1.0, 0.1.0)"),
        ("### Removed", "### Deleted", "has other kinds of changes in 0.1.0 (Deleted); write Added, Changed"),
        ("### Added\n\n- b\n\n### Fixed", "### Fixed\n\n- b\n\n### Added", "in 0.2.0 (Fixed, Added)"),
        ("### Removed\n\n- d\n", "", "says nothing of 0.1.0; write what has changed for users"),
    ],
)
def test_another_form_is_refused_with_the_right_one(right, wrong, message):
    assert right in SMALL
    with pytest.raises(PublishingError) as error:
        changelog.read(SMALL.replace(right, wrong, 1))
    assert str(error.value).startswith("CHANGELOG.md: ")
    assert message in str(error.value)


def test_versions_are_ordered_by_their_numbers():
    assert changelog.newest(SMALL.replace("0.2.0", "0.10.0")).version == "0.10.0"
    assert changelog.read(SMALL.replace("0.2.0", "0.10.0").replace("0.1.0", "0.9.0"))
