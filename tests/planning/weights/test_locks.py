"""Effect of a lock on a stack: what is fetched, what names are made of, which sizes are known, what is told."""

import pytest

import planning
from facts.source_sizes import add_sizes
from manifests.assembly import objects, render
from models.load import load
from models.lock import Lock
from models.paths import Path
from models.pins import Pin
from models.problems import ConfigError
from planning import outputs
from planning.weights import locks
from planning.weights.sizes import questions
from tests.support.stacks import NAME, find, lines, tree

TIME = "2026-11-22T05:00:00Z"
NEW, OLD = f"sha256:{'b' * 64}", f"sha256:{'a' * 64}"
COMMIT = "c1" * 20
KIT, HUB, BUCKET = "kit://registry.example/org/m:v1", "hf://org/m", "s3://models/m"
IMAGE = "image://registry.example/org/server:v1"
PINNED = {
    KIT: f"kit://registry.example/org/m@{OLD}",
    HUB: f"hf://org/m@{COMMIT}",
    BUCKET: BUCKET,
    IMAGE: f"image://registry.example/org/server@{OLD}",
}
MODEL = Path("services", "qwen", "model")
DEDICATED = {"storage": {"type": "dedicated"}}


def pin(was, source=None, **values):
    fields = {
        "was": was,
        "source": source or PINNED[was],
        "asked": TIME,
        "from": "registry.example",
        "bytes": 5 * 2**30,
    }
    return Pin.model_validate(fields | ({"digest": OLD} if was == BUCKET else {}) | values)


def locked(model=None, at=()):
    """Return a lock of the model of `qwen`, and of other paths."""
    pins = dict(at) if model is None else {**dict(at), MODEL: model}
    return Lock("organization/inference-stacks/dev", pins, file="inference.dev.lock.yaml")


def serving(source, **service):
    return tree(qwen={"model": {"name": "org/m", "source": source}, **service})


def applied(stack, lock):
    """Apply a lock and plan the stack, without asking any source."""
    result = locks.apply(load(stack), lock, "dev")
    assert all(
        each in result.answers or each.source.startswith("hf:") for each in questions(result.loaded).asked.values()
    )
    loaded, warnings = add_sizes(result.loaded, known=result.answers)
    plan = planning.plan(loaded, NAME)
    everything = [each.manifest for each in objects(render(plan))]
    return plan, everything, lines((*result.warnings, *warnings), "warning")


def plain(stack):
    return [each.manifest for each in objects(render(planning.plan(load(stack), NAME)))]


def told(stack, lock):
    """Return the warnings of the plan of a stack with a lock."""
    return lines(applied(stack, lock)[0].warnings, "warning")


def names(everything):
    return [(each["kind"], each["metadata"]["name"]) for each in everything]


def fetching(everything):
    """Return the command line of the container that fetches the model for pods."""
    (container,) = find(everything, "Deployment", "qwen-decode")["spec"]["template"]["spec"]["initContainers"]
    return " ".join([*container.get("command", ()), *container.get("args", ())])


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (KIT, f"registry.example/org/m@{OLD}"),
        (HUB, f"hf://org/m:{COMMIT}"),
        (BUCKET, f"{OLD} /storage-initializer/scripts/initializer-entrypoint {BUCKET}/ /models"),
    ],
)
def test_what_is_fetched_has_the_digest_and_names_stay(source, text):
    _, everything, warnings = applied(serving(source), locked(pin(source)))
    assert f" {text} " in f" {fetching(everything)} "
    assert names(everything) == names(plain(serving(source)))
    assert warnings == []


def test_the_image_of_an_engine_has_the_digest():
    _, everything, _ = applied(serving(IMAGE), locked(pin(IMAGE)))
    (engine,) = find(everything, "Deployment", "qwen-decode")["spec"]["template"]["spec"]["containers"]
    assert engine["image"] == f"registry.example/org/server@{OLD}"


