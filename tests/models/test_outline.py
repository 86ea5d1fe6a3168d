"""An outline has what a selection of profiles needs, and leaves invalid values out."""

from models.outline import Outline
from models.paths import Path

QWEN = Path("services", "qwen")


def outline(**keys):
    return Outline.of({"services": {"qwen": {"model": {"name": "Qwen/Qwen3-8B"}} | keys}})


def test_keys_that_no_selection_needs_are_ignored_even_if_they_are_wrong():
    found = outline(replicas="many", model={"name": "Qwen/Qwen3-8B", "size": []})
    assert found.mistakes == ()
    assert found.stack.services["qwen"].model.name == "Qwen/Qwen3-8B"


def test_an_invalid_value_is_left_out_and_its_siblings_stay():
    found = outline(selection={"metric": "speed", "precision": "fp8"}, accelerator=5)
    assert set(found.mistakes) == {QWEN / "selection" / "metric", QWEN / "accelerator"}
    assert found.stack.services["qwen"].selection.precision == "fp8"
    assert found.stack.services["qwen"].accelerator is None
    assert found.is_mistaken(QWEN / "selection")
    assert not found.is_mistaken(QWEN / "model")


def test_invalid_entries_of_a_list_are_left_out():
    found = Outline.of({"catalogue": {"files": [1, "a.yaml", None, "b.yaml"]}})
    assert found.stack.catalogue.files == ("a.yaml", "b.yaml")


def test_a_class_with_an_invalid_key_is_no_class_and_leaves_others():
    found = Outline.of({"accelerators": {"whole": {"vendor": "cpu"}, "wrong": {"vendor": "No Vendor", "product": "x"}}})
    assert list(found.classes) == ["whole"]
    assert found.is_mistaken(Path("accelerators"))


def test_the_tree_is_not_changed():
    tree = {"services": {"qwen": {"accelerator": 5}}}
    Outline.of(tree)
    assert tree == {"services": {"qwen": {"accelerator": 5}}}
