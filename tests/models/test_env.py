"""Values of environment variables are text, or name one source in the shape of Kubernetes."""

import re

import pytest
from pydantic import TypeAdapter, ValidationError

from models.base import Spec
from models.env import EnvName, EnvValue
from planning.ground import environment

FROM_SECRET = {"secretKeyRef": {"name": "hf", "key": "token"}}


class Engine(Spec):
    env: dict[EnvName, EnvValue]


def errors(env):
    with pytest.raises(ValidationError) as error:
        Engine.model_validate({"env": env})
    return [(detail["type"], detail["loc"]) for detail in error.value.errors()]


def test_values_come_in_kubernetes_shape():
    spec = Engine.model_validate(
        {
            "env": {
                "TEXT": "",
                "TOKEN": {"secretKeyRef": {"name": "hf", "key": "a.b-c", "optional": False}},
                "LEVEL": {"configMapKeyRef": {"name": "settings", "key": "LEVEL", "optional": True}},
                "IP": {"fieldRef": {"fieldPath": "status.podIP"}},
                "TEAM": {"fieldRef": {"fieldPath": "metadata.labels['acme.example/team']"}},
                "MEMORY": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
            }
        }
    )
    assert environment.values(spec.env) == {
        "TEXT": "",
        "TOKEN": {"secretKeyRef": {"name": "hf", "key": "a.b-c"}},
        "LEVEL": {"configMapKeyRef": {"name": "settings", "key": "LEVEL", "optional": True}},
        "IP": {"fieldRef": {"fieldPath": "status.podIP"}},
        "TEAM": {"fieldRef": {"fieldPath": "metadata.labels['acme.example/team']"}},
        "MEMORY": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
    }


@pytest.mark.parametrize("value", [4, 0.5, True, ["x"]])
def test_what_is_neither_text_nor_a_reference_is_one_error(value):
    assert errors({"OMP_NUM_THREADS": value}) == [("string_type", ("env", "OMP_NUM_THREADS"))]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({}, [("problem", ())]),
        ({**FROM_SECRET, "fieldRef": {"fieldPath": "status.podIP"}}, [("problem", ())]),
        ({"secretKeyRf": {}}, [("extra_forbidden", ("secretKeyRf",))]),
        ({"secretKeyRef": {"name": "hf"}}, [("missing", ("secretKeyRef", "key"))]),
        ({"secretKeyRef": {"name": "HF!", "key": "x"}}, [("problem", ("secretKeyRef", "name"))]),
        ({"secretKeyRef": {"name": "hf", "key": "a/b"}}, [("problem", ("secretKeyRef", "key"))]),
        ({"fieldRef": {"fieldPath": "spec.containers"}}, [("problem", ("fieldRef", "fieldPath"))]),
        ({"resourceFieldRef": {"resource": "limits.gpu"}}, [("problem", ("resourceFieldRef", "resource"))]),
    ],
)
def test_a_mistaken_reference_is_one_error_where_it_stands(value, found):
    assert errors({"TOKEN": value}) == [(kind, ("env", "TOKEN", *at)) for kind, at in found]


def test_a_name_that_no_shell_takes_is_refused():
    assert errors({"MY-VAR": "x"}) == [("problem", ("env", "MY-VAR", "[key]"))]


def test_the_schema_offers_text_and_references():
    schema = TypeAdapter(EnvValue).json_schema()
    assert [set(option) for option in schema["anyOf"]] == [{"type"}, {"$ref"}]
    assert set(schema["$defs"]["EnvSource"]["properties"]) == {
        "secretKeyRef",
        "configMapKeyRef",
        "fieldRef",
        "resourceFieldRef",
    }
    pattern = schema["$defs"]["FieldRef"]["properties"]["fieldPath"]["pattern"]
    assert re.search(pattern, "metadata.annotations['a']") is not None
    assert re.search(pattern, "metadata.name2") is None
