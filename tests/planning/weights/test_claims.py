"""Claims of weights: sizes and names, the Jobs that fill them, and when pods may read them."""

import copy
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import registration
from manifests.assembly import objects, render
from planning.ground import parts
from planning.ground.names import cache
from planning.ground.order import Id
from planning.ground.resources import claim_gi
from tests.support.program import run
from tests.support.stacks import find, plain, plan, rendered, tree
from tests.support.stacks.shapes import containers, engine, fetching, model_servers, told, volumes
from tests.support.stacks.varied import VARIED

GI, MI = 2**30, 2**20
HUB = {"source": "hf://org/m", "size": "10Gi"}
BUCKET = {"name": "org/m", "source": "s3://bucket/m", "size": "10Gi"}
KIT = {"name": "org/m", "source": "kit://registry.example/m:v1", "size": "10Gi"}
DEDICATED = {"type": "dedicated"}


def service(model=HUB, storage=DEDICATED, **more):
    return tree(qwen={"model": model, "storage": storage, **more})


def shared(cached, **more):
    return service({"name": "org/m"}, {"type": "shared", "cache": "m"}, **more) | {"caches": {"m": cached}}


def job(everything, called="weights"):
    (manifest,) = [
        manifest for manifest in everything if manifest["kind"] == "Job" and called in manifest["metadata"]["name"]
    ]
    return manifest


def filling(stack, called="weights"):
    (container,) = job(rendered(stack), called)["spec"]["template"]["spec"]["containers"]
    return container


def folder(stack):
    """Return where in the claim the pods find their weights."""
    (template,) = model_servers(rendered(stack))
    (mount,) = [mount for mount in engine(template)["volumeMounts"] if mount["name"] == "model"]
    return mount["subPath"]


def registered(stack):
    return {resource.id: resource for resource in objects(render(plan(stack)))}


@pytest.mark.parametrize(
    ("size", "headroom", "expected"),
    [
        (10 * GI, 10, 11),
        (10 * GI, 0, 10),
        (10 * GI + 500 * MI, 0, 11),
        (1, 0, 1),
        (9_094_593_249, 10, 10),
        (5 * GI, 10, 6),
        (100 * MI, 10, 1),
        (10 * GI, 50, 15),
        (64 * GI, 10, 71),
        (16 * GI, 15, 19),
    ],
)
def test_a_claim_is_as_large_as_that_of_aim_engine(size, headroom, expected):
    """See aim-engine 6.4, 9.5."""
    assert claim_gi(size, headroom) == expected


def test_nothing_takes_one_gi_where_aim_engine_asks_for_a_claim_of_none():
    """See aim-engine 6.4, 9.5."""
    assert claim_gi(0, 10) == 1


def test_a_byte_above_a_whole_gi_takes_another_which_aim_engines_unused_formula_loses():
    """See aim-engine 6.4, 9.5."""
    assert claim_gi(11 * GI + 1, 0) == 12


SIZES, PERCENT = st.integers(0, 2**60), st.integers(0, 1000)


@given(SIZES, PERCENT)
def test_a_claim_holds_weights_and_headroom_and_less_than_a_gi_more(size, headroom):
    expected = size * (100 + headroom)
    assert claim_gi(size, headroom) * GI * 100 >= expected
    assert (claim_gi(size, headroom) - 1) * GI * 100 < expected or claim_gi(size, headroom) == 1


@given(st.lists(SIZES, min_size=2), st.lists(PERCENT, min_size=2))
def test_more_bytes_or_more_headroom_never_make_a_smaller_claim(sizes, headrooms):
    assert all(claim_gi(less, headrooms[0]) <= claim_gi(more, headrooms[0]) for less, more in pairwise(sorted(sizes)))
    assert all(claim_gi(sizes[0], less) <= claim_gi(sizes[0], more) for less, more in pairwise(sorted(headrooms)))


@pytest.mark.parametrize(
    ("storage", "expected"),
    [({}, "11Gi"), ({"headroomPercent": 50}, "15Gi"), ({"size": "500G", "headroomPercent": 50}, "500G")],
)
def test_a_claim_has_the_size_that_is_written_or_that_of_the_weights(storage, expected):
    claim = find(rendered(service(storage={**DEDICATED, **storage})), "PersistentVolumeClaim", "qwen-weights")
    assert claim["spec"]["resources"] == {"requests": {"storage": expected}}


