"""Sets of custom resource definitions (CRDs) that a cluster may need, and the commands that install the sets."""

from pydantic import Field

from models.base import Spec
from planning.ground import tables


class Bundle(Spec):
    """A set of CRDs that are installed together."""

    name: str
    version: str
    """Version of the software that provides the kinds."""
    install: str
    """Command that installs the CRDs."""
    kinds: list[str]
    """Kinds as `apiVersion/Kind`."""
    definition: str | None = None
    """Name of a CRD with an annotation that states the bundle's installed version; None if there is no such CRD."""
    source: str


class _Bundles(Spec):
    bundles: list[Bundle] = Field(default=[])


def versioned_definitions() -> tuple[str, ...]:
    """Return the names of the CRDs with an annotation that states the installed version of their bundle."""
    return tuple(bundle.definition for bundle in all_bundles() if bundle.definition is not None)


def all_bundles() -> list[Bundle]:
    """Return every bundle."""
    return tables.read(_Bundles, "bundles.yaml").bundles
