"""Assembly of converted services into one configuration."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from migration import caches
from migration.accounts import HIDDEN
from migration.converted import Converted
from migration.notes import Note
from models.paths import Path
from models.trees import mapping

_LONGEST_NAME = 63
_MAIN_KEYS = ("release", "namespace", "gateway")
"""Keys of a stack that a service can set for itself."""
_OF_OTHERS = "another document states it, and it holds for all services of a stack"
_DIFFERENT = "another document says something else, and a stack has one value"


@dataclass(frozen=True, slots=True)
class Assembled:
    """A configuration, and the notes about its documents."""

    tree: dict[str, Any]
    """Value of the key `inference-stacks:stack`."""
    notes: tuple[Note, ...]
    """Notes whose keys are paths in `tree`."""
    keys: tuple[str, ...] = ()
    """Keys of the services in `tree`, in the order of the services."""


def assemble(services: Sequence[Converted]) -> Assembled:
    """Return the configuration of some services.

    Keys of the stack are those of the first service that has them. What other services need instead becomes a key of
    the service if there is one, and otherwise a note says that it is lost. Services lose caches that the stack cannot
    have.
    """
    caches.settle(services, _namespace(services))
    tree = dict[str, Any]()
    notes = list[Note]()
    for converted in services:
        _merge(tree, converted.stack, Path(), notes, converted)
    written = dict[str, Any]()
    for converted in services:
        key = _free_key(converted, written)
        service = dict(converted.service)
        if key != converted.key:
            service = {"name": converted.key, **service}
        written[key] = {**_differences(converted.stack, tree), **service}
        _set_gateway(written[key], converted.stack, tree)
        notes += [*_moved_notes(converted, key), *_notes_of_others(converted, tree)]
    if written:
        tree["services"] = written
    return Assembled(cast("dict[str, Any]", _without_hidden(tree)), tuple(dict.fromkeys(notes)), tuple(written))


def _namespace(services: Sequence[Converted]) -> object:
    """Return the namespace of the stack: that of the first service that names one."""
    return next((service.stack["namespace"] for service in services if "namespace" in service.stack), None)


def _merge(tree: dict[str, Any], further: Mapping[str, Any], at: Path, notes: list[Note], converted: Converted) -> None:
    """Add the keys of a service's stack that are not there yet."""
    for key, value in further.items():
        if key not in tree:
            tree[key] = copy.deepcopy(value)
        elif key in _MAIN_KEYS and not at:
            continue
        elif isinstance(tree[key], dict) and isinstance(value, dict):
            _merge(tree[key], cast("dict[str, Any]", value), at / key, notes, converted)
        elif tree[key] != value:
            file = next((document.file for document in converted.documents), "")
            notes.append(Note(file, Path(), "cannot", f"{at / key}: {_DIFFERENT}", at / key))


def _notes_of_others(converted: Converted, tree: Mapping[str, Any]) -> Iterator[Note]:
    """Yield the notes about observability that other documents state, and that holds for this service too."""
    stated = mapping(converted.stack.get("observability"))
    for name in mapping(tree.get("observability")):
        if name not in stated and converted.documents:
            key = Path("observability", name)
            yield Note(converted.documents[0].file, Path(), "differs", f"{key}: {_OF_OTHERS}", key)


def _free_key(converted: Converted, written: Mapping[str, Any]) -> str:
    """Return a key that no other service has: the service's own, or one with its namespace or a number."""
    candidates = _candidates(converted)
    return next(key for key in candidates if key not in written)


def _candidates(converted: Converted) -> Iterator[str]:
    yield converted.key
    namespace = converted.stack.get("namespace")
    if isinstance(namespace, str) and namespace:
        yield f"{converted.key}-{namespace}"[:_LONGEST_NAME].rstrip("-")
    number = 2
    while True:
        yield f"{converted.key[: _LONGEST_NAME - 8]}-{number}"
        number += 1


def _differences(stack: Mapping[str, Any], tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a service for the namespace and release that it does not share with the stack."""
    return {key: stack[key] for key in ("namespace", "release") if key in stack and stack[key] != tree.get(key)}


def _set_gateway(service: dict[str, Any], stack: Mapping[str, Any], tree: Mapping[str, Any]) -> None:
    """Give a service its own gateway, or none, if the stack has another one."""
    if tree.get("gateway") == stack.get("gateway"):
        return
    if "gateway" in stack:
        service["route"] = {"gateway": stack["gateway"], **mapping(service.get("route"))}
    else:
        service["route"] = {"enabled": False}


def _moved_notes(converted: Converted, key: str) -> Iterator[Note]:
    """Yield the notes of a service's documents, with the keys under which the service and its variants are written."""
    written = Path("services", key)
    yield from _with_keys(converted, written)
    for variant, other in converted.variants.items():
        yield from _with_keys(other, written / variant)


def _with_keys(converted: Converted, written: Path) -> Iterator[Note]:
    before = converted.key_of()
    for document in converted.documents:
        for note in document.notes():
            if note.key is not None and note.key.is_within(before):
                yield replace(note, key=Path(*written, *note.key.below(before)))
            else:
                yield note


def _without_hidden(value: object) -> object:
    """Return a tree without the places of credentials."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: _without_hidden(inner) for key, inner in entries.items() if not _is_hidden(inner)}
    if isinstance(value, list):
        return [_without_hidden(inner) for inner in cast("list[Any]", value) if not _is_hidden(inner)]
    return value


def _is_hidden(value: object) -> bool:
    return isinstance(value, str) and HIDDEN in value
