"""A deployment run registers and exports what `cli render` prints, for every shipped stack and the same facts."""

import copy
import json

import pytest
import yaml

from facts import facts_file
from planning.ground.cluster_facts import Bundles, ClusterFacts, Gateways, LiveGateway, Routes, Served
from planning.routes import acceptance
from tests.support.commands import rendering
from tests.support.program import as_registered, run_whole
from tests.support.stacks import SHIPPED, plan, rendered, shipped


@pytest.fixture
def written(tmp_path):
    """Write a stack whose facts are those of a cluster that fits it; return its tree and both files."""

    def write(stack):
        facts = tmp_path / "facts.json"
        facts.write_text(facts_file.text(fitting(stack)))
        spec = {**stack.get("cluster", {}), "name": "c", "facts": {"type": "file", "path": str(facts)}}
        whole = {**stack, "cluster": spec}
        file = tmp_path / "stack.yaml"
        file.write_text(yaml.safe_dump({"config": {"inference-stacks:stack": whole}}, sort_keys=False))
        return whole, str(file), str(facts)

    return write


def fitting(stack):
    """Return facts of a cluster that has what a stack needs, every Gateway accepted."""
    gateways = sorted(acceptance.gateways(plan(stack).routes))
    return ClusterFacts(
        Served(frozenset(f"{each['apiVersion']}/{each['kind']}" for each in rendered(stack))),
        Gateways(tuple(LiveGateway(each, accepted=True, programmed=True) for each in gateways)),
        Routes(()),
        bundles=Bundles({}),
    )


def registered(run):
    """Return the objects that a run registered, by place."""
    found = [arguments.inputs for arguments in run.made.values() if "metadata" in arguments.inputs]
    return {place(manifest): manifest for manifest in found}


def place(manifest):
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def plain(manifest):
    """Return an object as mocks carry it: numbers as floats."""
    return json.loads(json.dumps(manifest), parse_int=float)


def differ(made, printed):
    return plain(made) != plain(as_registered(printed))


def differences(run, document):
    """Return the places of objects that only one of the two has, or that differ, and outputs that do."""
    made, printed = registered(run), {place(manifest): manifest for manifest in document["objects"]}
    both = made.keys() & printed.keys()
    objects = (made.keys() ^ printed.keys()) | {at for at in both if differ(made[at], printed[at])}
    return objects | {name for name in ("release", "factsDigest") if run.outputs[name] != document[name]}


def json_of(file, facts):
    return json.loads(rendering(file, "--json", "--facts", facts, "--as", "inference-stacks/dev"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_run_and_a_rendering_have_the_same_objects(path, written):
    stack, file, facts = written(shipped(path))
    run, document = run_whole(stack), json_of(file, facts)
    assert differences(run, document) == set()
    assert document["factsDigest"] is not None
    assert len(registered(run)) == len(document["objects"])


def test_a_step_that_only_one_of_them_has_is_noticed(written):
    stack, file, facts = written(shipped(SHIPPED[0]))
    run, document = run_whole(stack), json_of(file, facts)
    assert len(document["objects"]) > 1
    for index, manifest in enumerate(document["objects"]):
        other = copy.deepcopy(document)
        other["objects"][index]["metadata"]["labels"] = {"a": "step"}
        assert differences(run, other) == {place(manifest)}
        del other["objects"][index]
        assert differences(run, other) == {place(manifest)}
    assert differences(run, document | {"factsDigest": None}) == {"factsDigest"}
