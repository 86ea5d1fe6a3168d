"""Questions to git about the commit that is published."""

import subprocess
from pathlib import Path

from publishing.errors import PublishingError

_ARCHIVE = ("-c", "tar.umask=0022", "archive", "--format=tar")
"""Files of the archive have the same rights, whatever git's settings are."""


def require_clean(project: Path) -> None:
    """Raise `PublishingError` if the working tree has changes, because nobody could build the same again."""
    changes = _git(project, "status", "--porcelain").decode().splitlines()
    if changes:
        raise PublishingError(f"{changes[0][3:]}: differs from the commit; commit all changes, or remove them")


def seconds(project: Path) -> int:
    """Return the time of the commit, in seconds since 1970."""
    return int(_git(project, "log", "-1", "--format=%ct"))


def tags(project: Path) -> list[str]:
    """Return the tags of the commit that begin with `v`."""
    return _git(project, "tag", "--points-at", "HEAD", "--list", "v*").decode().split()


def archive(project: Path, prefix: str) -> bytes:
    """Return a tar archive of all committed files, each below the folder `prefix`."""
    return _git(project, *_ARCHIVE, f"--prefix={prefix}/", "HEAD")


def _git(project: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=project, capture_output=True, check=False)
    if done.returncode:
        reason = done.stderr.decode().strip().rpartition("\n")[2]
        raise PublishingError(f"{project}: git cannot read it ({reason}); run this in a clone of the repository")
    return done.stdout