def test_the_class_of_a_claim_is_its_own_or_the_stacks_or_the_clusters():
    """See aim-engine 9.5."""

    def of(stack):
        return find(rendered(stack), "PersistentVolumeClaim", "qwen-weights")["spec"].get("storageClassName")

    storage = {**DEDICATED, "storageClassName": "own"}
    assert of(service()) is None
    assert of(service() | {"storageClassName": "stacks"}) == "stacks"
    assert of(service(storage=storage)) == "own"
    assert of(service(storage=storage) | {"storageClassName": "stacks"}) == "own"


@pytest.mark.parametrize(
    ("storage", "every", "expected"),
    [
        ({}, {}, "11Gi"),
        ({"headroomPercent": 50}, {}, "15Gi"),
        ({}, {"headroomPercent": 20}, "12Gi"),
        ({"headroomPercent": 50}, {"headroomPercent": 20}, "15Gi"),
        ({"headroomPercent": 0}, {"headroomPercent": 20}, "10Gi"),
    ],
)
def test_aim_9_5_the_headroom_is_the_services_or_that_of_all_or_ten_percent(storage, every, expected):
    stack = service(storage={**DEDICATED, **storage}) | {"defaults": {"storage": {**DEDICATED, **every}}}
    claim = find(rendered(stack), "PersistentVolumeClaim", "qwen-weights")
    assert claim["spec"]["resources"] == {"requests": {"storage": expected}}


@pytest.mark.parametrize(
    ("size", "headroom", "expected"), [("10Gi", 10, "11Gi"), ("10Gi", 50, "15Gi"), ("100Mi", 10, "1Gi")]
)
def test_aim_9_5_the_size_that_a_source_requires(size, headroom, expected):
    stack = service({**HUB, "size": size}, {**DEDICATED, "headroomPercent": headroom})
    claim = find(rendered(stack), "PersistentVolumeClaim", "qwen-weights")
    assert claim["spec"]["resources"] == {"requests": {"storage": expected}}


def test_aim_9_5_without_a_source_or_its_size_there_is_no_claim():
    (message,) = told(service({"source": "hf://org/m"}))
    assert message.startswith("services.qwen.model.size: is missing, and hf:// is not asked for it")
    (message,) = told(service({"name": "org/m", "size": "10Gi"}))
    assert message.startswith("services.qwen.model.source: is missing")


@pytest.mark.parametrize("name", ["shared", "dedicated", "existing"])
def test_pods_mount_a_claim_read_only_and_fetch_nothing_that_is_on_it(name):
    for template in model_servers(rendered(VARIED[name])):
        assert volumes(template)["model"]["persistentVolumeClaim"]["readOnly"] is True
        assert {mount["readOnly"] for mount in engine(template)["volumeMounts"] if mount["name"] == "model"} == {True}
        assert not {container["name"] for container in fetching(template)} & {"model-unpack", "model-download"}


@pytest.mark.parametrize("name", ["shared", "dedicated", "existing"])
def test_the_job_writes_where_the_pods_read(name):
    everything = rendered(VARIED[name])
    (template, *_) = model_servers(everything)
    (read,) = [mount for mount in engine(template)["volumeMounts"] if mount["name"] == "model"]
    claim = volumes(template)["model"]["persistentVolumeClaim"]["claimName"]
    writers = [manifest["spec"]["template"] for manifest in everything if manifest["kind"] == "Job"]
    (writer,) = [
        writer for writer in writers if volumes(writer)["model"]["persistentVolumeClaim"]["claimName"] == claim
    ]
    (container,) = containers(writer)
    (write,) = [mount for mount in container["volumeMounts"] if mount["name"] == "model"]
    told_path = [*container.get("args", []), *(variable.get("value", "") for variable in container["env"])]
    (target,) = [text for text in told_path if text.startswith(f"{write['mountPath']}/")]
    below = target.removeprefix(f"{write['mountPath']}/")
    assert read["subPath"] == "/".join(filter(None, [write.get("subPath"), below]))
    assert "readOnly" not in write