@pytest.mark.parametrize("prefill", [{}, {"prefill": {}}])
@pytest.mark.parametrize("source", [KIT, HUB, BUCKET])
def test_pods_that_ran_before_the_lock_change_in_nothing(source, prefill):
    stack = serving(source, **prefill)
    _, everything, warnings = applied(stack, locked(pin(source, deployed=True)))
    assert everything == plain(stack)
    assert warnings == []
    what = "is fetched by its name, as before the lock, so a pod that starts later may serve other weights"
    remedy = "run `python -m cli lock` with --update qwen, then deploy; the deployment replaces the pods"
    assert told(stack, locked(pin(source, deployed=True))) == [
        f"services.qwen.model.source: {what} ({source}); {remedy}",
    ]
    assert told(stack, locked(pin(source))) == []


@pytest.mark.parametrize("source", [KIT, HUB, BUCKET])
def test_a_claim_that_was_filled_before_the_lock_changes_in_nothing(source):
    stack = serving(source, **DEDICATED)
    filled = locked(pin(source, deployed=True))
    what = f"was fetched to its claim before the lock, so the claim may hold other weights ({source})"
    message = f"services.qwen.model.source: {what}; write {PINNED[source]}; a Job then fills another claim"
    assert told(stack, filled) == ([] if source == BUCKET else [message])
    stack["services"]["qwen"]["model"]["size"] = "5Gi"
    assert applied(stack, filled)[1] == plain(stack)


def test_a_prefix_that_the_engine_opens_is_not_compared_and_a_warning_says_so():
    what = "services.qwen.model.source: is not compared with the lock, because the engine opens the source itself"
    remedy = "use another storage.type if the files may change"
    by_engine = told(serving(BUCKET, storage={"type": "engine"}), locked(pin(BUCKET)))
    assert f"{what}; {remedy}" in by_engine
    assert not any("not compared" in warning for warning in told(serving(BUCKET), locked(pin(BUCKET))))


@pytest.mark.parametrize("storage", [{}, DEDICATED])
def test_every_fetch_of_a_locked_prefix_compares_its_listing(storage):
    """The model by pods or by a Job, and an adapter by pods; an adapter of pods that ran before the lock does not."""
    adapters = {name: {"source": f"s3://models/{name}"} for name in ("earlier", "sql")}
    stack = tree(qwen={"model": {"name": "org/m", "source": BUCKET, "lora": {"adapters": adapters}}, **storage})
    values = {"asked": TIME, "from": "registry.example", "digest": NEW}
    pins = {
        MODEL / "lora" / "adapters" / name: Pin.model_validate(
            {**adapter, **values, "was": adapter["source"], "deployed": name == "earlier"}
        )
        for name, adapter in adapters.items()
    }
    _, everything, _ = applied(stack, locked(pin(BUCKET), at=pins))
    found = {container["name"]: container.get("command") for container in fetch_containers(everything)}
    assert found["adapter-earlier"] is None
    assert {name: found[name][-2] for name in ("model-download", "adapter-sql")} == {
        "model-download": OLD,
        "adapter-sql": NEW,
    }


def fetch_containers(everything):
    """Return the containers of Jobs, and the init containers of pods."""
    for each in everything:
        if each["kind"] in {"Deployment", "Job"}:
            spec = each["spec"]["template"]["spec"]
            yield from spec["containers"] if each["kind"] == "Job" else spec.get("initContainers", ())


@pytest.mark.parametrize("prefill", [{}, {"prefill": {}}])
@pytest.mark.parametrize("source", [KIT, HUB, BUCKET])
def test_a_claim_that_is_filled_keeps_its_name_and_only_the_spec_of_its_job_which_updates_ignore_changes(
    source, prefill
):
    stack = serving(source, **DEDICATED, **prefill)
    before = serving(source, **DEDICATED, **prefill)
    before["services"]["qwen"]["model"]["size"] = "5Gi"
    _, everything, _ = applied(stack, locked(pin(source)))
    differing = {old["kind"] for old, new in zip(plain(before), everything, strict=True) if old != new}
    assert differing <= {"Job"}


