"""Reader of OtterScale's ModelServices."""

from collections.abc import Mapping, Sequence

from migration.accounts import Original
from migration.converted import Converted
from migration.names import sanitize_dns1035_label
from models.paths import Path

TABLES: Mapping[str, str] = {"model.otterscale.io/ModelService": "modelservice"}
COMPANIONS: Mapping[str, str] = {}
_SPEC = Path("spec")


def read(documents: Sequence[Original], companions: Sequence[Original]) -> list[Converted]:  # noqa: ARG001, a reader's signature
    """Return the service of each ModelService."""
    return [_service(document) for document in documents]


def _service(document: Original) -> Converted:
    name = document.text(Path("metadata", "name")) or "modelservice"
    converted = Converted(sanitize_dns1035_label(name), documents=(document,))
    converted.set_in_stack(document.text(Path("metadata", "namespace")), "namespace")
    converted.set(document.text(_SPEC / "model" / "name"), "model", "name")
    return converted
