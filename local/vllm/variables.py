"""Values of environment variables that a container takes from its pod, or from an object of the cluster."""

from __future__ import annotations

import base64
import http
import json
import re
from typing import TYPE_CHECKING, Any

from local.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from local.cluster.api import Api

ENTRY = re.compile(r"(metadata\.(?:labels|annotations))\['([^']+)'\]")
"""Field of a pod that is one entry of a mapping."""


def value(api: Api, pod: Mapping[str, Any], item: Mapping[str, Any]) -> str | None:
    """Return the value of an item of `env` that has `valueFrom` (Kubernetes' API reference, EnvVarSource).

    None for an optional object or key that does not exist: kubelet leaves such a variable out. Raises LocalError for
    one that is not optional, and for a value that is no text.
    """
    source = item["valueFrom"]
    if "fieldRef" in source:
        return _field(pod, source["fieldRef"]["fieldPath"])
    for kind, plural in (("secretKeyRef", "secrets"), ("configMapKeyRef", "configmaps")):
        if kind in source:
            return _entry(api, pod["metadata"]["namespace"], plural, source[kind])
    raise LocalError(f"the value of {item['name']} is of a kind that is not read here: {', '.join(source)}")


def _field(pod: Mapping[str, Any], path: str) -> str:
    entry = ENTRY.fullmatch(path)
    keys = path.split(".")
    if entry:
        keys = [*entry[1].split("."), entry[2]]
    field: Any = pod
    for key in keys:
        field = field.get(key, {})
    return field or ""


def _entry(api: Api, namespace: str, plural: str, ref: Mapping[str, Any]) -> str | None:
    path = f"/api/v1/namespaces/{namespace}/{plural}/{ref['name']}"
    status, body = api.get(path)
    data = dict[str, str]()
    if status == http.HTTPStatus.OK:
        data = json.loads(body).get("data", {})
    if ref["key"] not in data:
        if ref.get("optional"):
            return None
        raise LocalError(f"{path} has no key {ref['key']}, which an engine needs; create it, and run `make try` again")
    if plural != "secrets":
        return data[ref["key"]]
    try:
        return base64.b64decode(data[ref["key"]]).decode()
    except UnicodeDecodeError:
        raise LocalError(f"{path} has bytes at key {ref['key']} that are no UTF-8; a variable is a text") from None