@pytest.mark.parametrize("source", [KIT, HUB, BUCKET])
def test_a_digest_that_has_moved_is_another_claim_and_another_generation(source):
    stack = serving(source, **DEDICATED, prefill={})
    moved = pin(source, source=PINNED[source].replace("a" * 64, "b" * 64).replace("c1", "c2"), moved=True)
    moved = moved.model_copy(update={"digest": NEW}) if source == BUCKET else moved
    before, after = (names(applied(stack, locked(each))[1]) for each in (pin(source), moved))
    for kind in ("PersistentVolumeClaim", "Job", "Deployment", "InferencePool"):
        assert {name for each, name in before if each == kind}.isdisjoint(
            name for each, name in after if each == kind and "epp" not in name
        ), kind


def test_a_digest_that_has_moved_touches_only_its_service():
    services = {key: {"model": {"name": f"org/{key}", "source": KIT}, **DEDICATED} for key in ("bert", "qwen")}
    stack, bert = tree(**services), Path("services", "bert", "model")
    moved = pin(KIT, source=f"kit://registry.example/org/m@{NEW}", moved=True)
    before, after = (applied(stack, locked(each, at={bert: pin(KIT)}))[1] for each in (pin(KIT), moved))
    differing = [each for each in after if each not in before]
    assert differing
    assert all("qwen" in each["metadata"]["name"] for each in differing)


def test_adapters_and_caches_and_canaries_have_pins():
    adapters = {"lora": {"adapters": {"sql": {"source": "hf://org/sql"}}}}
    canary = {"weight": 10, "model": {"source": HUB, **adapters}}
    stack = tree(
        qwen={"model": {"name": "org/m", "source": KIT, **adapters}, "canary": canary},
        bert={"model": {"name": "org/bert"}, "storage": {"type": "shared", "cache": "weights"}},
    )
    stack["caches"] = {"weights": {"source": BUCKET}}
    expected = [
        Path("caches", "weights"),
        MODEL,
        MODEL / "lora" / "adapters" / "sql",
        Path("services", "qwen", "canary", "model"),
    ]
    assert [each.at for each in locks.lockables(load(stack).stack)] == expected
    pins = {
        expected[0]: pin(BUCKET),
        MODEL: pin(KIT),
        expected[2]: pin("hf://org/sql", source=f"hf://org/sql@{COMMIT}"),
        expected[3]: pin(HUB),
    }
    loaded = locks.apply(load(stack), locked(at=pins), "dev").loaded
    qwen, bert = (loaded.stack.services[key] for key in ("qwen", "bert"))
    assert qwen.canary is not None
    assert [each.model.pinned_source for each in (qwen, qwen.canary)] == [PINNED[KIT], PINNED[HUB]]
    for each in (qwen, qwen.canary):
        assert each.model.lora is not None
        assert each.model.lora.adapters["sql"].pinned_source == f"hf://org/sql@{COMMIT}"
    assert bert.model.pin == loaded.stack.caches["weights"].pin == pin(BUCKET)
    assert (bert.model.size, loaded.stack.caches["weights"].size) == (str(5 * 2**30),) * 2


def test_a_draft_has_a_pin():
    draft = {"source": "hf://org/draft"}
    speculative = {"method": "eagle3", "tokens": 3, "draft": draft}
    stack = tree(qwen={"model": {"name": "org/m", "source": KIT, "speculative": speculative}})
    at = MODEL / "speculative" / "draft"
    assert [each.at for each in locks.lockables(load(stack).stack)] == [MODEL, at]
    pins = {MODEL: pin(KIT), at: pin("hf://org/draft", source=f"hf://org/draft@{COMMIT}")}
    model = locks.apply(load(stack), locked(at=pins), "dev").loaded.stack.services["qwen"].model
    assert model.speculative is not None
    assert model.speculative.draft is not None
    assert model.speculative.draft.pinned_source == f"hf://org/draft@{COMMIT}"


