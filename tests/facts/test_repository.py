"""The bound of what a configuration names, outside of a repository."""

import pytest

from facts import base_files
from models.problems import ConfigError


def test_without_a_repository_the_folder_of_the_program_is_the_bound(project):
    """See defects H17."""
    (project.parent / ".git").rmdir()
    (project / "own.yaml").write_text("labels: {a: b}\n")
    assert base_files.read({"extends": ["own.yaml"]}, project)
    with pytest.raises(ConfigError, match="leads out of the repository"):
        base_files.read({"extends": ["../shared.yaml"]}, project)
