"""Reading of several facts within one deadline. If a read fails, other reads may still succeed."""

import http
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from facts import hosts
from facts.connection import Connection, RefusedError, UnreachableError, connect
from facts.kubeconfig import KubeAccess, KubeconfigError, UnsupportedError
from planning.ground.cluster_facts import Unknown

Reader = Callable[[Connection], Any]
"""A function that reads one fact, with any number of requests."""

_ATTEMPTS = 3
_PAUSE_SECONDS = 0.5
"""Pause between two attempts. A read is repeated, because one broken connection says nothing about the cluster."""
_JSON = "application/json"
_PAGE = "500"
"""Objects in one page of a list."""
_NONE: Mapping[str, str] = {}


def read_within(seconds: float, access: KubeAccess, readers: Mapping[str, Reader]) -> dict[str, Any]:
    """Run readers in their order and return their results by name. A failed read does not raise; it gives `Unknown`.

    Facts that are not read within `seconds` are `Unknown`. The deadline also limits credential plugins, which have no
    time limit themselves. The readers run in a daemon thread, so that the program can end while a plugin hangs.
    In an offline run, all facts are `Unknown`, and no plugin runs.
    """
    if hosts.is_offline():
        return {name: Unknown("this run is offline") for name in readers}
    results = queue.SimpleQueue[tuple[str, Any]]()

    def run() -> None:
        for result in _results(access, readers, seconds):
            results.put(result)

    threading.Thread(target=run, daemon=True).start()
    values = dict[str, Any]()
    end = time.monotonic() + seconds
    while len(values) < len(readers):
        try:
            name, value = results.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            break
        values[name] = value
    late = Unknown(f"the cluster did not answer within {seconds} seconds")
    return {name: values.get(name, late) for name in readers}


def items(
    api: Connection,
    path: str,
    accepted: str = _JSON,
    selector: Mapping[str, str] = _NONE,
    options: Mapping[str, str] = _NONE,
) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list, page by page.

    `selector` maps labels to values; an empty value selects objects with any value of the label. `options` are further
    parameters of the request, such as `fieldSelector`, or `limit`, the number of objects in one page.
    """
    label_query = ",".join(f"{key}={value}" if value else key for key, value in selector.items())
    selection = {"labelSelector": label_query} if label_query else {}
    query = {"limit": _PAGE, **selection, **options}
    while True:
        page = api.get(path, accepted, query)
        # If a list of metadata is empty, the API server writes null for `items`.
        yield from page["items"] or ()
        token = page.get("metadata", {}).get("continue", "")
        if not token:
            return
        query["continue"] = token


def item(api: Connection, path: str, accepted: str = _JSON) -> Mapping[str, Any] | None:
    """Return one object; None if it does not exist."""
    try:
        return api.get(path, accepted)
    except RefusedError as error:
        if error.status != http.HTTPStatus.NOT_FOUND:
            raise
        return None


def _results(access: KubeAccess, readers: Mapping[str, Reader], seconds: float) -> Iterator[tuple[str, Any]]:
    """Yield the result of each reader. After a failed read, the next reader gets a new connection.

    If the first read fails, or no connection can be made, all results that are still missing are `Unknown` for the same
    reason.
    """
    pending = list(readers)
    attempts = 0
    is_connected = False
    while pending:
        try:
            with connect(access, seconds) as api:
                is_connected = True
                while pending:
                    result = _unless_refused(readers[pending[0]], api)
                    attempts = 0
                    yield pending.pop(0), result
        except Exception as error:  # noqa: BLE001, every failure is the same fact: unknown, with a reason
            attempts += 1
            if attempts < _ATTEMPTS and _may_pass(error):
                time.sleep(_PAUSE_SECONDS)
                continue
            is_general = not is_connected or isinstance(error, UnreachableError) or len(pending) == len(readers)
            failed = pending[:1]
            if is_general:
                failed = pending
            yield from ((name, Unknown(f"the cluster could not be read ({_reason(error)})")) for name in failed)
            pending = pending[len(failed) :]
            attempts = 0


def _unless_refused(reader: Reader, api: Connection) -> Any:  # noqa: ANN401, any fact
    """Run a reader. If the API server refuses, for example because the user lacks a permission, return `Unknown`.

    An answer with status 500 or higher raises `RefusedError`, so that the read is repeated.
    """
    try:
        return reader(api)
    except RefusedError as error:
        if error.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        return Unknown(f"the cluster could not be read ({error})")


def _may_pass(error: Exception) -> bool:
    """Tell whether a read may succeed if it is repeated. A malformed answer or kubeconfig would be malformed again."""
    lasting = ArithmeticError | AttributeError | LookupError | TypeError | ValueError | KubeconfigError
    return not isinstance(error, lasting)


def _reason(error: Exception) -> str:
    """Return the text of an error, or its class name if the text may contain a credential."""
    if isinstance(error, RefusedError | UnreachableError | UnsupportedError):
        return str(error)
    return type(error).__name__