def test_the_size_of_a_claim_is_that_of_the_lock_unless_somebody_wrote_it():
    for source in (KIT, HUB, BUCKET):
        _, everything, _ = applied(serving(source, **DEDICATED), locked(pin(source)))
        (claim,) = [each for each in everything if each["kind"] == "PersistentVolumeClaim"]
        assert claim["spec"]["resources"]["requests"]["storage"] == "6Gi"
    stated = tree(qwen={"model": {"name": "org/m", "source": KIT, "size": "9Gi"}, **DEDICATED})
    assert locks.apply(load(stated), locked(pin(KIT)), "dev").loaded.stack.services["qwen"].model.size == "9Gi"


def test_compressed_bytes_are_no_size_and_nobody_is_asked_again():
    result = locks.apply(load(serving(KIT, **DEDICATED)), locked(pin(KIT, packed=True)), "dev")
    _, warnings = add_sizes(result.loaded, known=result.answers)
    assert [each.what for each in warnings] == [
        "holds 5368709120 compressed bytes, from which the size of the claim cannot be computed"
    ]


STALE = (
    "services.qwen.model.source: differs from inference.dev.lock.yaml, which has hf://org/other; "
    "run `python -m cli lock dev`"
)
ABSENT = "services.qwen.model.source: has no block in inference.dev.lock.yaml; run `python -m cli lock dev`"
OTHER = pin("hf://org/other", source=f"hf://org/other@{COMMIT}")


@pytest.mark.parametrize(
    ("lock", "message"),
    [(locked(OTHER), STALE), (locked(), ABSENT)],
)
def test_a_source_that_the_lock_does_not_have_is_told_and_fetched_as_written(lock, message):
    stack = serving(KIT)
    _, everything, warnings = applied(stack, lock)
    assert everything == plain(stack)
    assert warnings == [message]
    _, _, skipped = applied(stack | {"checks": {"lock": "skip"}}, lock)
    assert skipped == []
    with pytest.raises(ConfigError) as error:
        applied(stack | {"checks": {"lock": "strict"}}, lock)
    assert str(error.value) == message


def test_other_settings_are_another_source():
    stack = tree(qwen={"model": {"name": "org/m", "source": BUCKET, "endpoint": "http://minio.storage:9000"}})
    _, _, warnings = applied(stack, locked(pin(BUCKET)))
    assert warnings == [STALE.replace("hf://org/other", "the same source with other settings")]
    _, _, warnings = applied(stack, locked(pin(BUCKET, settings={"endpoint": "http://minio.storage:9000"})))
    assert warnings == []


def test_without_a_lock_only_strict_says_so():
    stack = serving(KIT)
    _, everything, warnings = applied(stack, None)
    assert (everything, warnings) == (plain(stack), [])
    with pytest.raises(ConfigError) as error:
        applied(stack | {"checks": {"lock": "strict"}}, None)
    assert str(error.value) == (
        "checks.lock: is strict, and there is no lock (inference.dev.lock.yaml); "
        "write one with `python -m cli lock dev`"
    )


def test_a_source_with_a_mistake_has_no_pin_and_no_second_message():
    stack = serving("hf:/x/y")
    with pytest.raises(ConfigError) as error:
        planning.plan(locks.apply(load(stack), locked(pin(KIT)), "dev").loaded, NAME)
    assert "inference.dev.lock.yaml" not in str(error.value)


def test_outputs_name_what_is_fetched_by_the_lock():
    model = {"name": "org/m", "source": KIT, "lora": {"adapters": {"sql": {"source": BUCKET}}}}
    pins = {MODEL: pin(KIT), MODEL / "lora" / "adapters" / "sql": pin(BUCKET)}
    plan, _, _ = applied(tree(qwen={"model": model}), locked(at=pins))
    found = outputs.of_stack(plan, None)["services"]["qwen"]
    assert found["model"]["locked"] == {"source": PINNED[KIT], "digest": None}
    assert found["model"]["lockedAdapters"] == {"sql": {"source": BUCKET, "digest": OLD}}
    assert found["warnings"] == []
    plan, _, _ = applied(serving(KIT), locked(pin(KIT, deployed=True)))
    found = outputs.of_stack(plan, None)["services"]["qwen"]
    assert (found["model"]["locked"], len(found["warnings"])) == (None, 1)
