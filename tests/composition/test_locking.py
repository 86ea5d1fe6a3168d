"""Locks of stacks that run: what pods have fetched stays as it is, and the cluster decides what the lock says of it."""

import json

import pytest

from composition import Given, LockFile, compose, locking
from composition.locking import LockOrder
from composition.sources import Configuration
from facts import source_sizes
from manifests.objects import Manifest
from models.lock import file_name, text
from planning.ground.cluster_facts import (
    NOTHING_READ,
    ClusterFacts,
    GatewayRef,
    Gateways,
    LiveGateway,
    LiveObject,
    LiveObjects,
    Served,
    Unknown,
)
from planning.weights.contents import Content
from planning.weights.sizes import Unusable
from tests.support.stacks import NAME, tree

COMMITS = ("c1" * 20, "c2" * 20)
DIGESTS = tuple(f"sha256:{letter * 64}" for letter in "ab")
SOURCES = {"kit": "kit://registry.example/org/m:v1", "hf": "hf://org/m", "s3": "s3://models/m"}
ROLES = pytest.mark.parametrize("roles", [{}, {"prefill": {}}], ids=["one-role", "prefill"])
KINDS = pytest.mark.parametrize("kind", SOURCES)
STORAGE = pytest.mark.parametrize("storage", ["ephemeral", "dedicated"])


class Running(Given):
    """A cluster that has given objects."""

    def __init__(self, objects, known=NOTHING_READ):
        super().__init__(known)
        object.__setattr__(self, "found", objects)

    def objects(self, *_):
        return self.found


def live(manifests: list[Manifest]) -> LiveObjects:
    """Return objects as a cluster has them that took all of a stack's."""
    found = {}
    for manifest in manifests:
        group = manifest["apiVersion"].rpartition("/")[0]
        metadata = manifest["metadata"]
        place = (group, manifest["kind"], metadata.get("namespace", ""), metadata["name"])
        found[place] = LiveObject(json.loads(json.dumps(manifest)))
    return LiveObjects(found)


def serving(kind, storage="ephemeral", **roles):
    """Return a stack with a model of a source. A dedicated claim of a repository needs its size."""
    size = {"size": "5Gi"} if storage == "dedicated" else {}
    model = {"name": "org/m", "source": SOURCES[kind], **size}
    stack = tree(qwen={"model": model, "storage": {"type": storage}, **roles})
    return stack | {"checks": {"preflight": "skip"}}


def content(kind, number=0):
    pinned = {"kit": f"kit://registry.example/org/m@{DIGESTS[number]}", "hf": f"hf://org/m@{COMMITS[number]}"}
    digest = DIGESTS[number] if kind == "s3" else None
    return Content(pinned.get(kind, SOURCES[kind]), digest, 5 * 2**30, origin="registry.example")


def answer(monkeypatch, found):
    monkeypatch.setattr(source_sizes, "contents", lambda questions: dict.fromkeys(questions, found))


def manifests(stack, lock=None):
    composition = compose(stack, Given(NOTHING_READ), NAME, lock=lock)
    return [each.manifest for each in composition.objects]


def make(stack, folder, target, *updated):
    """Make a lock and write it."""
    result = locking.make(LockOrder(Configuration(stack), NAME, target, LockFile(folder), updated=updated))
    (folder / file_name(NAME.stack)).write_text(text(result.lock), encoding="utf-8")
    return result


def differing(before, after):
    """Return the kinds of the objects that differ, with which only Jobs may: updates ignore all of a Job."""
    assert [each["metadata"]["name"] for each in before] == [each["metadata"]["name"] for each in after]
    return {old["kind"] for old, new in zip(before, after, strict=True) if old != new}


