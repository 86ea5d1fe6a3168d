"""Reader of the last lines of pods' logs."""

import http
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from facts.connection import Connection, RefusedError
from facts.kubeconfig import KubeAccess
from facts.reading import Reader, read_within
from planning.ground.cluster_facts import Unknown

_DEADLINE_SECONDS = 15
_LINES = 20
"""Number of lines that are read of a log."""


class LogPlace(NamedTuple):
    """The place of a log."""

    namespace: str
    pod: str
    container: str
    """Name of the container; empty for the first."""


def read(access: KubeAccess, places: Mapping[str, LogPlace]) -> dict[str, Sequence[str]]:
    """Return the last lines of logs, by the keys of `places`. If a log cannot be read, its only line says why.

    The log of the container's former run is returned if there is one: it says why the container ended.
    """
    readers: dict[str, Reader] = {key: partial(_lines, place=place) for key, place in places.items()}
    results = read_within(_DEADLINE_SECONDS, access, readers)
    return {key: _or_reason(result) for key, result in results.items()}


def _lines(api: Connection, place: LogPlace) -> Sequence[str]:
    path = f"/api/v1/namespaces/{place.namespace}/pods/{place.pod}/log"
    query = {"tailLines": str(_LINES)}
    if place.container:
        query["container"] = place.container
    try:
        return api.text(path, {**query, "previous": "true"}).splitlines()
    except RefusedError as error:
        # Status 400: the container has not ended before (kubernetes v1.36, pkg/kubelet/kubelet_pods.go).
        if error.status != http.HTTPStatus.BAD_REQUEST:
            raise
        return api.text(path, query).splitlines()


def _or_reason(result: Sequence[str] | Unknown) -> Sequence[str]:
    if isinstance(result, Unknown):
        return [f"no log: {result.reason}"]
    return result
