"""Parts of a configuration that a reader makes from the documents of one service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from migration.accounts import Original
from models.paths import Path


@dataclass
class Converted:
    """One service, and the keys of the stack that it needs."""

    key: str
    """Key of the service."""
    service: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the service, without its namespace and its gateway."""
    stack: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the stack: namespace, gateway, release, observability, accelerators, caches, images."""
    documents: tuple[Original, ...] = ()
    """The documents that the service is from, the main one first."""
    variants: "dict[str, Converted]" = field(default_factory=dict[str, "Converted"])
    """Services that have become variants of this one, such as its canary, by variant."""
    source: str = ""
    """Name of the reader; empty until the conversion knows it."""

    @property
    def all_documents(self) -> tuple[Original, ...]:
        """Return the documents of the service and of its variants."""
        return (*self.documents, *(document for other in self.variants.values() for document in other.documents))

    def key_of(self, *keys: str | int) -> Path:
        """Return the path of a key of the service in the configuration of the reader's own stack."""
        return Path("services", self.key, *keys)

    def set(self, value: object, *keys: str) -> None:
        """Set a key of the service. None sets nothing."""
        set_value(self.service, value, *keys)

    def enable(self, *keys: str) -> None:
        """Set a key of the service to true."""
        set_value(self.service, True, *keys)

    def disable(self, *keys: str) -> None:
        """Set a key of the service to false."""
        set_value(self.service, False, *keys)

    def set_in_stack(self, value: object, *keys: str) -> None:
        """Set a key of the stack. None sets nothing."""
        set_value(self.stack, value, *keys)


class Reader(Protocol):
    """The module of a source."""

    @property
    def TABLES(self) -> Mapping[str, str]:  # noqa: N802, a constant of the module
        """Tables of fields by the kinds that make services, as `group/Kind`, or by the name for `--from`."""
        ...

    @property
    def COMPANIONS(self) -> Mapping[str, str]:  # noqa: N802, a constant of the module
        """Tables of fields by further kinds that the reader understands beside the services."""
        ...

    def read(self, documents: Sequence[Original], companions: Sequence[Original]) -> Sequence[Converted]:
        """Return the services of some documents. It raises nothing, whatever the documents hold."""
        ...


def set_value(tree: dict[str, Any], value: object, *keys: str) -> None:
    """Set the value at nested keys of a tree. None sets nothing."""
    if value is None:
        return
    for key in keys[:-1]:
        if not isinstance(tree.get(key), dict):
            tree[key] = {}
        tree = tree[key]
    tree[keys[-1]] = value
