"""Reader of the lock of a stack, which is in the folder of the program."""

from dataclasses import dataclass
from pathlib import Path

from facts import regular_files, repository
from facts.regular_files import LARGEST_YAML, UnreadableError
from models import lock
from models.engine_yaml import mistake
from models.lock import Lock
from planning.ground.marks import Identity


@dataclass(frozen=True, slots=True)
class LockFile:
    """The place of a lock."""

    folder: Path
    """Folder of the program."""
    explicit: str | None = None
    """Path of the lock, relative to the folder. None for the default path, which contains the name of the stack or an
    earlier name of the stack."""
    must_exist: bool = True
    """Whether a lock at an explicit path must exist. False for a caller that writes the lock."""

    def path(self, identity: Identity) -> Path:
        """Return the path of the lock of a stack.

        The default path contains the stack's name. If no such file exists, but the lock of an earlier name exists, the
        path of that lock is returned.
        """
        if self.explicit is not None:
            return self.folder / self.explicit
        names = (identity.name.stack, *(name.rpartition("/")[2] for name in identity.formerly))
        paths = [self.folder / lock.file_name(name) for name in names]
        return next((path for path in paths if path.is_file()), paths[0])

    def read(self, identity: Identity) -> Lock | None:
        """Return the lock of a stack; None if there is none. Raises `ConfigError` with all mistakes of the file."""
        path = self.path(identity)
        if not path.exists():
            if self.explicit is None or not self.must_exist:
                return None
            remedy = f"write it with `python -m cli lock FILE --file {self.explicit}`, or correct the path"
            raise mistake(self.explicit, "does not exist", remedy)
        if self.explicit is None and not repository.contains(self.folder, path):
            raise mistake(path.name, "leads out of the repository", repository.REMEDY)
        try:
            content = regular_files.text(path, LARGEST_YAML)
        except UnreadableError as error:
            raise mistake(path.name, str(error), error.remedy or "restore it from git") from None
        return lock.read(content, path.name, str(identity.name), identity.formerly)
