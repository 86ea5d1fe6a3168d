"""The layers below a stack file: the outputs of its platform, and the files that it extends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from models.layers import Source
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from models.stack_layers import merge_stack

if TYPE_CHECKING:
    from judging.validation import SchemaError
    from models.engine_yaml import Document
    from models.platform import PlatformOutputs, Reference

_KEY = "platform"


@dataclass(frozen=True, slots=True)
class Sources:
    """The layers below a stack file, the lowest first, and the files from which they were read."""

    sources: tuple[Source, ...] = ()
    documents: "tuple[Document, ...]" = ()

    def complete(self, error: "ConfigError | SchemaError") -> "ConfigError | SchemaError":
        """Return a `ConfigError` with the problems of ambiguous text in the files, too; any other error as it is."""
        if not isinstance(error, ConfigError):
            return error
        problems = list(error.problems)
        for document in self.documents:
            problems = document.complete(problems)
        return ConfigError(problems)

    def refuse_ambiguities(self) -> None:
        """Raise a `ConfigError` if a file has ambiguous text. The error has no problems; `complete` adds them."""
        if any(document.ambiguities for document in self.documents):
            raise ConfigError(())


class Configuration:
    """The tree of a stack, and the files that the stack extends, which are read once, when they are first needed."""

    def __init__(self, tree: object) -> None:
        self.tree = tree

    @classmethod
    def of(cls, tree: object) -> "Configuration":
        """Return the configuration with a tree. A `tree` that is a configuration is returned itself."""
        if isinstance(tree, Configuration):
            return tree
        return cls(tree)

    @property
    def bases(self) -> Sources:
        """Return the files that the stack extends. Paths of files are relative to the working directory.

        Raises a `ConfigError` if a file cannot be read.
        """
        if isinstance(self._bases, ConfigError):
            raise self._bases
        return self._bases

    @cached_property
    def _bases(self) -> Sources | ConfigError:
        try:
            return _read_bases(self.tree)
        except ConfigError as error:
            return error

    @cached_property
    def platform(self) -> "Reference | None":
        """Return the reference to the platform of the stack, from the stack file or from the files that it extends.

        Return None if these files name no platform, or if these files have a mistake, which `read` reports.
        """
        if not _may_have(self.tree, "extends", _KEY):
            return None
        try:
            return _reference(cast("dict[str, Any]", self.tree), self.bases.sources)
        except ConfigError:
            return None


def read(
    configuration: Configuration, earlier: Iterable[Problem], platform: "PlatformOutputs | None" = None
) -> Sources:
    """Read the layers below a stack file. Paths of files are relative to the working directory.

    `platform` are the outputs of the stack's platform. If a file or an output cannot be read, raises `ConfigError` with
    that problem and the `earlier` problems.
    """
    tree = configuration.tree
    if not _may_have(tree, "extends", _KEY) and platform is None:
        return Sources()
    try:
        bases = configuration.bases
        if platform is not None and not any(_may_have(layer, _KEY) for layer in (tree, *_trees(bases))):
            remedy = "remove it, or add platform to the stack"
            raise _mistake("--platform", "has no effect on a stack without platform", remedy)
        return _with_platform(bases, _reference(cast("dict[str, Any]", tree), bases.sources), platform)
    except ConfigError as error:
        raise ConfigError([*earlier, *error.problems]) from None


def _mistake(path: str, what: str, remedy: str) -> ConfigError:
    return ConfigError([Problem(ConfigPath(path), what, remedy)])


def _may_have(tree: object, *keys: str) -> bool:
    return isinstance(tree, dict) and not cast("dict[str, Any]", tree).keys().isdisjoint(keys)


def _trees(bases: Sources) -> Iterable[object]:
    return (source.tree for source in bases.sources)


def _read_bases(tree: object) -> Sources:
    """Read the files that a stack extends."""
    if not _may_have(tree, "extends"):
        return Sources()
    from facts import base_files  # noqa: PLC0415, most stacks have no base files

    documents = base_files.read(cast("dict[str, Any]", tree), Path())
    return Sources(tuple(Source(document.file, base_files.tree(document)) for document in documents), documents)


def _reference(tree: Mapping[str, Any], bases: Iterable[Source]) -> "Reference | None":
    """Return the reference to the platform, from the merged values of `platform` in a stack and the files below it."""
    from models import platform  # noqa: PLC0415, most stacks name no platform

    layers = [Source(base.file, _select(base.tree)) for base in bases]
    return platform.reference(merge_stack(_select(tree), layers).tree)


def _select(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key == _KEY}


def _with_platform(bases: Sources, named: "Reference | None", outputs: "PlatformOutputs | None") -> Sources:
    """Return `bases`, with the layer of the platform as the lowest layer."""
    if named is None:
        return bases
    if outputs is None:
        command = f"pulumi stack output --json -s {named.stack}"
        remedy = f"save the output of `{command}` in a file, and name the file with --platform"
        raise _mistake(_KEY, f"has outputs that only the engine can read ({named.stack})", remedy)
    from models import platform  # noqa: PLC0415, most stacks name no platform

    return Sources((platform.source(named, outputs), *bases.sources), bases.documents)
