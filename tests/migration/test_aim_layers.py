"""Values that several objects decide together."""

from migration import aim_layers
from migration.accounts import Original
from migration.aim_layers import LayeredPlace
from migration.fields import table
from models.paths import Path


def config(storage: object) -> Original:
    """Return a runtime config with a storage."""
    return Original("f", {"spec": {"storage": storage}}, table("aim-runtime-config"))


def places(*names: str | None) -> list[LayeredPlace]:
    """Return the places of storage classes, one in each document."""
    return [LayeredPlace(config({"defaultStorageClassName": name}), Path("spec", "storage")) for name in names]


def test_the_last_value_counts_and_the_others_are_dropped() -> None:
    """The notes say so in the documents that lose."""
    layers = [place / "defaultStorageClassName" for place in places("a", "b")]
    assert aim_layers.text(layers) == "b"
    assert [list(layer.document.fates().values()) for layer in layers] == [["dropped"], ["carried"]]


def test_an_empty_value_overrides_nothing_unless_it_is_alone() -> None:
    """A false or a zero of a namespace cannot override what the cluster says."""
    layers = [place / "defaultStorageClassName" for place in places("a", "", None)]
    assert aim_layers.last(layers) == layers[0]
    assert aim_layers.last(layers[1:]) == layers[1]
    assert aim_layers.last(layers[2:]) is None


def test_a_value_of_another_kind_is_none() -> None:
    """It is noted as lost at its place."""
    document = config({"pvcHeadroomPercent": "many"})
    assert aim_layers.number([LayeredPlace(document, Path("spec", "storage", "pvcHeadroomPercent"))]) is None
    assert list(document.fates().values()) == ["cannot"]


def test_items_are_places_of_their_own() -> None:
    """The items of a list, and none of anything else."""
    document = Original("f", {"spec": {"env": [{"name": "A"}, {"name": "B"}]}}, table("aim"))
    assert [(item / "name").value for item in LayeredPlace(document, Path("spec", "env")).items()] == ["A", "B"]
    assert LayeredPlace(document, Path("spec")).items() == []