@pytest.mark.parametrize("name", ["shared", "dedicated", "existing"])
def test_no_pod_starts_before_its_weights_are_there(name):
    made = registered(VARIED[name])
    owner = "caches.m" if name == "shared" else "qwen"
    for part in (parts.DECODE.workload, parts.PREFILL.workload):
        if Id("qwen", part) in made:
            assert Id(owner, parts.FILL) in made[Id("qwen", part)].after
    fill = made[Id(owner, parts.FILL)]
    assert fill.wait.seconds > fill.manifest["spec"]["activeDeadlineSeconds"]
    assert (Id(owner, parts.WEIGHTS_CLAIM) in fill.after) is (name != "existing")


def test_a_cache_that_nobody_uses_holds_nobody_up():
    made = registered(VARIED["shared"])
    assert Id("caches.edited", parts.FILL) in made
    assert Id("caches.edited", parts.FILL) not in made[Id("qwen", parts.DECODE.workload)].after


def test_everything_comes_after_the_namespace_even_of_a_cache_alone_in_it():
    stack = shared({"source": "s3://bucket/m", "size": "1Gi"}) | {"namespaceOptions": {"create": True}}
    stack["services"] = {"other": {**tree()["services"]["qwen"], "namespace": "elsewhere"}}
    made = registered(stack)
    assert made[Id("caches.m", parts.WEIGHTS_CLAIM)].after == (Id("models", parts.NAMESPACE),)


@pytest.mark.parametrize("flag", ["retain", "protect"])
def test_claims_are_retained_and_protected_on_demand(flag):
    for on in (False, True):
        claim = registered(service(storage={**DEDICATED, flag: on}))[Id("qwen", parts.WEIGHTS_CLAIM)]
        cached = {"source": "s3://bucket/m", "size": "1Gi", flag: on}
        assert getattr(claim, flag) is on
        assert getattr(registered(shared(cached))[Id("caches.m", parts.WEIGHTS_CLAIM)], flag) is on


def test_a_done_job_stays_and_an_undone_one_is_made_again():
    fill = registered(service())[Id("qwen", parts.FILL)]
    assert fill.ignore == ("spec", "metadata.labels", "metadata.annotations")
    assert fill.manifest["metadata"]["annotations"] == {"pulumi.com/replaceUnready": "true"}
    assert "ttlSecondsAfterFinished" not in fill.manifest["spec"]


def test_another_downloader_or_release_or_environment_is_no_other_job():
    stack = service(HUB)
    name = job(rendered(stack))["metadata"]["name"]
    others = [
        stack | {"images": {"downloader": "registry.example/downloader:v9"}},
        stack | {"release": "gie-1.3"},
        service(storage={**DEDICATED, "fill": {"env": {"HTTPS_PROXY": "http://proxy"}}, "size": "20Gi"}),
        service({**HUB, "secrets": ["token"], "size": "11Gi"}),
        service(HUB, replicas=3),
    ]
    assert {job(rendered(other))["metadata"]["name"] for other in others} == {name}


KEY = {"type": "key", "secret": "one"}


@pytest.mark.parametrize(
    ("model", "other"),
    [
        (HUB, {**HUB, "source": "hf://org/m@v2"}),
        (BUCKET, {**BUCKET, "endpoint": "http://minio:9000"}),
        (KIT, {**KIT, "filter": ["model", "code"]}),
        (KIT, {**KIT, "verify": KEY}),
    ],
)
def test_another_source_is_another_job_and_arrives_beside_what_is_served(model, other):
    """See aim-engine 4.3."""
    was, is_now = rendered(service(model)), rendered(service(other))
    assert job(was)["metadata"]["name"] != job(is_now)["metadata"]["name"]
    assert folder(service(model)) != folder(service(other))
    claims = [find(each, "PersistentVolumeClaim", "qwen-weights") for each in (was, is_now)]
    assert len({claim["metadata"]["name"] for claim in claims}) == 2
    for claim, each in zip(claims, (was, is_now), strict=True):
        assert claim["metadata"]["name"] == job(each)["metadata"]["name"]
    assert claims[0]["spec"] == claims[1]["spec"]


