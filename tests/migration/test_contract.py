"""Serving contracts: a converted ModelService serves as its operator's own objects do."""

import copy
import json
from pathlib import Path as File

import pytest

from cli import convert
from migration import contract, files
from tests.heritage.fidelity import canonical
from tests.heritage.fidelity.deviation import mapped
from tests.heritage.fidelity.mapping import DEVIATIONS
from tests.heritage.fidelity.scenarios import SCENARIOS

GOLD = File(__file__).with_name("samples") / "gold"
EXPECTED = {
    "min": [],
    # The note about spec.decode.parallelism.dataLocal: a pod cannot have more copies than its replica.
    "full": [
        "decode arguments: only ours: --data-parallel-size=4",
        "decode arguments: only theirs: --data-parallel-size-local=4",
        "decode arguments: only theirs: --data-parallel-size=3",
    ],
    # The notes about spec.routingProxy: a sidecar without prefill only passes requests on.
    "alt": [
        "decode arguments: only ours: --port=8080",
        "decode arguments: only theirs: --port=8201",
        "decode ports: only ours: 8080",
    ],
}
WORKLOADS = ("Deployment decode", "Deployment prefill")


def theirs(name):
    """Return the operator's own workloads of a scenario, which their fingerprints prove."""
    scenario = SCENARIOS[name]
    ours = scenario.ours()
    objects = [mapped(ours[part], part, name, DEVIATIONS) for part in WORKLOADS if part in scenario.fingerprints]
    prints = [scenario.fingerprints[part] for part in WORKLOADS if part in scenario.fingerprints]
    assert [canonical.fingerprint(manifest) for manifest in objects] == prints
    return json.loads(json.dumps(objects))


def converted(name):
    path = GOLD / f"{name}.yaml"
    sources = files.documents(path.read_text(encoding="utf-8"), path.name)
    operator = files.documents((GOLD / f"{name}-operator.yaml").read_text(encoding="utf-8"), "operator.yaml")
    return convert.convert(sources, operator)


def unannounced(name, objects):
    result = converted(name)
    compared = contract.differences(contract.contracts(result.objects), contract.contracts(objects), result.source)
    return [str(difference) for difference in compared if difference.reason is None]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_converted_service_serves_as_the_operators_objects(name):
    assert unannounced(name, theirs(name)) == EXPECTED[name]


def engine(objects):
    return objects[0]["spec"]["template"]["spec"]["containers"][0]


SEEDED = {
    "image": lambda objects: engine(objects).update(image="registry.example/other:1"),
    "arguments": lambda objects: engine(objects)["args"].append("--enforce-eager"),
    "environment": lambda objects: engine(objects)["env"].append({"name": "SEEDED", "value": "1"}),
    "devices": lambda objects: engine(objects)["resources"]["limits"].update({"nvidia.com/gpu": "7"}),
    "replicas": lambda objects: objects[0]["spec"].update(replicas=9),
    "nodes": lambda objects: objects[0]["spec"]["template"]["spec"].update(nodeSelector={"seeded": "1"}),
}


@pytest.mark.parametrize("part", SEEDED)
def test_a_change_of_the_operators_objects_is_seen(part):
    objects = copy.deepcopy(theirs("full"))
    SEEDED[part](objects)
    assert any(line.startswith(f"decode {part}: only theirs") for line in unannounced("full", objects))


def test_a_credential_of_a_rendering_is_not_shown():
    token = "hf_" + "aB3dE6gH9j" * 4
    objects = theirs("min")
    engine(objects)["env"].append({"name": "HF_TOKEN", "value": token})
    shown = unannounced("min", objects)
    assert any("HF_TOKEN" in line for line in shown)
    assert token not in "".join(shown)
