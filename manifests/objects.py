"""Records of rendered objects, and helpers for manifests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from models.paths import Path
from planning.ground.awaiting import PROVIDER_DEFAULT, Wait
from planning.ground.order import Id

Manifest = Mapping[str, Any]
_ABSENT: tuple[object, ...] = (None, {}, [])
"""Values that stand for an absent field."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered object: identity, manifest, and how a run registers the object."""

    id: Id
    manifest: Manifest
    suffix: str
    """End of the logical name, after the name of the component. The suffix must never change, because Pulumi identifies
    the object by the logical name."""
    wait: Wait = PROVIDER_DEFAULT
    """How long and for which conditions a run waits for the object. Annotations of the manifest say the same."""
    replace: bool = False
    """Whether a change of the spec replaces the object. True if the API server refuses to change the object's spec."""
    delete_first: bool = False
    """Whether a replacement deletes the old object before it makes the new one. True if clients must never see both."""
    ignore: tuple[str, ...] = ()
    """Fields that no run changes, because controllers in the cluster write them."""
    retain: bool = False
    """Whether the object stays in the cluster after it is removed from the stack."""
    protect: bool = False
    """Whether a run fails if it would delete the object."""
    origins: Mapping[Path, Path] = field(default_factory=dict[Path, Path])
    """Fields of the manifest that come unchanged from the user's configuration. Keys are paths in the manifest, and
    values are paths in the configuration."""
    after: tuple[Id, ...] = ()
    """Ids of the objects that must exist before this object."""

    @property
    def api(self) -> str:
        """Return `apiVersion/Kind`."""
        return f"{self.manifest['apiVersion']}/{self.manifest['kind']}"

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Return API group, kind, namespace and name. They identify the object in a cluster."""
        group = self.manifest["apiVersion"].rpartition("/")[0]
        metadata = self.manifest["metadata"]
        return group, self.manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def resource_type(manifest: Manifest) -> str:
    """Return the Pulumi type of an object. Pulumi's SDK calls the API group without a name `core`."""
    version = str(manifest["apiVersion"])
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{manifest['kind']}"


def metadata(
    name: str,
    namespace: str | None,
    labels: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return an object's metadata without empty fields. Annotations are sorted."""
    fields: dict[str, Any] = {"name": name}
    if namespace:
        fields["namespace"] = namespace
    if labels:
        fields["labels"] = labels
    if annotations:
        fields["annotations"] = sort_keys(annotations)
    return fields


def sort_keys(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping sorted by key, so that its text does not depend on the order in which a user wrote it."""
    return dict(sorted(mapping.items()))


def compact(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without those that are None, an empty mapping or an empty list.

    The provider compares custom resources literally: an empty map in a manifest would show as a change in every run.
    """
    return {key: value for key, value in fields.items() if value or value not in _ABSENT}


def field_ref(path: str) -> dict[str, str]:
    """Return a reference to a field of the pod, with the `apiVersion` that the API server would add.

    Server-side apply compares the whole reference as one value. Without the version, the manifest's reference would
    differ from the cluster's reference. A run that applies the object again after a crash would then get a conflict.
    """
    return {"apiVersion": "v1", "fieldPath": path}
