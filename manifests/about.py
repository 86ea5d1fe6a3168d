"""What every object of a variant says of itself: its name, its labels, and the annotations of whoever wrote it."""

from collections.abc import Mapping
from typing import Any

from manifests.objects import Manifest, Rendered, metadata
from planning.ground import labels
from planning.ground.order import Id
from planning.ground.parts import Part
from planning.plans import VariantPlan

MODEL_SERVER, PICKER, ROUTE = "model-server", "endpoint-picker", "route"
"""The components of a variant, as `app.kubernetes.io/component` has them."""
_NOTHING: Mapping[str, str] = {}


def rendered(variant: VariantPlan, part: Part, manifest: Manifest) -> Rendered:
    """Return an object of the variant that is the only one of its part."""
    return Rendered(Id(variant.owner, part), manifest, part.suffix)


def of(
    variant: VariantPlan,
    component: str,
    name: str,
    more: Mapping[str, str] = _NOTHING,
    annotations: Mapping[str, str] = _NOTHING,
) -> dict[str, Any]:
    """Return the metadata of an object in the variant's namespace, with `more` labels and annotations."""
    notes = {**variant.own_annotations, **annotations}
    return metadata(name, variant.names.namespace, marks(variant, component, above=more), notes)


def everywhere(variant: VariantPlan, component: str, name: str) -> dict[str, Any]:
    """Return the metadata of a cluster-scoped object."""
    return metadata(name, None, marks(variant, component), variant.own_annotations)


def marks(
    variant: VariantPlan, component: str, *, beneath: Mapping[str, str] = _NOTHING, above: Mapping[str, str] = _NOTHING
) -> dict[str, str]:
    """Return the labels of an object, or of pods: users' own, `beneath` over them, the recommended ones, `above`."""
    return {**labels.standard(variant.names.base, component, {**variant.own_labels, **beneath}), **above}
