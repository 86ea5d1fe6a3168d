"""Reader of a file with the outputs of a platform's stack, for commands that run without an engine."""

from pathlib import Path as File
from typing import cast

from facts import regular_files
from facts.regular_files import UnreadableError
from models.engine_yaml import mistake
from models.platform import PlatformOutputs

OPTION = "--platform"
_SECRET = "[secret]"  # noqa: S105, what the engine prints in the place of a secret
_REMEDY = "name a file that `pulumi stack output --json` wrote"


def read(path: File) -> PlatformOutputs:
    """Return the outputs in a file. Raises `ConfigError` if the file cannot be read, or holds no outputs."""
    try:
        content = regular_files.json_value(path, pipe=True)
    except UnreadableError as error:
        what = str(error)
        named = f"{what[:-1]}: {path.name})" if what.endswith(")") else f"{what} ({path.name})"
        raise mistake(OPTION, named, error.remedy or _REMEDY) from None
    if not isinstance(content, dict):
        raise mistake(OPTION, f"holds no outputs ({path.name})", _REMEDY)
    outputs = cast("dict[str, object]", content)
    return PlatformOutputs(outputs, frozenset(name for name, value in outputs.items() if _holds_secret(value)))


def _holds_secret(value: object) -> bool:
    """Return whether an output is, or contains, the text that the engine prints in place of a secret."""
    if isinstance(value, dict):
        return any(map(_holds_secret, cast("dict[str, object]", value).values()))
    if isinstance(value, list):
        return any(map(_holds_secret, cast("list[object]", value)))
    return value == _SECRET
