"""Reader of YAML files: the stack file and the files that it extends."""

from pathlib import Path as File

from facts import regular_files
from facts.regular_files import LARGEST_YAML, UnreadableError
from models import engine_yaml
from models.engine_yaml import Document, mistake
from models.paths import Path

_ROOT = Path()


def read(path: File, remedy: str, top: Path = _ROOT, file: str = "", *, pipe: bool = False) -> Document:
    """Read a file as Pulumi's engine does. `top` and `file` are passed on to `engine_yaml.parse`.

    Problems name the file by `file`, or by its path if `file` is empty. The file is a regular file or, if `pipe` is
    true, a pipe. Raises `ConfigError` if the file cannot be read, is no YAML, or repeats a key. `remedy` is the advice
    for a file that cannot be read.
    """
    name = file or str(path)
    try:
        text = regular_files.text(path, LARGEST_YAML, pipe=pipe)
    except UnreadableError as error:
        raise mistake(name, str(error), error.remedy or remedy) from None
    return engine_yaml.parse(text, name, top, file)
