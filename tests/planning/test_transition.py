"""A preview says when pods that cannot share a cache come up beside those that run."""

import pytest

from planning import transition
from planning.ground import labels
from planning.ground.cluster_facts import Pools, Unknown
from planning.transition import has_generations
from tests.support.stacks import lines, plan, tree

APART = {"prefill": {"replicas": 2}, "accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 2}}


def pools(*planned):
    """Return the pools that stacks make, as a cluster has them."""
    names = [one.names for each in planned for service in each.services for one in service.variants]
    return Pools({(one.namespace, one.pool): labels.pool_selector(one) for one in names})


def told(stack, live):
    return lines(transition.warnings(plan(stack), live), "warning")


def test_only_pods_that_exchange_their_cache_have_generations():
    assert not has_generations(plan(tree(qwen={})))
    assert has_generations(plan(tree(qwen=APART)))
    assert has_generations(plan(tree(qwen={"canary": {"weight": 0, "prefill": {}}})))


def test_nothing_is_said_of_what_is_new_or_as_it_was():
    assert told(tree(qwen=APART), Pools({})) == []
    assert told(tree(qwen=APART), pools(plan(tree(qwen=APART)))) == []
    assert told(tree(qwen=APART), pools(plan(tree(other=APART)))) == []
    assert told(tree(qwen=APART), pools(plan(tree(qwen=APART) | {"namespace": "elsewhere"}))) == []


@pytest.mark.parametrize("cache", [{"blockSize": 128}, {"connector": "mooncake"}])
def test_another_form_of_the_cache_is_another_pool_beside_the_first(cache):
    before, after = plan(tree(qwen=APART)), plan(tree(qwen={**APART, "kvCache": cache}))
    own, other = (each.services[0].primary.names for each in (before, after))
    (line,) = lines(transition.warnings(after, pools(before)), "warning")
    assert line == (
        f"services.qwen: its pods cannot share a KV cache with those of {own.pool} ({own.generation}): pool "
        f"{other.pool} comes up beside it, with up to 6 more devices in use meanwhile, then requests move, then the "
        "old pods go"
    )


def test_prefill_that_is_switched_on_leaves_the_pods_that_serve_alone():
    (line,) = told(tree(qwen={"prefill": {}, "accelerator": "cpu"}), pools(plan(tree(qwen={}))))
    assert "those of qwen (one role): pool qwen-" in line
    assert "devices" not in line


def test_nothing_is_said_while_two_generations_are_there():
    before, after = plan(tree(qwen=APART)), plan(tree(qwen={**APART, "kvCache": {"blockSize": 128}}))
    assert list(transition.warnings(after, pools(before, after))) == []


def test_a_canary_is_told_from_its_service():
    tried = {**APART, "canary": {"weight": 10, "kvCache": {"blockSize": 128}}}
    (line,) = told({**tree(qwen={**tried, "canary": {"weight": 10}})}, pools(plan(tree(qwen=tried))))
    assert line.startswith("services.qwen.canary: ")


def test_what_could_not_be_read_is_said_and_not_taken_for_absent():
    assert told(tree(qwen=APART), Unknown("no answer")) == [
        "services.qwen: whether pods of another generation run went unchecked: no answer"
    ]
    assert told(tree(qwen={}), Unknown("no answer")) == []
