"""A stack with a lock: the same inputs with a live cluster, with facts of a file and with none; mistaken locks."""

import json
from pathlib import Path

import pytest

from composition import Composition, Given, LockFile, Refusal, compose
from facts import facts_file, source_sizes
from models.lock import Lock, LockedCluster, file_name, text
from models.paths import Path as ConfigPath
from models.pins import Pin
from planning.ground.cluster_facts import NOTHING_READ, ClusterFacts, GatewayRef, Gateways, LiveGateway, Served
from planning.ground.marks import StackName
from tests.support.program import run
from tests.support.stacks import GATEWAY, NAME, tree

TIME = "2026-11-22T05:00:00Z"
SOURCE = "kit://registry.example/org/m:v1"
PINNED = f"kit://registry.example/org/m@sha256:{'a' * 64}"
REF = GatewayRef("gateway.networking.k8s.io", "Gateway", "gateways", "gateway")
STACK = tree(qwen={"model": {"name": "org/m", "source": SOURCE}, "storage": {"type": "dedicated"}})
STACK |= {"checks": {"preflight": "skip"}}
PIN = Pin.model_validate({"was": SOURCE, "source": PINNED, "bytes": 2**30, "asked": TIME, "from": "registry.example"})


def locked(**cluster):
    block = LockedCluster(name="prod-eu", asked=TIME, **cluster)
    return Lock(str(NAME), {ConfigPath("services", "qwen", "model"): PIN}, block)


def write(lock, folder, stack="dev"):
    (folder / file_name(stack)).write_text(text(lock), encoding="utf-8")
    return LockFile(folder)


def facts(*, accepted):
    gateway = LiveGateway(REF, accepted=accepted, programmed=accepted)
    return ClusterFacts(Served(frozenset()), gateways=Gateways((gateway,)))


def composed(lock, known=NOTHING_READ, stack=STACK, name=NAME, **more):
    return compose(stack, Given(known), name, lock=lock, **more)


def inputs(composition):
    assert isinstance(composition, Composition)
    return json.dumps([(each.suffix, each.manifest, str(each.wait)) for each in composition.objects])


@pytest.mark.parametrize("gateways", [("gateways/gateway",), ()])
def test_inputs_are_the_same_with_a_live_cluster_with_a_file_and_with_none(tmp_path, gateways):
    lock = write(locked(gateways=gateways), tmp_path)
    path = tmp_path / "facts.json"
    path.write_text(facts_file.text(facts(accepted=True)), encoding="utf-8")
    sources_of_facts = (facts(accepted=True), facts(accepted=False), facts_file.read(path), NOTHING_READ)
    found = {inputs(composed(lock, known)) for known in sources_of_facts}
    assert len(found) == 1
    assert ("waitFor" in found.pop()) is bool(gateways)


def test_without_a_lock_inputs_follow_what_can_be_read(tmp_path):
    lock, written = LockFile(tmp_path), json.loads(json.dumps(STACK))
    written["services"]["qwen"]["model"]["size"] = "1Gi"
    found = {inputs(composed(lock, known, written)) for known in (facts(accepted=True), NOTHING_READ)}
    assert len(found) == 2


def test_nobody_is_asked_for_a_size_that_the_lock_has(tmp_path, monkeypatch):
    questions = list[object]()
    monkeypatch.setattr(source_sizes, "_ask", lambda question, *_: questions.append(question))
    assert isinstance(composed(write(locked(), tmp_path)), Composition)
    assert questions == []


def test_a_gateway_that_was_accepted_since_the_lock_is_told(tmp_path):
    composition = composed(write(locked(gateways=()), tmp_path), facts(accepted=True))
    (line,) = map(str, composition.waits.warnings)
    assert line == (
        "gateways/gateway: a controller has accepted this Gateway since the lock was written, but no run waits for "
        "its routes; run `python -m cli lock` with --update cluster"
    )


def test_the_provider_has_the_identity_of_the_lock(tmp_path, monkeypatch):
    """A cluster that is named in the stack file keeps that name."""
    program = Path("__main__.py").resolve()
    write(locked(gateways=()), tmp_path)
    (tmp_path / "__main__.py").symlink_to(program)
    monkeypatch.chdir(tmp_path)
    stack = STACK | {"cluster": {"facts": {"type": "none"}}}
    assert run(stack)["cluster"].inputs["clusterIdentifier"] == "prod-eu"
    named = STACK | {"cluster": {"facts": {"type": "none"}, "name": "prod-us"}}
    assert run(named)["cluster"].inputs["clusterIdentifier"] == "prod-us"


