"""A preview says when pods that cannot share a cache come up beside those that run, and when replicas change."""

import pytest

from judging import transition
from judging.transition import has_generations, refused_pools
from planning.ground import labels
from planning.ground.cluster_facts import FieldOwner, LiveObject, LiveObjects, Pools, Unknown
from tests.support.stacks import lines, plan, rendered, tree

APART = {"prefill": {"replicas": 2}, "accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 2}}


def pools(*planned):
    """Return the pools that stacks make, as a cluster has them."""
    names = [variant.names for each in planned for service in each.services for variant in service.variants]
    return Pools(
        {(variant_names.namespace, variant_names.pool): labels.pool_selector(variant_names) for variant_names in names}
    )


def told(stack, live):
    return lines(transition.generations(plan(stack), live), "warning")


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
    old, new = (each.services[0].primary.names for each in (before, after))
    (line,) = lines(transition.generations(after, pools(before)), "warning")
    assert line == (
        f"services.qwen: its new pods cannot share a KV cache with the pods of {old.pool} ({old.generation}): pool "
        f"{new.pool} is added, with up to 6 more devices in use meanwhile, then requests move to it, then the "
        "old pods end"
    )


def test_prefill_that_is_switched_on_leaves_the_pods_that_serve_alone():
    (line,) = told(tree(qwen={"prefill": {}, "accelerator": "cpu"}), pools(plan(tree(qwen={}))))
    assert "the pods of qwen (one role): pool qwen-" in line
    assert "devices" not in line


def test_nothing_is_said_while_two_generations_are_there():
    before, after = plan(tree(qwen=APART)), plan(tree(qwen={**APART, "kvCache": {"blockSize": 128}}))
    assert list(transition.generations(after, pools(before, after))) == []


def test_a_canary_is_told_from_its_service():
    service = {**APART, "canary": {"weight": 10, "kvCache": {"blockSize": 128}}}
    (line,) = told({**tree(qwen={**service, "canary": {"weight": 10}})}, pools(plan(tree(qwen=service))))
    assert line.startswith("services.qwen.canary: ")


def test_what_could_not_be_read_is_said_and_not_taken_for_absent():
    assert told(tree(qwen=APART), Unknown("no answer")) == [
        "services.qwen: generations of running pods went unchecked: no answer"
    ]
    assert told(tree(qwen={}), Unknown("no answer")) == []


def live(number, writer="kubectl", kind="Deployment", group="apps", name="qwen-decode"):
    """Return a workload of the cluster whose number of replicas somebody set, or nobody."""
    owner = FieldOwner(writer or "", "", {"f:spec": {"f:replicas": {}}} if writer else {"f:metadata": {}})
    return LiveObjects({(group, kind, "models", name): LiveObject({"spec": {"replicas": number}}, (owner,))})


def replicas(found, **service):
    return lines(transition.replicas(plan(tree(qwen=service)), found), "warning")


@pytest.mark.parametrize(
    ("number", "stated", "message"),
    [(3, 1, "3 replicas will become 1"), (1, 2, "1 replica will become 2"), (0, 1, "0 replicas will become 1")],
)
def test_a_number_that_somebody_set_by_hand_is_said_with_the_one_that_it_becomes(number, stated, message):
    """See defects A17."""
    taken_back = "and a run that refreshes the state or changes the object undoes this"
    assert replicas(live(number), replicas=stated) == [
        f"services.qwen.replicas: {message}: kubectl scaled Deployment models/qwen-decode, {taken_back}"
    ]


def test_the_number_that_an_autoscaler_left_is_said_where_it_is_switched_off():
    """See defects A17."""
    (line,) = replicas(live(5, "kube-controller-manager"), replicas=2)
    assert line.startswith("services.qwen.replicas: 5 replicas will become 2: kube-controller-manager scaled ")


def test_a_replica_over_several_nodes_is_a_group():
    """See defects A17."""
    spanning = {"parallelism": {"pipeline": 2}, "prefill": {"parallelism": {"pipeline": 2}}}
    name = plan(tree(qwen=spanning)).services[0].primary.roles["prefill"].name
    found = live(2, kind="LeaderWorkerSet", group="leaderworkerset.x-k8s.io", name=name)
    (line,) = replicas(found, **spanning)
    assert line.startswith(
        f"services.qwen.prefill.replicas: 2 replicas will become 1: kubectl scaled LeaderWorkerSet models/{name}"
    )


def test_nothing_is_said_of_numbers_that_are_pulumis_an_autoscalers_or_as_stated():
    """See defects A17."""
    scaling = {"type": "hpa", "maxReplicas": 8, "metrics": [{"type": "queue-size", "target": 5}]}
    assert replicas(live(5, "kube-controller-manager"), autoscaling=scaling) == []
    assert replicas(live(3, None), replicas=1) == []
    assert replicas(live(3), replicas=3) == []
    assert replicas(LiveObjects({}), replicas=3) == []


def test_kinds_that_the_run_may_not_list_are_said():
    (line,) = lines(transition.refusals(LiveObjects({}, ("v1/Service", "apps/v1/Deployment"))), "warning")
    assert line.endswith("went unchecked for v1/Service, apps/v1/Deployment: the API server refused to list them")
    assert list(transition.refusals(LiveObjects({}))) == []


def routes(stack):
    """Return the routes that a stack makes, as a cluster has them."""
    manifests = [manifest for manifest in rendered(stack) if manifest["kind"] == "HTTPRoute"]
    group = "gateway.networking.k8s.io"
    places = [(group, "HTTPRoute", "models", manifest["metadata"]["name"]) for manifest in manifests]
    return LiveObjects(dict(zip(places, map(LiveObject, manifests), strict=True)))


def moved(stack, live):
    return lines(transition.metering(plan(stack), live), "warning")


def test_routes_that_begin_to_be_metered_are_said_with_where_their_requests_go():
    metered = tree(qwen={}) | {"interceptor": {"mode": "label", "namespace": "metering"}}
    (line,) = moved(metered, routes(tree(qwen={})))
    assert line == (
        "services.qwen.interceptor: its requests move from InferencePool models/qwen to Service "
        "metering/phoebe-interceptor; make sure that the interceptor answers, and that clients are authenticated in "
        "front of it"
    )
    (guarded,) = moved(metered | {"networkPolicies": {"gatewayPods": {"app": "gateway"}}}, routes(tree(qwen={})))
    assert "; network policies refuse these requests until the route changes; make sure" in guarded


def test_nothing_is_said_of_routes_that_are_new_metered_already_or_not_metered():
    metered = tree(qwen={}) | {"interceptor": {"mode": "label", "namespace": "metering"}}
    unmetered = metered | {"services": {"qwen": {**metered["services"]["qwen"], "interceptor": {"enabled": False}}}}
    assert moved(metered, routes(metered)) == []
    assert moved(metered, LiveObjects({})) == []
    assert moved(unmetered, routes(tree(qwen={}))) == []
    assert moved(tree(qwen={}), routes(tree(qwen={}))) == []


def test_a_pool_that_its_gateway_refuses_is_told():
    def saying(*conditions):
        found = {"status": {"parents": [{"conditions": [{"type": kind, **rest} for kind, rest in conditions]}]}}
        return LiveObjects({("inference.networking.k8s.io", "InferencePool", "models", "qwen"): LiveObject(found)})

    refused = {"status": "False", "reason": "InvalidExtensionRef", "message": "no Service qwen-epp"}
    accepted, unknown = {"status": "True"}, {"status": "Unknown"}
    (line,) = lines(refused_pools(saying(("Accepted", accepted), ("ResolvedRefs", refused))), "warning")
    reason = "InvalidExtensionRef: no Service qwen-epp"
    assert line == f"InferencePool models/qwen: the gateway does not accept this pool ({reason})"
    assert (
        list(refused_pools(saying(("Accepted", accepted)))) == list(refused_pools(saying(("Accepted", unknown)))) == []
    )
    assert list(refused_pools(saying())) == list(refused_pools(saying(("Other", refused)))) == []
