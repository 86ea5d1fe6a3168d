"""Keys that a reader sets."""

from migration.converted import Converted, set_value
from models.paths import Path


def test_keys_of_the_service_and_of_the_stack_are_apart():
    converted = Converted("chat")
    converted.set(2, "replicas")
    converted.enable("model", "insecure")
    converted.disable("endpointPicker", "enabled")
    converted.set_in_stack("ml", "namespace")
    assert converted.service == {
        "replicas": 2,
        "model": {"insecure": True},
        "endpointPicker": {"enabled": False},
    }
    assert converted.stack == {"namespace": "ml"}
    assert converted.key_of("model") == Path("services", "chat", "model")


def test_none_sets_nothing_and_a_value_makes_way_for_keys():
    tree = {"a": 1}
    set_value(tree, None, "b", "c")
    set_value(tree, 2, "a", "b")
    assert tree == {"a": {"b": 2}}
