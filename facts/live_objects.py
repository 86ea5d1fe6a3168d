"""Parser of a cluster's objects and of the owners of their fields. Its input is the JSON of the API server."""

from collections.abc import Mapping
from typing import Any

from planning.ground.api_groups import plural
from planning.ground.cluster_facts import FieldOwner, LiveObject, Place

_PULUMI = "pulumi-kubernetes"
"""Prefix in the names of Pulumi's field managers. Pulumi has one manager for all creations, and one for each object."""


def path(api: str, namespace: str) -> str:
    """Return the path of the objects of a kind (`apiVersion/Kind`); `namespace` is empty for cluster-scoped objects."""
    version, _, kind = api.rpartition("/")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{place}/{plural(kind)}"


def place(api: str, item: Mapping[str, Any]) -> Place:
    """Return group, kind, namespace and name of an item of a list. `api` gives group and kind, which items lack."""
    metadata = item["metadata"]
    return named_place(api, metadata.get("namespace", ""), metadata["name"])


def named_place(api: str, namespace: str, name: str) -> Place:
    """Return group, kind, namespace and name of an object of a kind (`apiVersion/Kind`)."""
    version, _, kind = api.rpartition("/")
    return version.rpartition("/")[0], kind, namespace, name


def live_object(item: Mapping[str, Any]) -> LiveObject:
    """Return an object and the owners of its fields.

    Owners of status fields are left out, except Pulumi's provider.
    """
    others = list[FieldOwner]()
    ours = list[Mapping[str, Any]]()
    for entry in item["metadata"].get("managedFields", ()):
        fields = entry.get("fieldsV1", {})
        if entry["manager"].startswith(_PULUMI):
            ours.append(fields)
        elif entry.get("subresource") != "status":
            others.append(FieldOwner(entry["manager"], entry.get("time", ""), fields))
    return LiveObject(item, tuple(others), tuple(ours))
