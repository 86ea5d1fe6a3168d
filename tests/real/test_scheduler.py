"""The check of capacity agrees with the real scheduler: pods that fit start, and of others a pod stays pending."""

import json
import os

import pytest

from judging.report.packing import Tightness
from tests.support.cluster.server import read
from tests.support.scheduling import NAMESPACE, SEED, node_objects, scene, settled, verdicts

pytestmark = pytest.mark.real

SEEDS = int(os.environ.get("SCHEDULER_SEEDS", "30"))


def apply(plane, items, *more):
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    if items:
        plane.kubectl("apply", "--server-side", "--filename=-", *more, input=document)


@pytest.fixture(scope="module")
def answers(plane):
    """Return each scene whose old pods all run, with these pods, and the number of new pods that have no node.

    The new pods are applied beside the old ones. Nodes and pods are gone afterwards.
    """
    scenes = [scene(seed) for seed in range(SEEDS)]
    nodes = [node for each in scenes for node in node_objects(each)]
    apply(plane, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *nodes])
    apply(plane, nodes, "--subresource=status", "--force-conflicts")
    old = placed(plane, {each.seed: each.old_pods() for each in scenes}, "age=old")
    whole = [each for each in scenes if not pending(old[each.seed])]
    new = placed(plane, {each.seed: each.new_pods() for each in whole}, "age=new")
    yield [(each, old[each.seed], pending(new[each.seed])) for each in whole]
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    plane.kubectl("delete", "node", "-l", SEED, "--wait=false")


def placed(plane, pods, selector):
    """Apply the pods of each seed, and return them once the scheduler has looked at all of them."""
    everything = [pod for found in pods.values() for pod in found]
    apply(plane, everything)
    found = settled(lambda label: read(plane, "pods", NAMESPACE, label), selector, len(everything))
    return {seed: [pod for pod in found if pod["metadata"]["labels"][SEED] == str(seed)] for seed in pods}


def pending(pods):
    return sum(not pod["spec"].get("nodeName") for pod in pods)


def disagreements(answers, *, is_open=False):
    """Yield where the scheduler does otherwise than the verdict says. Pods that fit only if packed tightly may wait."""
    for each, old, number in answers:
        verdict = verdicts(each.capacity(old, is_open=is_open)) or {Tightness.FITS}
        if verdict == {Tightness.FITS} and number:
            yield f"seed {each.seed}: fits, and {number} are pending"
        if Tightness.SHORT in verdict and not number:
            yield f"seed {each.seed}: does not fit, and none is pending"


def test_the_verdict_on_capacity_is_that_of_the_scheduler(answers):
    assert [*disagreements(answers)] == []
    found = [verdict for each, old, _ in answers for verdict in verdicts(each.capacity(old))]
    assert min(found.count(Tightness.FITS), found.count(Tightness.SHORT)) >= SEEDS // 10
    assert found.count(Tightness.TIGHT) <= SEEDS // 10


def test_the_scheduler_refutes_a_verdict_that_leaves_out_taints_or_what_others_have(answers):
    """Negative control."""
    assert [*disagreements(answers, is_open=True)] != []
    assert [*disagreements((each, [], number) for each, _, number in answers)] != []


def test_scenes_have_all_verdicts():
    found = [verdicts(scene(seed).capacity(())) for seed in range(30)]
    assert {verdict for each in found for verdict in each} == set(Tightness)
