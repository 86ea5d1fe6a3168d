"""Reads a stack file as strictly as a person would: a key that stands twice is a mistake, not the last one's win."""

from pathlib import Path
from typing import Any, cast

import yaml

from models.load import ROOT
from models.problems import ConfigError, Problem


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses duplicate keys."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen = set[str]()
    for key, _ in node.value:
        if key.value in seen:
            mark = key.start_mark
            raise yaml.constructor.ConstructorError(None, None, f"key {key.value} stands twice", mark)
        seen.add(key.value)
    return cast("dict[Any, Any]", yaml.SafeLoader.construct_mapping(loader, node, deep=True))


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def locate(file_or_stack: str) -> Path:
    """Return the path of a stack file, given itself or the stack's name."""
    path = Path(file_or_stack)
    return path if path.suffix in {".yaml", ".yml"} else Path(f"Pulumi.{file_or_stack}.yaml")


def read(path: Path) -> object:
    """Return the tree below `inference-stacks:stack`.

    Raises `ConfigError` where the file cannot be read, is no YAML, has a key twice, or lacks the tree.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506, derived from SafeLoader
    except OSError as error:
        raise ConfigError(
            [Problem(str(path), f"cannot be read ({error.strerror})", "name a stack file or a stack")]
        ) from None
    except UnicodeDecodeError:
        raise ConfigError([Problem(str(path), "is not UTF-8", "save it as UTF-8")]) from None
    except yaml.MarkedYAMLError as error:
        where = f"{path}:{error.problem_mark.line + 1}" if error.problem_mark is not None else str(path)
        raise ConfigError([Problem(where, f"is not valid YAML ({error.problem})", "correct that line")]) from None
    config = cast("dict[str, Any]", content).get("config") if isinstance(content, dict) else None
    tree = cast("dict[str, Any]", config).get(ROOT) if isinstance(config, dict) else None
    if isinstance(tree, dict) and set(cast("dict[str, Any]", tree)) == {"secure"}:
        what, remedy = "holds a secret value (the key is encrypted as a whole)", "put it into an existing Secret"
        raise ConfigError([Problem(ROOT, what, remedy)])
    return cast("object", tree)
