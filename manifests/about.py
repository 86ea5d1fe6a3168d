"""Metadata of a variant's objects: names, labels and annotations."""

from collections.abc import Mapping
from typing import Any

from manifests import objects
from manifests.objects import Manifest, Rendered
from planning.ground import labels
from planning.ground.order import Id
from planning.ground.parts import Part
from planning.plans import VariantPlan

MODEL_SERVER = "model-server"
"""Value of the label `app.kubernetes.io/component` for serving pods and what belongs to them."""
PICKER = "endpoint-picker"
ROUTE = "route"
RULES = "rules"
_EMPTY: Mapping[str, str] = {}


def part_object(variant: VariantPlan, part: Part, manifest: Manifest, set_name: str = "") -> Rendered:
    """Return a manifest as the variant's object for a part.

    A variant must have at most one object of this part, or one for each set of pods. `set_name` is empty if the object
    belongs to no set.
    """
    return Rendered(Id(variant.owner, part, set_name), manifest, part.suffix_of(set_name))


def metadata(
    variant: VariantPlan,
    component: str,
    name: str,
    more_labels: Mapping[str, str] = _EMPTY,
    annotations: Mapping[str, str] = _EMPTY,
) -> dict[str, Any]:
    """Return the metadata of an object in the variant's namespace. `more_labels` and `annotations` are added to it."""
    merged = {**variant.user_annotations, **annotations}
    return objects.metadata(
        name, variant.names.namespace, object_labels(variant, component, override=more_labels), merged
    )


def cluster_metadata(variant: VariantPlan, component: str, name: str) -> dict[str, Any]:
    """Return the metadata of a cluster-scoped object."""
    return objects.metadata(name, None, object_labels(variant, component), variant.user_annotations)


def object_labels(
    variant: VariantPlan, component: str, *, base: Mapping[str, str] = _EMPTY, override: Mapping[str, str] = _EMPTY
) -> dict[str, str]:
    """Return the labels of an object or of pods.

    They are merged in this order, and later labels override earlier ones: the user's labels, `base`, Kubernetes'
    recommended labels, `override`.
    """
    standard = labels.standard(variant.names.base, component, {**variant.user_labels, **base})
    return {**standard, **override}
