"""A role that does not fit its devices is told so, with what would fit; what is unknown is never guessed."""

import re
import time

import pytest

from models.load import load
from models.lock import Lock
from models.paths import Path
from models.pins import Pin
from models.problems import ConfigError
from planning.fit.memory import Fit
from planning.ground.cluster_facts import Unknown
from planning.resolve import resolve
from planning.serving import device_memory
from planning.weights import locks
from tests.support.stacks import NAME, lines, plan, tree
from tests.support.stacks.profiles import composed, profile

GI = 2**30
MISTRAL = "hf://mistralai/Mistral-Small-24B-Instruct-2501"
ARCHITECTURE = {
    "layers": 48, "hiddenSize": 5120, "intermediateSize": 13824, "heads": 40, "kvHeads": 8, "headDim": 128,
    "vocabSize": 131072, "contextLength": 32768,
}  # fmt: skip
"""A model of the user's own."""


def service(**values):
    """Return a service of a public model on a small device."""
    return {"model": {"source": MISTRAL}, "accelerator": "nvidia-l40s", **values}


def stack(mode="strict", **values):
    return {**tree(qwen=service(**values)), "checks": {"fit": mode}}


def workload(found):
    return plan(found).services[0].primary.roles["decode"]


def fit(**values):
    """Return the fit of a service that need not fit."""
    return workload(stack("skip", **values)).fit


def messages(found):
    """Return the errors of a stack."""
    with pytest.raises(ConfigError) as raised:
        plan(found)
    return [str(problem) for problem in raised.value.problems]


CASES = {
    "132Gi on one L40S": {"model": {"source": "hf://Qwen/Qwen3-235B-A22B", "size": "132Gi"}},
    "Mistral-Small-24B in bfloat16 on one L40S": {},
    "a context for which too little is left": {"model": {"source": "hf://Qwen/Qwen3-8B"}, "accelerator": "nvidia-l4"},
    "a model of the user's own": {
        "model": {"name": "org/m", "source": "s3://bucket/m", "size": "60Gi", "architecture": ARCHITECTURE},
    },
    "a model on one of several devices": {
        "model": {"source": "hf://meta-llama/Llama-3.3-70B-Instruct"},
        "accelerator": "nvidia-h100-80gb",
        "parallelism": {"data": 2},
    },
    "a model on a CPU": {
        "model": {"source": "hf://Qwen/Qwen3-8B", "maxModelLen": 32768},
        "accelerator": "cpu",
        "resources": {"limits": {"memory": "18Gi"}},
    },
    "a model of which the catalogue has a quantised profile": {
        "model": {"source": "hf://meta-llama/Llama-3.3-70B-Instruct"},
        "accelerator": "nvidia-h200",
    },
    "a model whose quantised profile has other devices": {
        "model": {"source": "hf://meta-llama/Llama-3.3-70B-Instruct"},
        "accelerator": "amd-mi210",
    },
    "AMD's devices": {"model": {"source": "hf://deepseek-ai/DeepSeek-R1"}, "accelerator": "amd-mi300x"},
}
"""Services of the kind of A9, whose devices are too small."""
PROFILE = "replace accelerator, parallelism, model.source and model.size"
"""Beginning of the remedy that names a profile."""


TAKEN = ("accelerator", "parallelism")
"""Keys of a service whose values a profile decides, besides those of its model."""


def mended(values, remedy):
    """Yield a service with each change that one remedy of a message names."""
    if length := re.fullmatch(r"set model.maxModelLen to (\d+) at most", remedy):
        yield values | {"model": {**service(**values)["model"], "maxModelLen": int(length[1])}}
    elif sizes := re.fullmatch(r"under parallelism, set (.*?) \(.*\)", remedy):
        pairs = {key: int(size) for key, size in (each.split(": ") for each in sizes[1].split(", "))}
        yield values | {"parallelism": {**values.get("parallelism", {}), **pairs}}
    elif limit := re.fullmatch(r"raise resources.limits.memory to (\w+)", remedy):
        yield values | {"resources": {"limits": {"memory": limit[1]}}}
    elif chosen := re.fullmatch(rf"{PROFILE} by model.name: (\S+) and selection.profile: (\S+) \(.*\)", remedy):
        model = {key: each for key, each in values["model"].items() if key not in {"source", "size"}}
        others = {key: each for key, each in values.items() if key not in TAKEN}
        yield others | {"model": {**model, "name": chosen[1]}, "selection": {"profile": chosen[2]}}
    else:
        yield from (values | {"accelerator": name} for name in re.findall(r"(?:use|,|or) (\S+) \(", remedy))


