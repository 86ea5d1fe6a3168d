"""The generation of pods that exchange their cache: what makes another one, and who agrees on it."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import flags
from models.load import load
from planning.ground import labels
from planning.releases import channel, channels
from planning.resolve import resolve
from planning.variant import generation, kv_cache
from tests.support.stacks import SERVICE, exactly, plan, rendered, tree
from tests.support.stacks.shapes import SPANNING, engine, flag, label, model_servers, sidecars

RELEASE = channel("llm-d-0.10")
VERIFY = {"type": "key", "secret": "cosign"}
HPA = {"type": "hpa", "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
KIT = SERVICE["model"]
S3 = {"name": "org/model", "source": "s3://bucket/model"}
SURGE = {"type": "RollingUpdate", "maxSurge": 1}
RECREATE = {"rollout": {"type": "Recreate"}}
IMAGES = {labels.DECODE: "registry.example/engine:v1", labels.PREFILL: "registry.example/engine:v1"}
LORA = {"adapters": {"sql": {"source": "hf://org/sql"}}}
CONTAINER = {"containers": [{"name": "vllm", "tty": True}]}
PATCH = {"spec": {"template": {"spec": CONTAINER}}}
COMMAND = ["sh", "-c", 'export VLLM_ATTENTION_BACKEND=FLASHINFER; exec vllm serve "$@"']


def of(service=None, **stack):
    """Return the generation of a service of two roles."""
    return plan(tree(qwen={"prefill": {}, **(service or {})}) | stack).services[0].primary.names.generation


def identity(service):
    stack = load(tree(qwen={"prefill": {}, **service})).finish()
    return generation.identity(stack.services["qwen"], stack, RELEASE, IMAGES, 64)


def args(*given_args):
    return {"engine": {"args": list(given_args)}}


def test_a_generation_is_five_hex_digits_of_a_service_of_two_roles():
    assert re.fullmatch(r"[0-9a-f]{5}", of())
    assert plan(tree()).services[0].primary.names.generation is None


@pytest.mark.parametrize(
    "service",
    [
        args("--kv-cache-dtype=fp8"),
        args("--mm-processor-cache-gb=2"),
        args("--max-logprobs=7"),
        args("--hf-overrides={}"),
        args('--kv-transfer-config={"kv_connector": "X"}'),
        {"engine": {"image": "registry.example/engine:v2"}},
        {"engine": {"env": {"VLLM_KV_CACHE_LAYOUT": "HND"}}},
        {"engine": {"env": {"PYTHONHASHSEED": "1"}}},
        {"engine": {"env": {"ANYTHING": {"secretKeyRef": {"name": "one", "key": "one"}}}}},
        {"accelerator": "nvidia-h100-80gb"},
        {"accelerator": "amd"},
        {"parallelism": {"tensor": 2}},
        {"parallelism": {"data": 2}},
        SPANNING,
        {"accelerator": "nvidia-h100-80gb", "acceleratorMemory": "160Gi"},
        {"model": {**KIT, "source": "kit://registry.example/org/model:v2"}},
        {"model": {**KIT, "filter": ["model", "code"]}},
        {"model": {**KIT, "lora": LORA}},
        {"model": S3},
        {"model": {**S3, "endpoint": "http://minio:9000"}},
        {"kvCache": {"blockSize": 128}},
        {"kvCache": {"connector": "mooncake"}},
        {"patch": PATCH},
        {"patch": {"spec": {"template": {"spec": {"initContainers": [{"name": "model-unpack", "tty": True}]}}}}},
        {"engine": {"command": COMMAND}},
        {"prefill": {"engine": {"command": COMMAND}}},
        {"prefill": args("--max-logprobs=7")},
        {"prefill": {"parallelism": {"tensor": 2}}},
        {"prefill": {"engine": {"image": "registry.example/engine:v2"}}},
        {"prefill": {"engine": {"env": {"VLLM_KV_CACHE_LAYOUT": "HND"}}}},
        {"prefill": {"accelerator": "nvidia-h100-80gb"}},
        {"prefill": {"patch": PATCH}},
    ],
    ids=json.dumps,
)
def test_what_may_shape_or_fill_the_cache_makes_another_generation(service):
    assert of(service) not in {of(), None}


def test_another_program_of_further_pods_makes_another_generation():
    def of_custom(**engine_fields):
        engine_spec = {"type": "custom", "image": "registry.example/engine:v1", "command": ["serve"], **engine_fields}
        return of({"engine": engine_spec, "kvCache": {"connector": "nixlv2"}, "parallelism": {"pods": 2}})

    plain = of_custom()
    assert of_custom(workerCommand=["serve", "--headless"]) not in {plain, None}
    assert of_custom(workerCommand=[]) == plain


def test_every_such_change_makes_its_own_generation():
    given_args = [
        args(argument) for argument in ("--trust-remote-code", "--enable-return-routed-experts", "--max-logprobs=1")
    ]
    roles = [{"prefill": service} for service in given_args]
    assert len({of(service) for service in (*given_args, *roles)}) == 6


@pytest.mark.parametrize(
    "service",
    [
        {"replicas": 3},
        {"autoscaling": HPA},
        {"resources": {"requests": {"memory": "40Gi"}}},
        {"pod": {"nodeSelector": {"disk": "fast"}, "serviceAccountName": "models", "labels": {"a": "b"}}},
        {"health": {"path": "/ready", "interval": "30s"}},
        {"rollout": SURGE},
        {"disruptionBudget": {"enabled": False}},
        {"labels": {"team": "search"}, "annotations": {"owner": "search"}},
        {"drainTimeout": "90s"},
        {"route": {"enabled": False}},
        {"endpointPicker": {"logLevel": 4, "image": "registry.example/picker:v1"}},
        {"sidecar": {"logLevel": "debug", "image": "registry.example/sidecar:v1"}},
        {"name": "chat"},
        {"namespace": "search"},
        {"model": {**KIT, "name": "org/other"}},
        {"model": {**KIT, "size": "10Gi", "secrets": ["registry"], "verify": VERIFY}},
        {"model": {**KIT, "maxModelLen": 4096}},
        {"engine": {"maxNumSeqs": 64, "gpuMemoryUtilization": 0.8}},
        {"engine": {"env": {"HF_HUB_OFFLINE": "1", "NCCL_DEBUG": "INFO", "VLLM_LOGGING_LEVEL": "DEBUG"}}},
        {"kvCache": {"blockSize": kv_cache.BLOCK_SIZE}},
        {"kvCache": {"events": True}},
        {"patch": {"spec": {"template": {"spec": {"hostNetwork": False}}}}},
        {"storage": {"type": "ephemeral", "mountPath": "/weights"}},
        {"prefill": {"replicas": 5, "health": {"interval": "30s"}, "rollout": SURGE}},
        {"canary": {"weight": 10, "parallelism": {"tensor": 2}}},
        {**RECREATE, "prefill": {"rollout": SURGE}},
    ],
    ids=json.dumps,
)
def test_what_does_not_touch_the_cache_makes_none(service):
    assert of({"accelerator": "nvidia", **service}) == of()


@pytest.mark.parametrize("kind", ["dedicated", "shared"])
def test_weights_from_another_place_are_another_generation(kind):
    def generation_of(endpoint):
        fill = {"endpoint": endpoint}
        caches = {"m": {"source": S3["source"], "size": "1Gi", "fill": fill}} if kind == "shared" else {}
        storage = (
            {"type": "shared", "cache": "m"} if kind == "shared" else {"type": "dedicated", "size": "1Gi", "fill": fill}
        )
        return of({"model": S3, "storage": storage}, caches=caches)

    assert generation_of("http://one:9000") != generation_of("http://other:9000")


@pytest.mark.parametrize("name", RELEASE.engine.neutral_flags)
def test_a_neutral_flag_makes_none(name):
    value = '={"a":1}' if name in RELEASE.engine.json_flags else "=1"
    flagged, plain = (load(tree(qwen={"prefill": {}, **service})).stack for service in (args(f"{name}{value}"), {}))
    with_flag, without_flag = (
        generation.name_of(each.services["qwen"], each, RELEASE, IMAGES, 64) for each in (flagged, plain)
    )
    assert with_flag == without_flag


def test_another_release_is_another_generation_only_by_its_image():
    custom_engine = {"image": "registry.example/engine:v1"}
    service = {"prefill": {"engine": custom_engine}, "engine": custom_engine}
    stacks = (load(tree(qwen=service) | {"release": name}).stack for name in channels())
    contexts = [resolve(stack).contexts.primary("qwen") for stack in stacks]
    assert [context.images[labels.DECODE] for context in contexts] == [custom_engine["image"]] * len(channels())


@pytest.mark.parametrize("name", channels())
def test_no_flag_of_the_form_of_the_cache_is_neutral(name):
    facts = channel(name).engine
    assert not set(facts.neutral_flags) & set(facts.cache_flags)
    assert all(switch.startswith("--") for switch in (*facts.neutral_flags, *facts.cache_flags))
    assert sorted(set(facts.neutral_flags)) == list(facts.neutral_flags)
    assert sorted(set(facts.cache_flags)) == list(facts.cache_flags)


def test_neutral_are_only_variables_that_begin_like_one():
    prefixes = tuple(RELEASE.engine.neutral_variables)
    assert prefixes
    assert of({"engine": {"env": {f"{prefix}X": "1" for prefix in prefixes}}}) == of()
    assert of({"engine": {"env": {f"X{prefix}X": "1" for prefix in prefixes}}}) != of()


@pytest.mark.parametrize(
    ("service", "prefill", "has_one"),
    [(RECREATE, RECREATE, False), (RECREATE, {"rollout": SURGE}, True), ({}, RECREATE, True)],
)
def test_roles_that_all_end_before_the_new_ones_start_need_none(service, prefill, has_one):
    assert (of({**service, "prefill": prefill}) is not None) is has_one


TOKENS = st.sampled_from(
    ["--max-logprobs=1", "--trust-remote-code", "--kv-cache-dtype=fp8", "--seed=1", "--dtype=half", "--runner=pooling"]
)
ENV = st.dictionaries(st.sampled_from(["A", "B", "HF_X", "VLLM_Y"]), st.sampled_from(["1", "2"]), max_size=4)


@given(ENV, st.lists(TOKENS, unique=True, max_size=4), st.randoms())
def test_it_is_a_pure_function_of_the_configuration_whatever_the_order_of_its_keys(env, tokens, random):
    service = {
        "engine": {"env": env, "args": tokens},
        "parallelism": {"tensor": 2, "data": 2},
        "kvCache": {"events": True},
    }

    def shuffled(value):
        if not isinstance(value, dict):
            return value
        keys = list(value)
        random.shuffle(keys)
        return {key: shuffled(value[key]) for key in keys}

    assert of(shuffled(service)) == of(service)


@given(ENV, st.lists(TOKENS, unique=True, max_size=4))
def test_two_services_have_one_generation_exactly_where_they_have_one_identity(env, tokens):
    service = {"engine": {"env": env, "args": tokens}}
    assert (of(service) == of()) is (identity(service) == identity({}))


def test_the_identity_is_plain_data():
    assert json.loads(json.dumps(identity({"model": {**KIT, "lora": LORA}, "patch": PATCH})))


# --- who agrees on it


def test_everything_of_a_variant_agrees_on_its_generation():
    stack = tree(qwen={"prefill": {}, "canary": {"weight": 10, "parallelism": {"tensor": 2}}})
    everything = rendered(stack)
    planned = plan(stack).services[0]
    assert planned.primary.names.generation != planned.canary.names.generation
    for variant, base in ((planned.primary, "qwen"), (planned.canary, "qwen-canary")):
        found = variant.names.generation
        pool = exactly(everything, "InferencePool", f"{base}-{found}")
        assert pool["spec"]["selector"]["matchLabels"][labels.GENERATION] == found
        role = exactly(everything, "Role", f"{base}-{found}-epp")
        (rule,) = [rule for rule in role["rules"] if "inferencepools" in rule["resources"]]
        assert rule["resourceNames"] == [f"{base}-{found}"]
        picker = exactly(everything, "Deployment", f"{base}-{found}-epp")["spec"]
        assert picker["selector"]["matchLabels"][labels.GENERATION] == found
        assert flag(engine(picker["template"]), "--pool-name") == f"{base}-{found}"
        workloads = [
            exactly(everything, "Deployment", f"{base}-{found}-{role_name}")["spec"]
            for role_name in ("decode", "prefill")
        ]
        for workload in workloads:
            assert workload["selector"]["matchLabels"][labels.GENERATION] == found
            assert label(workload["template"], labels.GENERATION) == found
        (proxy,) = sidecars(workloads[0]["template"])
        assert flag(proxy, "--inference-pool") == f"models/{base}-{found}"
        assert exactly(everything, "Service", f"{base}-{found}-epp")["spec"]["selector"][labels.GENERATION] == found
    backends = exactly(everything, "HTTPRoute", "qwen")["spec"]["rules"][-1]["backendRefs"]
    assert [backend["name"] for backend in backends] == [
        f"qwen-canary-{planned.canary.names.generation}",
        f"qwen-{planned.primary.names.generation}",
    ]


def test_the_routed_service_selects_the_decode_pods_of_every_generation():
    stack = tree(qwen={"prefill": {}, "canary": {"weight": 10}})
    for name, variant in (("qwen", "primary"), ("qwen-canary", "canary")):
        assert exactly(rendered(stack), "Service", name)["spec"]["selector"] == {
            labels.SERVICE: "qwen",
            labels.VARIANT: variant,
            labels.ROLE: "decode",
        }


def test_another_generation_is_made_beside_the_one_that_serves_and_route_and_service_stay():
    before, after = (tree(qwen={"prefill": {}, "replicas": 2, **more}) for more in ({}, {"parallelism": {"tensor": 2}}))
    places = [{(each["kind"], each["metadata"]["name"]) for each in rendered(stack)} for stack in (before, after)]
    assert places[0] & places[1] == {("HTTPRoute", "qwen"), ("Service", "qwen")}
    selectors = [exactly(rendered(stack), "Service", "qwen")["spec"] for stack in (before, after)]
    assert selectors[0] == selectors[1]


def test_pods_of_two_generations_are_never_in_one_pool():
    before, after = (
        tree(qwen={"prefill": {}, **more}) for more in ({}, {"engine": {"image": "registry.example/e:v2"}})
    )
    (pool,) = [each for each in rendered(before) if each["kind"] == "InferencePool"]
    selector = pool["spec"]["selector"]["matchLabels"].items()
    assert all(selector <= each["metadata"]["labels"].items() for each in model_servers(rendered(before)))
    assert not any(selector <= each["metadata"]["labels"].items() for each in model_servers(rendered(after)))


def test_the_intent_names_the_generation():
    assert plan(tree(qwen={"prefill": {}})).services[0].preview_inputs()["generation"] == of()
    assert "generation" not in plan(tree()).services[0].preview_inputs()


def test_a_neutral_flag_is_known_by_any_spelling_of_its():
    for tokens in (["--seed", "1"], ["--seed=1"], ["--enforce-eager"], ["--no-enforce-eager"]):
        (parsed_flag,) = flags.parse(tokens)
        assert parsed_flag.switch in RELEASE.engine.neutral_flags
        assert of(args(*tokens)) == of()
