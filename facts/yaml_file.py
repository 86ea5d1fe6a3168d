"""Reader of YAML files: the stack file and the files that it extends."""

from pathlib import Path as File

from models import engine_yaml
from models.engine_yaml import Document, mistake
from models.paths import Path

_ROOT = Path()


def read(path: File, remedy: str, top: Path = _ROOT, file: str = "") -> Document:
    """Read a file as Pulumi's engine does. `top` and `file` are passed on to `engine_yaml.parse`.

    Raises `ConfigError` if the file cannot be read, is no YAML, or repeats a key. `remedy` is the advice for a file
    that cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise mistake(str(path), f"cannot be read ({error.strerror})", remedy) from None
    except UnicodeDecodeError:
        raise mistake(str(path), "is not UTF-8", "save it as UTF-8") from None
    except ValueError:
        raise mistake(str(path), "is no path", remedy) from None
    return engine_yaml.parse(text, str(path), top, file)
