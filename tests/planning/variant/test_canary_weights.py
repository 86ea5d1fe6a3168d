"""The weights of a canary and of its service: whose claim and whose Job."""

from manifests.assembly import render
from planning.ground import parts
from planning.ground.order import Id
from tests.support.stacks import plain, plan, rendered, tree
from tests.support.stacks.canaries import by_id, of, stack
from tests.support.stacks.shapes import engine, model_servers, volumes

HUB = {"source": "hf://org/model", "size": "10Gi"}
NEXT = {"source": "hf://org/model@next", "size": "10Gi"}
DEDICATED = {"type": "dedicated"}
EMPTY_WEIGHTS = {"model": HUB, "storage": DEDICATED}


def claimed(everything):
    """Return the claims that the model servers of each variant mount."""
    return {
        variant: {
            volumes(template)["model"]["persistentVolumeClaim"]["claimName"] for template in of(everything, variant)
        }
        for variant in ("primary", "canary")
    }


def kinds(everything, kind):
    return [manifest["metadata"]["name"] for manifest in everything if manifest["kind"] == kind]


def test_a_canary_of_the_same_source_uses_its_services_claim_and_job():
    canary_stack = stack(service={**EMPTY_WEIGHTS, "prefill": {}}, engine={"maxNumSeqs": 64})
    everything = rendered(canary_stack)
    (claim,) = kinds(everything, "PersistentVolumeClaim")
    assert kinds(everything, "Job") == [claim]
    assert claimed(everything) == {"primary": {claim}, "canary": {claim}}
    made = by_id(canary_stack)
    for part in (parts.DECODE.workload, parts.PREFILL.workload):
        assert Id("qwen", parts.FILL) in made[Id("qwen.canary", part)].after
    assert not [
        object_id
        for object_id in made
        if object_id.owner == "qwen.canary" and object_id.part in {parts.FILL, parts.WEIGHTS_CLAIM}
    ]


def test_a_canary_of_another_source_has_a_claim_and_a_job_of_its_own():
    canary_stack = stack(service=EMPTY_WEIGHTS, model=NEXT)
    everything = rendered(canary_stack)
    found = claimed(everything)
    assert len(found["primary"] | found["canary"]) == 2
    assert (
        {*kinds(everything, "PersistentVolumeClaim")}
        == {*kinds(everything, "Job")}
        == found["primary"] | found["canary"]
    )
    made = by_id(canary_stack)
    assert Id("qwen.canary", parts.FILL) in made[Id("qwen.canary", parts.DECODE.workload)].after
    assert Id("qwen", parts.FILL) not in made[Id("qwen.canary", parts.DECODE.workload)].after
    assert Id("qwen", parts.FILL) in made[Id("qwen", parts.DECODE.workload)].after


def test_a_canary_of_the_same_source_fills_a_folder_of_an_existing_claim_only_once():
    existing = {"type": "existing", "claimName": "weights"}
    everything = rendered(stack(service={"model": HUB, "storage": existing}))
    assert len(kinds(everything, "Job")) == 1
    assert claimed(everything) == {"primary": {"weights"}, "canary": {"weights"}}
    other = rendered(stack(service={"model": HUB, "storage": existing}, model=NEXT))
    assert len(kinds(other, "Job")) == 2
    folders = {
        mount["subPath"]
        for template in model_servers(other)
        for mount in engine(template)["volumeMounts"]
        if mount["name"] == "model"
    }
    assert len(folders) == 2


def test_a_canary_of_another_cache_has_that_caches_source():
    caches = {key: {"source": f"s3://bucket/{key}", "size": "1Gi"} for key in ("one", "two")}
    service = {"model": {"name": "org/m"}, "storage": {"type": "shared", "cache": "one"}}
    canary_stack = stack(service=service, storage={"cache": "two"}) | {"caches": caches}
    canary_stack["services"]["qwen"]["canary"]["model"] = {"source": "s3://bucket/two"}
    made = by_id(canary_stack)
    for owner, key in (("qwen", "one"), ("qwen.canary", "two")):
        assert Id(f"caches.{key}", parts.FILL) in made[Id(owner, parts.DECODE.workload)].after
    found = claimed(rendered(canary_stack))
    assert plain(*found["primary"]) == "cache-one"
    assert plain(*found["canary"]) == "cache-two"


def weights(stack):
    """Return logical name, place and object of what holds the weights of a stack."""
    return [
        (f"{component.name}-{resource.suffix}", resource.place, resource.manifest["spec"])
        for component in render(plan(stack))
        for resource in component.objects
        if resource.id.part in {parts.WEIGHTS_CLAIM, parts.FILL}
    ]


def test_promotion_keeps_the_claim_and_the_job_of_the_canary():
    """See zerfoo 7.8."""
    before = weights(stack(service=EMPTY_WEIGHTS, model=NEXT))
    promoted = weights(tree(qwen={"model": NEXT, "storage": DEDICATED}))
    assert len(before) == 4
    assert len(promoted) == 2
    assert all(weights_object in before for weights_object in promoted)


def test_a_claim_that_was_shared_stays_where_the_canary_goes():
    shared, alone = weights(stack(service=EMPTY_WEIGHTS)), weights(tree(qwen=EMPTY_WEIGHTS))
    assert shared == alone
    assert len(alone) == 2


def test_a_source_that_pods_fetch_themselves_is_each_pods_own():
    everything = rendered(stack(service={"model": HUB}, model=NEXT))
    assert not kinds(everything, "PersistentVolumeClaim")
    sources = [
        str(template["spec"]["initContainers"]) for template in of(everything, "canary") + of(everything, "primary")
    ]
    assert ["org/model" in source for source in sources] == [True, True]
    assert sources[0] != sources[1]
