"""The files below a stack file: those that it extends."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from models.engine_yaml import Document
from models.layers import Source
from models.problems import ConfigError, Problem


@dataclass(frozen=True, slots=True)
class Sources:
    """The trees below that of a stack, the lowest first, and the files that hold them."""

    sources: tuple[Source, ...] = ()
    documents: tuple[Document, ...] = ()

    def complete(self, problems: Iterable[Problem]) -> ConfigError:
        """Return the error of some problems, and of the ambiguous text in the files."""
        found = list(problems)
        for document in self.documents:
            found = document.complete(found)
        return ConfigError(found)

    def refuse_ambiguities(self) -> None:
        """Raise `ConfigError` if a file has ambiguous text."""
        if any(document.ambiguities for document in self.documents):
            raise ConfigError(())


def read(tree: object, earlier: Iterable[Problem]) -> Sources:
    """Read the files below a stack file. Their paths are relative to the working directory, which is the program's.

    Raises `ConfigError` with the `earlier` problems and those of files that cannot be read.
    """
    if not isinstance(tree, dict) or "extends" not in tree:
        return Sources()
    from facts import base_files  # noqa: PLC0415, most stacks have no base files

    try:
        documents = base_files.read(cast("dict[str, Any]", tree), Path())
    except ConfigError as error:
        raise ConfigError([*earlier, *error.problems]) from None
    return Sources(tuple(Source(document.file, base_files.tree(document)) for document in documents), documents)
