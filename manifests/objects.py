"""An object that is ready to be registered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from models.paths import Path
from planning.ground.awaiting import PROVIDER_DEFAULT, Wait
from planning.ground.order import Id

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rendered:
    """One object: what it is, whose it is, and what exists before it."""

    id: Id
    manifest: Manifest
    suffix: str
    """Tail of the logical name below the component's; identity, so it never changes."""
    wait: Wait = PROVIDER_DEFAULT
    """What a deployment run waits for; the manifest's annotations say so, too."""
    after: tuple[Id, ...] = ()
    replace: bool = False
    """Whether a changed spec means another object: Kubernetes lets nobody change it."""
    ignore: tuple[str, ...] = ()
    """Fields that something in the cluster owns, which a deployment run leaves as they are."""
    retain: bool = False
    """Whether it stays in the cluster when it is no longer wanted."""
    protect: bool = False
    """Whether a run that would delete it is refused."""
    origins: Mapping[Path, Path] = field(default_factory=dict[Path, Path])
    """Paths in the manifest below which a user wrote everything, each with its path in the configuration."""

    @property
    def api(self) -> str:
        """Return `apiVersion/Kind`."""
        return f"{self.manifest['apiVersion']}/{self.manifest['kind']}"

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Return what makes the object one of its kind: API group, kind, namespace and name."""
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
    """Drop what is absent or empty: the provider compares custom resources literally, so an empty map is a change."""
    return {key: value for key, value in fields.items() if value not in (None, {}, [])}


def field_ref(path: str) -> dict[str, str]:
    """Return a reference to a field of the pod, with the version that the server would fill in.

    The reference is one atomic value to server-side apply: left to be defaulted, a second apply of the same object by
    another run (after a crash) would be a conflict.
    """
    return {"apiVersion": "v1", "fieldPath": path}
