"""Adapter that registers rendered objects with Pulumi, as the classes of Pulumi's Kubernetes SDK would."""

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi

from manifests.objects import Manifest, Rendered, resource_type
from planning.ground.order import Id

_SECRET_OUTPUTS = ["data", "stringData"]
"""Fields of a Secret that are encrypted in the state."""
_FORCED = {"pulumi.com/patchForce": "true"}
"""Annotation with which an update writes all fields of the manifest, even those that another field manager has changed.

Without this annotation, an update fails with a conflict if another field manager has changed one of these fields.
Fields that the manifest lacks, such as the replicas of an autoscaled workload, keep their values and managers.
"""


class ResourcesById(dict[Id, pulumi.Resource]):
    """Registered resources by id.

    All components of a stack share one mapping, because an object may depend on an object of another component.
    """

    def __init__(self, aliases: Mapping[Id, str]) -> None:
        """Make an empty mapping. `aliases` has former URNs of the objects that will be registered."""
        super().__init__()
        self._aliases = aliases

    def former(self, identity: Id) -> list[str] | None:
        """Return the former URN of an object that the state has under another URN."""
        alias = self._aliases.get(identity)
        return None if alias is None else [alias]


class KubernetesObject(pulumi.CustomResource):
    """An object of any kind. Its inputs are the fields of its manifest.

    Its resource type is that of the SDK's class for this kind. That class itself is not used: it would add nothing to
    the object, and importing the classes of the core group alone takes a third of a second in every command.
    """

    def __init__(self, name: str, manifest: Manifest, opts: pulumi.ResourceOptions) -> None:
        """Register the object under a logical name."""
        fields = dict[str, Any](manifest)
        if manifest["kind"] == "Secret":
            opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(additional_secret_outputs=_SECRET_OUTPUTS))
            fields |= {field: pulumi.Output.secret(fields[field]) for field in _SECRET_OUTPUTS if field in fields}
        super().__init__(resource_type(manifest), name, fields, opts)


def register(name: str, objects: Iterable[Rendered], registered: ResourcesById, opts: pulumi.ResourceOptions) -> None:
    """Register the objects of the component `name`, and add them to `registered`.

    The predecessors of an object must come earlier in `objects`, or be in `registered` already.
    """
    for rendered in objects:
        options = pulumi.ResourceOptions(
            aliases=registered.former(rendered.id),
            depends_on=[registered[predecessor] for predecessor in rendered.after],
            custom_timeouts=_timeouts(rendered.wait.seconds),
            replace_on_changes=["spec"] if rendered.replace else None,
            delete_before_replace=rendered.replace or rendered.delete_first or None,
            ignore_changes=list(rendered.ignore) or None,
            retain_on_delete=rendered.retain or None,
            protect=rendered.protect or None,
        )
        merged = pulumi.ResourceOptions.merge(opts, options)
        registered[rendered.id] = KubernetesObject(f"{name}-{rendered.suffix}", with_force(rendered.manifest), merged)


def with_force(manifest: Manifest) -> Manifest:
    """Return a manifest with the annotation in `_FORCED`. A value that the user wrote for this annotation remains."""
    metadata = manifest["metadata"]
    return {**manifest, "metadata": {**metadata, "annotations": {**_FORCED, **metadata.get("annotations", {})}}}


def _timeouts(seconds: int | None) -> pulumi.CustomTimeouts | None:
    if seconds is None:
        return None
    return pulumi.CustomTimeouts(create=f"{seconds}s", update=f"{seconds}s")