def test_a_mirror_of_the_hub_has_the_same_weights():
    assert folder(service(HUB)) == folder(service({**HUB, "endpoint": "http://mirror:8080"}))


def test_caches_and_services_with_one_source_have_folders_of_one_name():
    cached = {"source": "s3://bucket/m", "size": "10Gi"}
    assert folder(shared(cached)) == folder(service(BUCKET))


def test_what_a_fill_says_comes_to_what_the_model_says():
    fill = {"endpoint": "http://minio:9000", "env": {"PROXY": "one"}}
    names = {
        variable["name"]
        for variable in filling(service({**BUCKET, "region": "eu"}, {**DEDICATED, "fill": fill}))["env"]
    }
    assert {"AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION", "PROXY", "awsAnonymousCredential"} <= names


@pytest.mark.parametrize("storage", [{"fill": {"serviceAccountName": "reader"}}, {}])
def test_an_identity_opens_a_bucket_instead_of_nobody(storage):
    stack = service(BUCKET, {**DEDICATED, **storage}, pod={} if storage else {"serviceAccountName": "reader"})
    assert job(rendered(stack))["spec"]["template"]["spec"]["serviceAccountName"] == "reader"
    assert "awsAnonymousCredential" not in {variable["name"] for variable in filling(stack)["env"]}


def test_a_shared_cache_has_source_and_size_for_its_services():
    stack = shared({"source": "hf://org/large", "size": "100Gi"})
    del stack["services"]["qwen"]["model"]["name"]
    expected_stack = tree(qwen={"model": {"source": "hf://org/large", "size": "100Gi"}})
    (template,), (expected,) = model_servers(rendered(stack)), model_servers(rendered(expected_stack))
    assert engine(template)["args"] == engine(expected)["args"]
    assert engine(template)["startupProbe"] == engine(expected)["startupProbe"]


def test_loading_a_tree_does_not_change_it():
    stack = VARIED["shared"]
    before = copy.deepcopy(stack)
    plan(stack)
    assert stack == before


@pytest.mark.parametrize("storage", [{"type": "ephemeral"}, DEDICATED])
def test_the_engine_is_told_where_its_weights_are(storage):
    (template,) = model_servers(rendered(service(storage={**storage, "mountPath": "/weights"})))
    assert engine(template)["args"][0] == "/weights"
    assert "/weights" in {mount["mountPath"] for mount in engine(template)["volumeMounts"]}
    assert "/models" not in {
        mount["mountPath"] for container in containers(template) for mount in container["volumeMounts"]
    }


@pytest.mark.parametrize(
    ("storage", "limit"), [({}, "11Gi"), ({"headroomPercent": 50}, "15Gi"), ({"sizeLimit": "12Gi"}, "12Gi")]
)
def test_the_volume_of_a_pod_has_room_for_the_weights(storage, limit):
    (template,) = model_servers(rendered(service(storage={"type": "ephemeral", **storage})))
    assert volumes(template)["model"] == {"name": "model", "emptyDir": {"sizeLimit": limit}}


def test_storage_that_is_inherited_is_no_mistake_where_weights_are_mounted_as_they_are():
    stack = tree(claimed={"model": {"name": "org/m", "source": "pvc://weights/m"}}, hub={"model": HUB})
    everything = rendered(stack | {"defaults": {"storage": DEDICATED}})
    claims = [manifest["metadata"]["name"] for manifest in everything if manifest["kind"] == "PersistentVolumeClaim"]
    assert list(map(plain, claims)) == ["hub-weights"]
    (template,) = [
        template
        for template in model_servers(everything)
        if template["metadata"]["labels"]["llm-d.ai/model"] == "claimed"
    ]
    assert volumes(template)["model"]["persistentVolumeClaim"] == {"claimName": "weights", "readOnly": True}