@ROLES
@STORAGE
@KINDS
def test_the_lock_of_what_is_deployed_changes_nothing(tmp_path, monkeypatch, kind, storage, roles):
    stack, lock = serving(kind, storage, **roles), LockFile(tmp_path)
    before = manifests(stack)
    answer(monkeypatch, content(kind))
    result = make(stack, tmp_path, Running(live(before)))
    assert (result.problems, result.warnings) == ((), ())
    (pin,) = result.lock.pins.values()
    assert pin.deployed is True
    assert differing(before, manifests(stack, lock)) == set()


@ROLES
@KINDS
def test_what_is_not_deployed_is_fetched_by_its_digest_at_once(tmp_path, monkeypatch, kind, roles):
    stack = serving(kind, **roles)
    answer(monkeypatch, content(kind))
    result = make(stack, tmp_path, Running(live([])))
    (pin,) = result.lock.pins.values()
    assert pin.deployed is False
    assert "Deployment" in differing(manifests(stack), manifests(stack, LockFile(tmp_path)))


def test_pods_of_another_source_have_not_fetched_this_one(tmp_path, monkeypatch):
    stack, other = serving("hf"), serving("hf")
    other["services"]["qwen"]["model"]["source"] = "hf://org/m-large"
    answer(monkeypatch, content("hf"))
    (pin,) = make(stack, tmp_path, Running(live(manifests(other)))).lock.pins.values()
    assert pin.deployed is False


@KINDS
def test_an_update_pins_what_pods_have_fetched_by_its_name(tmp_path, monkeypatch, kind):
    stack = serving(kind)
    answer(monkeypatch, content(kind))
    target = Running(live(manifests(stack)))
    make(stack, tmp_path, target)
    (pin,) = make(stack, tmp_path, target, "qwen").lock.pins.values()
    assert (pin.deployed, pin.moved) == (False, False)
    answer(monkeypatch, content(kind, 1))
    (moved,) = make(stack, tmp_path, target, "qwen").lock.pins.values()
    assert (moved.deployed, moved.moved) == (False, True)
    assert moved.content != pin.content


def claims(found):
    return {each["metadata"]["name"] for each in found if each["kind"] == "PersistentVolumeClaim"}


@KINDS
def test_a_claim_that_was_filled_by_a_name_is_so_until_the_digest_moves(tmp_path, monkeypatch, kind):
    """Nobody knows what the claim holds, and an update of the same digest fills no other."""
    stack, lock = serving(kind, "dedicated"), LockFile(tmp_path)
    before = manifests(stack)
    answer(monkeypatch, content(kind))
    target = Running(live(before))
    make(stack, tmp_path, target)
    (pin,) = make(stack, tmp_path, target, "qwen").lock.pins.values()
    assert (pin.deployed, pin.moved) == (True, False)
    assert differing(before, manifests(stack, lock)) == set()
    answer(monkeypatch, content(kind, 1))
    (pin,) = make(stack, tmp_path, target, "qwen").lock.pins.values()
    assert (pin.deployed, pin.moved) == (False, True)
    assert claims(before).isdisjoint(claims(manifests(stack, lock)))


def test_a_cache_that_was_filled_by_a_name_is_so(tmp_path, monkeypatch):
    stack = serving("hf")
    stack["caches"] = {"weights": {"source": SOURCES["hf"], "size": "5Gi"}}
    stack["services"]["qwen"] |= {"model": {"name": "org/m"}, "storage": {"type": "shared", "cache": "weights"}}
    before = manifests(stack)
    answer(monkeypatch, content("hf"))
    result = make(stack, tmp_path, Running(live(before)))
    assert {str(at): pin.deployed for at, pin in result.lock.pins.items()} == {"caches.weights": True}
    assert differing(before, manifests(stack, LockFile(tmp_path))) == set()


def test_pods_that_fetch_a_digest_need_no_update(tmp_path, monkeypatch):
    stack = serving("kit")
    pinned = content("kit")
    stack["services"]["qwen"]["model"]["source"] = pinned.source
    answer(monkeypatch, pinned)
    (pin,) = make(stack, tmp_path, Running(live(manifests(stack)))).lock.pins.values()
    assert pin.deployed is False
    assert differing(manifests(stack), manifests(stack, LockFile(tmp_path))) == set()


