"""The outputs, key by key: other programs read them."""

import copy
import importlib.util
import json
from pathlib import Path

import jsonschema_rs
import pytest

from cli import schema
from planning import outputs
from planning.ground import contract
from tests.support.stacks import PIN, SHIPPED, plan, shipped, tree
from tests.support.stacks.varied import VARIED

VERSIONS = Path("tests/contracts/outputs")
READER = Path("reader/inference_stacks_outputs.py")

PRIMARY = {
    "pool": {"group": "inference.networking.k8s.io", "name": "qwen"},
    "objectives": [],
    "serviceHost": "qwen.models.svc.cluster.local:8000",
    "endpointPickerHost": "qwen-epp.models.svc.cluster.local:9002",
    "roles": {
        "decode": {
            "workload": {"kind": "Deployment", "name": "qwen-decode"},
            "scaling": {"type": "fixed", "replicas": 1},
            "gpus": {
                "class": "nvidia",
                "vendor": "nvidia",
                "product": None,
                "perReplica": 1,
                "max": 1,
            },
        }
    },
    "profiles": {},
}


def test_the_outputs_are_the_contract():
    """See defects C14."""
    stack = tree(qwen={"route": {"hostnames": ["b.example.com", "a.example.com"]}})
    stack["gateway"] |= {"port": 443, "sectionName": "https"}
    assert outputs.of_stack(plan(stack), None) == {
        "contractVersion": 2,
        "release": "llm-d-0.9",
        "factsDigest": None,
        "services": {
            "qwen": {
                "name": "qwen",
                "namespace": "models",
                "model": {
                    "name": "org/model",
                    "source": f"kit://registry.example/org/model@{PIN}",
                    "digest": PIN,
                    "revision": None,
                    "locked": None,
                    "lockedAdapters": {},
                },
                "urls": ["https://a.example.com/models/qwen", "https://b.example.com/models/qwen"],
                "paths": ["/models/qwen"],
                "hostnames": ["a.example.com", "b.example.com"],
                "gateway": {"name": "gateway", "namespace": "gateways", "sectionName": "https"},
                "weight": 100,
                "primary": PRIMARY,
                "canary": None,
                "profile": None,
                "interceptor": None,
                "awaited": ["endpointPicker", "pool", "replicas", "workload"],
                "warnings": [],
            }
        },
    }


def varied():
    """Return outputs with everything that a service can have."""
    scaled = {"type": "hpa", "maxReplicas": 3, "metrics": [{"type": "queue-size", "target": 5}]}
    qwen = {
        "model": {"name": "org/model", "source": "hf://org/model@c1899de289a04d12100db370d81485cdf75e47ca"},
        "canary": {"weight": 10, "replicas": 2},
        "objectives": {"batch": {"priority": -1}},
        "route": {"hostnames": ["llm.example.com"]},
        "interceptor": {"enabled": False},
    }
    stack = tree(qwen=qwen, bert={"autoscaling": scaled}, cpu={"accelerator": "cpu", "route": {"enabled": False}})
    stack["gateway"] |= {"port": 443, "sectionName": "https"}
    stack |= {"interceptor": {"mode": "label", "namespace": "metering"}}
    return json.loads(json.dumps(outputs.of_stack(plan(stack), "0123456789abcdef", {"qwen"})))


def test_a_version_of_the_contract_stays_as_it_is(golden):
    golden(VERSIONS / f"v{contract.VERSION}.json", json.dumps(varied(), indent=2) + "\n")
    assert sorted(path.name for path in VERSIONS.iterdir()) == [f"v{n}.json" for n in range(1, contract.VERSION + 1)]


def validator():
    return jsonschema_rs.validator_for(schema.KINDS["outputs"]())


@pytest.mark.parametrize("stack", [*map(shipped, SHIPPED), *VARIED.values()])
def test_the_schema_of_outputs_takes_those_of_every_stack(stack):
    validator().validate(json.loads(json.dumps(outputs.of_stack(plan(stack), None))))


def test_the_schema_of_outputs_is_exact_but_for_keys_that_come_later():
    found = varied()
    validator().validate(found | {"later": 1})
    assert not validator().is_valid(json.loads((VERSIONS / "v1.json").read_text(encoding="utf-8")))
    for key in found["services"]["qwen"]:
        without = copy.deepcopy(found)
        del without["services"]["qwen"][key]
        assert not validator().is_valid(without), key


def test_every_key_of_the_outputs_is_described():
    tree = schema.KINDS["outputs"]()
    properties = [
        property_schema
        for name, node in tree["$defs"].items()
        if name != "Gpus"
        for property_schema in node["properties"].values()
    ]
    assert all(property_schema.get("description") for property_schema in [*properties, *tree["properties"].values()])


def reader():
    """Load the reader as a program would that has copied it: without this project."""
    spec = importlib.util.spec_from_file_location("copied", READER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reader_needs_the_standard_library_alone():
    lines = [line for line in READER.read_text(encoding="utf-8").splitlines() if line.startswith(("import", "from"))]
    assert lines == ["from collections.abc import Mapping", "from typing import Any"]
    assert reader().VERSION == contract.VERSION
    assert {*reader().NAMES} == {*schema.KINDS["outputs"]()["properties"]}


def test_the_reader_reads_what_the_engine_hands_over():
    found = varied()
    assert (found["services"]["qwen"]["model"]["digest"], found["services"]["qwen"]["canary"]["weight"]) == (None, 10)
    fractions = json.loads(json.dumps(found), parse_int=float)
    read = reader().read(fractions | {"later": 1}, "organization/inference-stacks/prod")
    assert read == found
    assert type(read["services"]["qwen"]["canary"]["weight"]) is int
    assert reader().service(read, "qwen")["name"] == "qwen"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"contractVersion": None}, "prod has no output contractVersion; name a stack of Inference Stacks on which"),
        ({"contractVersion": "2"}, "prod has a contractVersion that is no number; name a stack of Inference Stacks"),
        ({"contractVersion": 1.0}, "prod follows version 1 of the contract, but this file reads version 2; deploy"),
        (
            {"contractVersion": 3},
            "prod follows version 3 of the contract, but this file reads version 2; use the newer",
        ),
        ({"services": None}, "prod lacks outputs (services); run `pulumi up` on it again"),
    ],
)
def test_the_reader_tells_what_to_do_about_another_contract(changed, message):
    copied = reader()
    with pytest.raises(copied.ContractError) as error:
        copied.read(varied() | changed, "prod")
    assert str(error.value).startswith(message)


def test_the_reader_tells_which_services_there_are():
    copied = reader()
    with pytest.raises(copied.ContractError, match="prod has no service llama; it has bert, cpu, qwen"):
        copied.service(varied(), "llama", "prod")
