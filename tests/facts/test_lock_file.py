"""A lock is a file of the repository, or absent."""

import pytest

from facts.lock_file import LockFile
from models.problems import ConfigError
from planning.ground.marks import Identity
from tests.support.stacks import NAME

SECRET = "topsecret value"
IDENTITY = Identity(NAME)


@pytest.mark.parametrize("target", ["../../outside.yaml", "/dev/zero"])
def test_a_lock_lies_in_the_repository(project, target):
    """See defects H17."""
    (project / "inference.dev.lock.yaml").symlink_to(target)
    with pytest.raises(ConfigError) as error:
        LockFile(project).read(IDENTITY)
    assert "leads out of the repository" in str(error.value)
    assert SECRET not in str(error.value)
    with pytest.raises(ConfigError) as error:
        LockFile(project, target).read(IDENTITY)
    assert SECRET not in str(error.value)


def test_an_absent_lock_is_none_and_a_folder_is_no_lock(project):
    assert LockFile(project).read(IDENTITY) is None
    (project / "inference.dev.lock.yaml").mkdir()
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\); restore it from git"):
        LockFile(project).read(IDENTITY)