def remedies_of(message):
    return re.search(r"\); (.*)", message)[1].split(", or ")


def mended_fit(values):
    """Return the fit of a service after its profile was selected, if it asks for one."""
    given = values if "selection" in values else service(**values)
    composition = composed({**tree(), "services": {"qwen": given}, "checks": {"fit": "skip"}})
    return composition.plan.services[0].primary.roles["decode"]


@pytest.mark.parametrize("values", CASES.values(), ids=CASES.keys())
def test_what_is_too_small_is_refused_with_remedies_that_then_pass(values):
    """See defects A9."""
    (message,) = messages(stack(**values))
    assert message.startswith("services.qwen.accelerator: is too small for ")
    for remedy in remedies_of(message):
        changed = list(mended(values, remedy))
        assert changed, remedy
        assert all(mended_fit(each).fit.is_sufficient for each in changed), remedy


LLAMA = {"model": {"source": "hf://meta-llama/Llama-3.3-70B-Instruct"}, "accelerator": "nvidia-h200"}


def profile_of(**values):
    """Return the id of the profile that a message names; None if it names none."""
    (message,) = messages({**stack(**LLAMA), **values})
    named = re.search(r"selection.profile: (\S+)", message)
    return named and named[1]


def of_one_device(key, precision="fp8", **model):
    """Return profiles of the model with one device."""
    source = {"source": "hf://RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "size": "68Gi", **model}
    architecture = {**ARCHITECTURE, "layers": 80, "heads": 64}
    keys = {"model": {**source, "architecture": architecture}}
    more = {"precision": precision, "model": "meta-llama/Llama-3.3-70B-Instruct"}
    return {"catalogue": {"profiles": {key: profile("nvidia-h200", service=keys, **more)}}}


def test_a_quantised_profile_of_the_catalogue_is_named():
    assert profile_of() == "llama-3-3-70b-instruct-h200-fp8-throughput"
    assert profile_of(**of_one_device("a-private-one")) == "a-private-one"


def test_no_profile_is_named_that_would_not_fit_or_is_no_smaller():
    of_nobody = {"catalogue": {"shipped": False}}
    assert profile_of(**of_nobody) is None
    for given in (of_one_device("too-large", size="120Gi"), of_one_device("whole", precision="bf16")):
        assert profile_of(catalogue={**given["catalogue"], "shipped": False}) is None
    tight = {**LLAMA, "engine": {"gpuMemoryUtilization": 0.5}}
    alone = {"catalogue": {**of_one_device("tight")["catalogue"], "shipped": False}}
    assert profile_of(**alone) == "tight"
    assert profile_of(**alone, services={"qwen": tight}) is None


def test_no_profile_is_named_whose_keys_an_inherited_one_would_beat():
    wide, narrow = ({"parallelism": {"tensor": size}} for size in (2, 1))
    assert profile_of(services={"qwen": {**LLAMA, **wide, "canary": {"weight": 10, **narrow}}}) is None
    assert profile_of(services={"qwen": {**LLAMA, "prefill": wide}}) is None


def test_classes_are_named_with_the_sequences_that_they_hold():
    (message,) = messages(stack(model={"source": "hf://Qwen/Qwen3-8B"}, accelerator="nvidia-l4"))
    (classes,) = [each for each in remedies_of(message) if each.startswith("use ")]
    named = re.findall(r"(\S+) \((\d+) × 40960 tokens\)", classes)
    assert len(named) == 3
    for name, sequences in named:
        assert fit(model={"source": "hf://Qwen/Qwen3-8B"}, accelerator=name).most_sequences == int(sequences)


def test_the_severity_is_that_of_the_check():
    assert messages(stack("strict"))
    (warning,) = [each for each in lines(plan(stack("warn")).warnings, "warning") if "too small" in each]
    assert warning.startswith("services.qwen.accelerator: ")
    assert [each for each in lines(plan(stack("skip")).warnings, "warning") if "too small" in each] == []
    default = tree(qwen=service())
    assert [each for each in lines(plan(default).warnings, "warning") if "too small" in each] == [warning]


OWN = {"name": "org/m", "source": "s3://bucket/m", "size": "1Gi", "maxModelLen": 8}


def fields(architecture, **values):
    """Return a service whose model is the user's own; values that are None are absent."""
    model = {**OWN, "architecture": architecture, **values}
    return {"model": {key: value for key, value in model.items() if value is not None}}


UNKNOWN = {
    "the architecture of the model is unknown": {"model": {"source": "hf://org/m"}},
    "the family novel": fields({**ARCHITECTURE, "family": "novel"}),
    "the bytes of the weights are unknown": fields(ARCHITECTURE, size=None),
    "the memory of devices of nvidia is unknown": {"accelerator": "nvidia"},
    "the memory of a custom engine is unknown": {"engine": {"type": "custom", "image": "registry.example/e:v1"}},
    "the longest context is unknown": fields({"layers": 2, "heads": 2, "headDim": 64}, maxModelLen=None),
    "the heads of the model": fields({"layers": 2}),
    "the number of layers": fields({"heads": 2}),
}


@pytest.mark.parametrize(("reason", "values"), UNKNOWN.items(), ids=UNKNOWN)
def test_what_is_unknown_is_said_as_unknown(reason, values):
    found = fit(**values)
    assert isinstance(found, Unknown)
    assert reason in found.reason
    (warning,) = [each for each in lines(plan(stack("strict", **values)).warnings, "warning") if "unchecked" in each]
    assert reason in warning
    assert [each for each in lines(plan(stack("warn", **values)).warnings, "warning") if "unchecked" in each] == []


def changed(**values):
    """Return the fit of a service before and after a change."""
    small = {"model": {"source": "hf://Qwen/Qwen3-8B"}}
    return fit(**small), fit(**{**small, **values})


def args(*flags):
    return {"engine": {"args": [*flags], "image": "registry.example/vllm-openai:v0.21.0"}}


def test_flags_of_the_engine_count():
    before, after = changed(**args("--kv-cache-dtype=fp8"))
    assert after.cache * 2 == before.cache
    before, after = changed(**args("--kv-cache-dtype", "int8_per_token_head"))
    assert before.cache / 2 < after.cache < before.cache
    before, after = changed(**args("--kv-cache-dtype=nvfp4"))
    assert after.cache == before.cache * 0.5625 / 2
    before, after = changed(**args("--dtype=float32"))
    assert (after.weights, after.cache) == (before.weights * 2, before.cache * 2)
    before, after = changed(**args("--enforce-eager"))
    assert after.overhead == before.overhead - 36 * 20 * 2**20
    before, after = changed(**args("--max-num-batched-tokens=16384"))
    assert after.overhead > before.overhead
    before, after = changed(**args("--cpu-offload-gb=4"))
    assert after.weights == before.weights - 4 * GI
    before, after = changed(**args("--kv-cache-memory-bytes=1073741824"))
    assert (after.room, after.is_sufficient) == (GI, False)
    before, after = changed(**args("--decode-context-parallel-size=2"))
    assert after.cache * 2 == before.cache


def test_graphs_count_since_the_version_that_counts_them():
    engine = {"image": "registry.example/vllm-openai:v0.20.0"}
    before, after = changed(engine=engine)
    assert after.overhead < before.overhead


def of_windows(image, *flags, source="hf://google/gemma-3-27b-it", **values):
    """Return the bytes of the cache of a model with windows."""
    engine = {"image": f"registry.example/vllm-openai:{image}", "args": [*flags]}
    return fit(model={"source": source, "maxModelLen": 32768}, engine=engine, **values).cache


TRANSFERS = {
    "prefill": ((), {"prefill": {}}),
    "cpuOffload": ((), {"kvCache": {"cpuOffload": "32Gi"}}),
    "a flag": (('--kv-transfer-config={"kv_connector":"OffloadingConnector","kv_role":"kv_both"}',), {}),
}


@pytest.mark.parametrize(("flags", "values"), TRANSFERS.values(), ids=TRANSFERS)
def test_windows_save_no_memory_beside_a_connector_of_an_old_engine(flags, values):
    less = of_windows("v0.22.0", *flags, **values)
    more = of_windows("v0.21.0", *flags, **values)
    assert more > less * 3
    assert of_windows("v0.21.0", "--no-disable-hybrid-kv-cache-manager", *flags, **values) == less
    assert of_windows("v0.22.0", "--disable-hybrid-kv-cache-manager", *flags, **values) == more


def test_windows_save_no_memory_beside_lmcache():
    """The connector does not support the memory of hybrid models, which vLLM then turns off."""
    less = of_windows("v0.30.0")
    more = of_windows("v0.30.0", kvCache={"tiers": [{"type": "lmcache", "size": "8Gi"}]})
    assert more > less * 3
    assert of_windows("v0.30.0", kvCache={"tiers": [{"type": "cpu", "size": "8Gi"}]}) == less


def test_a_connector_changes_nothing_without_both_kinds_of_layers():
    for source in ("hf://Qwen/Qwen3-8B", "hf://mistralai/Mistral-7B-v0.1"):
        flag = "--disable-hybrid-kv-cache-manager"
        assert of_windows("v0.21.0", flag, source=source) == of_windows("v0.21.0", source=source)


def test_a_recurrent_layer_reserves_two_states_where_the_engine_caches_prefixes():
    """The 23 recurrent layers are padded to 24, a multiple of the six that cache tokens."""
    source = "hf://nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"
    less = of_windows("v0.25.1", source=source)
    more = of_windows("v0.26.0", source=source)
    assert more == less + 24 * 2134016
    assert of_windows("v0.25.1", "--enable-prefix-caching", source=source) == more
    assert of_windows("v0.26.0", "--no-enable-prefix-caching", source=source) == less
    qwen = "hf://Qwen/Qwen3-8B"
    assert of_windows("v0.25.1", source=qwen) == of_windows("v0.26.0", source=qwen)


def test_graphs_count_on_devices_of_amd_since_a_later_version():
    given = {"model": {"source": "hf://Qwen/Qwen3-8B"}, "accelerator": "amd-mi300x"}
    old, new = (fit(engine={"image": f"registry.example/vllm-openai-rocm:v0.{each}.0"}, **given) for each in (25, 26))
    assert new.overhead == old.overhead + 36 * 110 * 2**20


def test_sequences_adapters_and_utilization_count():
    before, after = changed(engine={"maxNumSeqs": 16})
    assert after.overhead < before.overhead
    before, after = changed(engine={"gpuMemoryUtilization": 0.5})
    assert after.usable < before.usable
    adapters = {"adapters": {"sql": {"source": "hf://org/sql"}}, "maxRank": 64}
    before, after = changed(model={"source": "hf://Qwen/Qwen3-8B", "lora": adapters})
    more = {"model": {"source": "hf://Qwen/Qwen3-8B", "lora": {**adapters, "maxAdapters": 8}}}
    adapter = after.overhead - before.overhead
    assert adapter > 0
    assert fit(**more).overhead - before.overhead == 8 * adapter


def test_weights_are_divided_by_tensor_stages_and_experts():
    model = {"source": "hf://deepseek-ai/DeepSeek-V3"}
    h200 = {"model": model, "accelerator": "nvidia-h200"}
    whole = fit(**h200).weights
    assert fit(**h200, parallelism={"tensor": 8}).weights == pytest.approx(whole / 8, rel=0.001)
    copies = fit(**h200, parallelism={"tensor": 2, "data": 4}).weights
    experts = fit(**h200, parallelism={"tensor": 2, "data": 4, "expert": True}).weights
    assert whole / 8 < copies < whole / 6
    assert experts == copies
    stages = fit(**h200, parallelism={"tensor": 4, "pipeline": 2}).weights
    assert whole / 8 < stages < whole / 7


def test_experts_that_do_not_divide_evenly_are_on_the_device_that_holds_most():
    architecture = {**ARCHITECTURE, "experts": 3, "expertShare": 1, "expertsPerToken": 1}
    model = {"name": "org/m", "source": "s3://bucket/m", "size": "90Gi", "architecture": architecture}
    parallelism = {"tensor": 1, "data": 2, "expert": True}
    found = fit(model=model, accelerator="nvidia-b200", parallelism=parallelism)
    assert found.weights == pytest.approx(60 * GI)


def test_key_and_value_heads_are_replicated_beyond_their_number():
    h100 = {"model": {"source": "hf://Qwen/Qwen3-235B-A22B"}, "accelerator": "nvidia-h100-80gb"}
    four, eight = (fit(**h100, parallelism={"tensor": size}) for size in (4, 8))
    assert four.cache == eight.cache


def test_each_role_and_each_variant_is_computed():
    prefill = {"prefill": {"engine": {"gpuMemoryUtilization": 0.5}}}
    canary = {"canary": {"weight": 10, "model": {"source": "hf://Qwen/Qwen3-8B"}}}
    found = [each.partition(": ")[0] for each in messages(stack(**prefill, **canary))]
    assert {*found} == {"services.qwen.accelerator", "services.qwen.canary.prefill.accelerator"}
    primary = plan(stack("skip", **prefill, **canary)).services[0]
    assert primary.primary.roles["prefill"].fit.usable < primary.primary.roles["decode"].fit.usable
    assert primary.canary.roles["decode"].fit.weights < primary.primary.roles["decode"].fit.weights


def pinned(architecture=None, **values):
    """Return the stack of a model in a bucket with a lock."""
    source = "s3://bucket/m"
    given = {"was": source, "source": source, "asked": "2026-11-23T00:00:00Z", "from": "a", "bytes": 60 * GI}
    pin = Pin.model_validate({**given, **values, "architecture": architecture})
    lock = Lock(str(NAME), {Path("services", "qwen", "model"): pin})
    found = load(stack("skip", model={"name": "org/m", "source": source}))
    return locks.apply(found, lock, "dev").loaded


def of_lock(loaded):
    (context,) = resolve(loaded.stack).contexts.roles.values()
    return device_memory.fit(context)


def test_the_lock_has_the_numbers():
    found = of_lock(pinned({**ARCHITECTURE, "family": "qwen3"}))
    assert isinstance(found, Fit)
    assert found.weights == 60 * GI


def test_numbers_of_a_lock_without_a_family_do_not_suffice():
    """A lock of an earlier version has numbers of hybrid models that look like those of others."""
    assert isinstance(of_lock(pinned(ARCHITECTURE)), Unknown)


def test_startup_follows_from_the_bytes_of_the_lock_where_it_changes_what_pods_fetch():
    assert pinned({}, source="s3://bucket/other").stack.services["qwen"].model.size == str(60 * GI)
    assert pinned({}).stack.services["qwen"].model.size is None
    assert pinned({}, source="s3://bucket/other", deployed=True).stack.services["qwen"].model.size is None
    assert pinned({}, source="s3://bucket/other", packed=True).stack.services["qwen"].model.size is None


def test_two_hundred_services_cost_less_than_fifty_milliseconds():
    services = {f"s{number}": service(model={"source": MISTRAL, "maxModelLen": 1000 + number}) for number in range(200)}
    loaded = load({**tree(**services), "checks": {"fit": "skip"}})
    roles = [*resolve(loaded.stack).contexts.roles.values()]
    assert len(roles) == 200
    times = []
    for _ in range(5):
        start = time.process_time()
        assert not any(found.is_sufficient for found in map(device_memory.fit, roles))
        times.append(time.process_time() - start)
    assert min(times) < 0.05
