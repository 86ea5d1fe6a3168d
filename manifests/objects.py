"""Records of rendered objects, and helpers for manifests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from models.paths import Path
from planning.ground.awaiting import PROVIDER_DEFAULT, Wait
from planning.ground.order import Id

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered object: identity, manifest, and how a run registers it."""

    id: Id
    manifest: Manifest
    suffix: str
    """Tail of the logical name after the component's. It identifies the object, so it must never change."""
    wait: Wait = PROVIDER_DEFAULT
    """Wait of a run for this object; the manifest has the same as annotations."""
    after: tuple[Id, ...] = ()
    """Objects that exist before this one."""
    replace: bool = False
    """Whether a change of the spec replaces the object, because the spec is immutable."""
    ignore: tuple[str, ...] = ()
    """Fields that controllers in the cluster own, and that a run leaves alone."""
    retain: bool = False
    """Whether it stays in the cluster after it is removed from the stack."""
    protect: bool = False
    """Whether runs that would delete it fail."""
    origins: Mapping[Path, Path] = field(default_factory=dict[Path, Path])
    """Paths in the manifest whose whole content a user wrote, each with its path in the configuration."""

    @property
    def api(self) -> str:
        """Return `apiVersion/Kind`."""
        return f"{self.manifest['apiVersion']}/{self.manifest['kind']}"

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Return API group, kind, namespace and name, which identify the object in a cluster."""
        group = self.manifest["apiVersion"].rpartition("/")[0]
        metadata = self.manifest["metadata"]
        return group, self.manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def metadata(
    name: str,
    namespace: str | None,
    labels: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return an object's metadata without empty parts."""
    return compact({"name": name, "namespace": namespace, "labels": dict(labels), "annotations": annotations})


def compact(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Drop absent and empty fields. The provider compares custom resources literally, so an empty map is a change."""
    return {key: value for key, value in fields.items() if value not in (None, {}, [])}


def field_ref(path: str) -> dict[str, str]:
    """Return a reference to a field of the pod, with the version that the API server would add.

    To server-side apply the reference is atomic. Without the version, a second apply of the same object by another run
    (after a crash) would be a conflict.
    """
    return {"apiVersion": "v1", "fieldPath": path}
