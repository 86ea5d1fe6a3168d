"""Reader of single objects of any kind, and of the objects with some labels. What cannot be read says why."""

import http
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from facts import live_objects
from facts.connection import Connection, RefusedError
from facts.kubeconfig import KubeAccess
from facts.reading import Reader, item, items, read_within
from planning.ground.cluster_facts import Unknown

Manifest = Mapping[str, Any]
Key = TypeVar("Key")
_Answer = TypeVar("_Answer")
_REFUSALS = frozenset({http.HTTPStatus.FORBIDDEN, http.HTTPStatus.UNAUTHORIZED})


class Forbidden(NamedTuple):
    """A read that the user has no right to."""

    verb: str
    api: str
    """Kind, as `apiVersion/Kind`."""
    namespace: str
    """Empty for cluster-scoped objects."""
    name: str
    """Empty for a list."""


def objects(
    access: KubeAccess, searches: Mapping[Key, Sequence[tuple[str, str, str]]], seconds: float
) -> dict[Key, Manifest | Forbidden | Unknown | None]:
    """Read an object for each key: the first one that exists of some places; None if none does.

    A place is kind (`apiVersion/Kind`), namespace and name. The namespace of a cluster-scoped object is empty. A place
    that may not be read ends the search. A failed read does not raise.
    """
    return _read(access, {key: partial(_first, places=places) for key, places in searches.items()}, seconds)


def lists(
    access: KubeAccess, selections: Mapping[Key, tuple[str, str, Sequence[tuple[str, str]]]], seconds: float
) -> dict[Key, Sequence[Manifest] | Forbidden | Unknown]:
    """Read the objects with some labels for each key. A failed read does not raise.

    A selection is kind (`apiVersion/Kind`), namespace and labels. An empty value of a label stands for any.
    """
    return _read(access, {key: partial(_list, selection=selection) for key, selection in selections.items()}, seconds)


def _read(access: KubeAccess, readers: Mapping[Key, Callable[[Connection], _Answer]], seconds: float) -> dict[Key, Any]:
    numbered: dict[str, Reader] = {str(number): reader for number, reader in enumerate(readers.values())}
    answers = read_within(seconds, access, numbered)
    return {key: answers[str(number)] for number, key in enumerate(readers)}


def _first(api: Connection, places: Sequence[tuple[str, str, str]]) -> Manifest | Forbidden | None:
    for kind, namespace, name in places:
        try:
            manifest = item(api, f"{live_objects.path(kind, namespace)}/{name}")
        except RefusedError as error:
            if error.status not in _REFUSALS:
                raise
            return Forbidden("get", kind, namespace, name)
        if manifest is not None:
            return _with_kind(kind, manifest)
    return None


def _list(api: Connection, selection: tuple[str, str, Sequence[tuple[str, str]]]) -> Sequence[Manifest] | Forbidden:
    kind, namespace, labels = selection
    try:
        return [
            _with_kind(kind, manifest)
            for manifest in items(api, live_objects.path(kind, namespace), selector=dict(labels))
        ]
    except RefusedError as error:
        if error.status == http.HTTPStatus.NOT_FOUND:
            return []
        if error.status not in _REFUSALS:
            raise
        return Forbidden("list", kind, namespace, "")


def _with_kind(api: str, manifest: Manifest) -> Manifest:
    """Return an object with its kind, which items of lists lack. Raises TypeError if it is none."""
    if not isinstance(manifest["metadata"]["name"], str):
        raise TypeError
    version, _, kind = api.rpartition("/")
    return {"apiVersion": version, "kind": kind, **manifest}