@pytest.mark.parametrize("mode", ["strict", "warn", "skip"])
def test_the_lock_of_another_cluster_never_changes_the_identity(tmp_path, mode):
    """The provider would replace all objects."""
    lock, stack = write(locked(gateways=()), tmp_path), STACK | {"checks": {"preflight": "skip", "lock": mode}}
    composition = compose(stack, Given(NOTHING_READ, cluster="prod-us"), NAME, lock=lock)
    message = "cluster.name: is prod-eu in the lock, and prod-us in the kubeconfig; write the name of the cluster here"
    if mode == "strict":
        assert isinstance(composition, Refusal)
        assert str(composition.error) == message
        return
    assert isinstance(composition, Composition)
    assert composition.stack.cluster.name is None
    assert [str(each) for each in composition.source_warnings] == ([message] if mode == "warn" else [])


def test_values_of_a_platform_are_those_of_the_lock(tmp_path):
    """The gateway of the lock needs no outputs, and comes before newer ones."""
    from models.platform import PlatformOutputs  # noqa: PLC0415, most stacks name no platform

    values = {"contractVersion": 1, "gateway": GATEWAY}
    lock = write(locked(gateways=(), platform=values), tmp_path)
    stack = {key: value for key, value in STACK.items() if key != "gateway"}
    stack |= {"platform": {"stack": "organization/platform/prod"}}
    newer = PlatformOutputs({"inferencePlatform": {**values, "gateway": {**GATEWAY, "name": "newer"}}})
    found = {inputs(composed(lock, stack=stack, platform=outputs)) for outputs in (None, newer)}
    assert found == {inputs(composed(lock))}


@pytest.mark.parametrize(
    ("mode", "secrets", "values"),
    [("strict", (), " gateway to newer"), ("warn", (), " gateway to newer"), ("skip", (), ""), ("warn", ("x",), "")],
)
def test_values_of_a_platform_that_differ_from_the_lock_are_told(tmp_path, mode, secrets, values):
    """A secret is not shown. Its name in this test stands for the output. See defects H1."""
    from models.platform import PlatformOutputs  # noqa: PLC0415, most stacks name no platform

    platform = {"contractVersion": 1, "gateway": GATEWAY}
    lock = write(locked(gateways=(), platform=platform), tmp_path)
    stack = {key: value for key, value in STACK.items() if key != "gateway"}
    stack |= {"platform": {"stack": "organization/platform/prod"}, "checks": {"preflight": "skip", "lock": mode}}
    name = "inferencePlatform"
    newer = PlatformOutputs(
        {name: {**platform, "gateway": {**GATEWAY, "name": "newer"}}}, frozenset(name for _ in secrets)
    )
    found = composed(lock, stack=stack, platform=newer)
    message = (
        f"platform: has changed since inference.dev.lock.yaml was written (gateway.name{values}; {name} of "
        "organization/platform/prod); run `python -m cli lock dev --update cluster`"
    )
    if mode == "strict":
        assert isinstance(found, Refusal)
        assert str(found.error) == message
        return
    assert isinstance(found, Composition)
    assert [str(each) for each in found.source_warnings] == ([] if mode == "skip" else [message])


def test_mistakes_of_the_lock_and_of_the_stack_are_told_together(tmp_path):
    lock = write(locked(), tmp_path)
    path = tmp_path / file_name("dev")
    path.write_text(path.read_text(encoding="utf-8").replace("bytes: 1073741824", "bytes: 1"), encoding="utf-8")
    refusal = composed(lock, stack=STACK | {"namespaces": "models"})
    assert isinstance(refusal, Refusal)
    assert [str(each.path) for each in sorted(refusal.error.problems)] == ["namespaces", "services.qwen"]


def test_a_stack_that_was_renamed_finds_its_lock_by_formerly(tmp_path):
    lock, renamed = write(locked(), tmp_path), StackName("organization", "inference-stacks", "prod")
    stack = STACK | {"checks": {"preflight": "skip", "lock": "strict"}}
    refusal = composed(lock, stack=stack, name=renamed)
    assert "there is no lock (inference.prod.lock.yaml)" in str(refusal.error)
    (tmp_path / file_name("prod")).write_bytes((tmp_path / file_name("dev")).read_bytes())
    refusal = composed(lock, stack=stack, name=renamed)
    assert f"is the lock of another stack ({NAME}, and not {renamed})" in str(refusal.error)
    stack |= {"formerly": ["inference-stacks/dev"]}
    assert isinstance(composed(lock, stack=stack, name=renamed), Composition)
    (tmp_path / file_name("prod")).unlink()
    assert isinstance(composed(lock, stack=stack, name=renamed), Composition)


def test_a_lock_that_is_given_by_its_path_must_exist(tmp_path):
    explicit = LockFile(tmp_path, "locks/models.yaml")
    assert str(composed(explicit).error) == (
        "locks/models.yaml: does not exist; write it with `python -m cli lock FILE --file locks/models.yaml`, or "
        "correct the path"
    )
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "models.yaml").write_text(text(locked()), encoding="utf-8")
    assert isinstance(composed(explicit), Composition)