def test_a_cache_that_is_inherited_means_nothing_where_weights_are_mounted_as_they_are():
    stack = shared({"source": "s3://bucket/m", "size": "100Gi", "accessMode": "ReadWriteOnce"})
    claimed_service = {"model": {"name": "org/m", "source": "pvc://weights/m"}, "accelerator": "nvidia", "replicas": 3}
    defaults = {"storage": stack["services"]["qwen"].pop("storage")}
    stack["services"]["claimed"] = claimed_service
    made = registered(stack | {"defaults": defaults})
    assert Id("caches.m", parts.FILL) in made[Id("qwen", parts.DECODE.workload)].after
    assert made[Id("claimed", parts.DECODE.workload)].after == ()
    assert (
        made[Id("claimed", parts.DECODE.workload)].manifest
        == registered(tree(claimed=claimed_service))[Id("claimed", parts.DECODE.workload)].manifest
    )


def test_a_claim_of_one_node_is_enough_for_one_pod():
    assert rendered(service(storage={**DEDICATED, "accessMode": "ReadWriteOnce"}))
    (message,) = told(service(storage={**DEDICATED, "accessMode": "ReadWriteOnce"}, replicas=2))
    assert "up to 2 replicas of services.qwen want it (ReadWriteOnce)" in message


def test_replicas_of_every_service_of_a_cache_count():
    stack = shared({"source": "s3://bucket/m", "size": "1Gi", "accessMode": "ReadWriteOnce"})
    assert rendered(stack)
    stack["services"]["other"] = stack["services"]["qwen"]
    (message,) = told(stack)
    assert message.startswith("caches.m.accessMode: ")
    assert "up to 2 replicas of services.qwen, services.other want it" in message


def test_most_replicas_that_an_autoscaler_may_make_count():
    scaled = {"type": "hpa", "maxReplicas": 3, "metrics": [{"type": "queue-size", "target": 5}]}
    (message,) = told(service(storage={**DEDICATED, "accessMode": "ReadWriteOnce"}, autoscaling=scaled))
    assert "up to 3 replicas of services.qwen" in message


KEYS = st.from_regex(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)


@given(KEYS | st.sampled_from(["m" * 63, "m" * 62 + "n", "m" * 48, "m" * 49]))
def test_names_of_a_cache_fit_with_the_hash_of_its_source(key):
    stack = tree(qwen={}) | {"caches": {key: {"source": "s3://bucket/m", "size": "1Gi"}}}
    made = job(rendered(stack), "cache-")["metadata"]["name"]
    assert made.startswith(f"{cache(key)}-")
    assert len(made) <= 63


@given(KEYS, KEYS)
def test_two_caches_share_no_name(key, other):
    assert (cache(key) == cache(other)) is (key == other)


def test_a_larger_source_has_more_time():
    def deadline(size):
        return job(rendered(service({**HUB, "size": size})))["spec"]["activeDeadlineSeconds"]

    assert deadline("1Gi") == 3 * 1800
    assert deadline("640Gi") == 3 * 20480


def test_what_is_decided_about_claims_and_jobs_reaches_the_engine(monkeypatch):
    options, make = {}, registration.KubernetesObject

    def noted(name, args, opts):
        options[name] = opts
        return make(name, args, opts)

    monkeypatch.setattr(registration, "KubernetesObject", noted)
    cached = {"source": "s3://bucket/m", "size": "1Gi", "retain": True}
    stack = shared(cached) | {"cluster": {"facts": {"type": "none"}, "name": "prod"}}
    protected_service = {"model": HUB, "storage": {**DEDICATED, "protect": True}, "accelerator": "nvidia"}
    stack["services"]["own"] = protected_service
    made = run(stack)
    holds, held = folder(service(HUB)), folder(shared(cached))
    claims = {
        name: (resource_options.retain_on_delete, resource_options.protect)
        for name, resource_options in options.items()
        if "-weights-" in name
    }
    assert claims == {f"caches-m-weights-{held}": (True, None), f"own-weights-{holds}": (None, True)}
    fills = [f"caches-m-fill-{held}", f"own-fill-{holds}"]
    ignored = ["spec", "metadata.labels", "metadata.annotations"]
    assert [options[name].ignore_changes for name in fills] == [ignored, ignored]
    assert {made[name].typ for name in claims} == {"kubernetes:core/v1:PersistentVolumeClaim"}
    assert {made[name].typ for name in fills} == {"kubernetes:batch/v1:Job"}