def test_a_digest_that_moves_while_pods_go_on_changes_nothing_before_its_update(tmp_path, monkeypatch):
    stack, lock = serving("kit", prefill={}), LockFile(tmp_path)
    before = manifests(stack)
    answer(monkeypatch, content("kit"))
    make(stack, tmp_path, Running(live(before)))
    answer(monkeypatch, content("kit", 1))
    make(stack, tmp_path, Running(live(before)))
    assert differing(before, manifests(stack, lock)) == set()
    make(stack, tmp_path, Running(live(before)), "qwen")
    after = manifests(stack, lock)
    pools = [
        {each["metadata"]["name"] for each in found if each["kind"] == "InferencePool"} for found in (before, after)
    ]
    assert pools[0].isdisjoint(pools[1])


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        (Unknown("no answer"), "no answer"),
        (LiveObjects({}, ("apps/v1/Deployment",)), "access was denied to apps/v1/Deployment"),
    ],
)
def test_a_cluster_that_cannot_be_asked_is_told_and_the_digest_is_fetched(tmp_path, monkeypatch, objects, reason):
    answer(monkeypatch, content("hf"))
    result = make(serving("hf"), tmp_path, Running(objects))
    assert [each.what for each in result.warnings] == [
        f"running pods went unchecked ({reason}), so the next deployment replaces pods that fetch weights"
    ]
    (pin,) = result.lock.pins.values()
    assert pin.deployed is False


def test_a_caller_without_the_right_to_list_jobs_is_warned_and_pods_stay(tmp_path, monkeypatch):
    """The rights of a preview do not have them."""
    stack = serving("hf")
    stack["services"]["claimed"] = serving("hf", "dedicated")["services"]["qwen"]
    objects = live([each for each in manifests(stack) if each["kind"] != "Job"])
    answer(monkeypatch, content("hf"))
    result = make(stack, tmp_path, Running(LiveObjects(objects.objects, ("batch/v1/Job",))))
    assert {str(at): pin.deployed for at, pin in result.lock.pins.items()} == {
        "services.claimed.model": False,
        "services.qwen.model": True,
    }
    assert [each.what for each in result.warnings] == [
        (
            "Jobs went unchecked (access was denied to batch/v1/Job), so the outputs name a digest even for claims "
            "that were filled before the lock was written"
        )
    ]


def test_the_lock_has_name_and_accepted_gateways_of_the_cluster_until_they_are_updated(tmp_path, monkeypatch):
    answer(monkeypatch, content("hf"))
    ref = GatewayRef("gateway.networking.k8s.io", "Gateway", "gateways", "gateway")
    targets = [
        Running(live([]), ClusterFacts(Served(frozenset()), gateways=Gateways((LiveGateway(ref, each, each),))))
        for each in (False, True)
    ]
    stack = serving("hf") | {"cluster": {"name": "prod-eu"}}
    found = [
        make(stack, tmp_path, target, *updated).lock.cluster
        for target, *updated in ((targets[0],), (targets[1],), (targets[1], "cluster"))
    ]
    assert [each.gateways for each in found if each is not None] == [(), (), ("gateways/gateway",)]
    assert {each.name for each in found if each is not None} == {"prod-eu"}


def test_a_source_that_no_pod_could_fetch_is_told_and_has_no_block(tmp_path, monkeypatch):
    answer(monkeypatch, Unusable("source", "is not on its hub (hf://org/m)", "correct the name or the revision"))
    result = make(serving("hf"), tmp_path, Running(live([])))
    assert [str(each) for each in result.problems] == [
        "services.qwen.model.source: is not on its hub (hf://org/m); correct the name or the revision"
    ]
    assert result.lock.pins == {}
