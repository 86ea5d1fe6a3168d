"""Engines other than vLLM get the flags of their kind, and fields that do not reach them are refused."""

import pytest

from models.problems import ConfigError
from planning.releases import engine_kinds
from planning.serving import kind_rules
from tests.support.known_flags import containers
from tests.support.stacks import find, lines, plan, rendered, tree
from tests.support.stacks.engine_kinds import FIELDS, IMAGES, with_field
from tests.support.stacks.shapes import engine, told

HF = {"model": {"source": "hf://org/model"}}


def service(kind, engine_fields=None, **fields):
    return {**HF, "engine": {"type": kind, "image": IMAGES[kind], **(engine_fields or {})}, **fields}


def template(stack):
    return find(rendered(stack), "Deployment", "qwen-decode")["spec"]["template"]


def container(kind, engine_fields=None, **fields):
    return engine(template(tree(qwen=service(kind, engine_fields, **fields))))


def warnings(stack):
    return lines(plan(stack).warnings, "warning")


def test_sglang_gets_program_and_flags():
    rendering = container("sglang", {"maxNumSeqs": 9, "gpuMemoryUtilization": 0.8}, parallelism={"tensor": 2})
    assert rendering["command"] == ["python3", "-m", "sglang.launch_server"]
    assert rendering["args"] == [
        "--model-path=/models",
        "--port=8000",
        "--served-model-name=org/model",
        "--tensor-parallel-size=2",
        "--max-running-requests=9",
        "--mem-fraction-static=0.8",
        "--host=0.0.0.0",
        "--enable-metrics",
    ]


def test_tensorrt_llm_gets_the_folder_as_its_first_argument():
    rendering = container("trtllm-serve", {"args": ["--backend=pytorch"]}, parallelism={"tensor": 2, "expert": True})
    assert rendering["command"] == ["trtllm-serve", "serve"]
    assert rendering["args"] == [
        "/models",
        "--port=8000",
        "--served_model_name=org/model",
        "--tensor_parallel_size=2",
        "--moe_expert_parallel_size=2",
        "--host=0.0.0.0",
        "--backend=pytorch",
    ]


def test_the_default_share_of_memory_is_left_to_the_engine():
    assert not any("mem-fraction" in argument for argument in container("sglang")["args"])


def test_cache_events_have_only_the_keys_that_sglang_knows():
    rendering = container("sglang", kvCache={"events": True})
    (events,) = [argument for argument in rendering["args"] if argument.startswith("--kv-events-config=")]
    assert events == (
        '--kv-events-config={"publisher":"zmq","endpoint":"tcp://*:5556","topic":"kv@$(POD_IP):8000@org/model"}'
    )
    assert {variable["name"] for variable in rendering["env"]} >= {"POD_IP"}


@pytest.mark.parametrize(("release", "label"), [("llm-d-0.10", "sglang"), ("llm-d-0.8", None)])
def test_pods_say_their_engine_if_the_picker_reads_the_label(release, label):
    pods = template({**tree(qwen=service("sglang")), "release": release})
    assert pods["metadata"]["labels"].get("llm-d.ai/engine-type") == label


def test_the_users_label_wins():
    pods = template(tree(qwen=service("sglang", pod={"labels": {"llm-d.ai/engine-type": "vllm"}})))
    assert pods["metadata"]["labels"]["llm-d.ai/engine-type"] == "vllm"


@pytest.mark.parametrize("path", [None, "/other"])
def test_metrics_are_scraped_where_the_engine_serves_them(path):
    metrics = {} if path is None else {"metrics": {"path": path}}
    stack = tree(qwen=service("trtllm-serve", **metrics))
    stack["observability"] = {"metrics": {"type": "prometheus-operator"}}
    monitors = [item for item in rendered(stack) if item["kind"] == "PodMonitor"]
    paths = {endpoint["path"] for item in monitors for endpoint in item["spec"]["podMetricsEndpoints"]}
    assert paths == {path or "/prometheus/metrics"}


def test_a_picker_that_reads_metrics_elsewhere_is_a_warning():
    old = {"release": "llm-d-0.6"}
    (line,) = [line for line in warnings(tree(qwen=service("trtllm-serve")) | old) if "serves its metrics" in line]
    assert line == (
        "services.qwen.engine.type: serves its metrics at /prometheus/metrics, and the picker of this release reads "
        "them at /metrics; use a newer release"
    )
    for stack in (tree(qwen=service("sglang")) | old, tree(qwen=service("trtllm-serve"))):
        assert not any("serves its metrics" in line for line in warnings(stack))


def test_flags_of_an_unknown_version_are_not_checked():
    fields = {"image": "docker.io/lmsysorg/sglang:kimi-k3", "args": ["--log-levl=info"]}
    (line,) = [line for line in warnings(tree(qwen=service("sglang", fields))) if "unknown version" in line]
    assert line.startswith("services.qwen.engine.image: has an unknown version of SGLang")


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (
            "trtllm-serve",
            {"kvCache": {"cpuOffload": "1Gi"}},
            "services.qwen.kvCache.cpuOffload: has no effect on TensorRT-LLM",
        ),
        ("sglang", {"parallelism": {"data": 2, "dataLocal": 1}}, "services.qwen.parallelism.dataLocal: does not reach"),
        ("trtllm-serve", {"kvCache": {"events": True}}, "services.qwen.kvCache.events: has no effect on TensorRT-LLM"),
        ("trtllm-serve", {"kvCache": {"blockSize": 32}}, "services.qwen.kvCache.blockSize: has no effect on TensorRT"),
    ],
)
def test_a_field_without_a_flag_is_refused_with_the_engines_name(kind, fields, message):
    assert any(line.startswith(message) for line in told(tree(qwen=service(kind, **fields))))


OWN = {"engine.port", "model.name", "model.revision", "parallelism.tensor"}
"""Fields that other parts than a custom engine get as well: Services, pools, devices and the names of models. The
command of such an engine has to agree with them."""
BY_OTHERS = {
    "encode": "--ec-transfer-config",
    "kvCache.tiers": "--kv-offloading-size",
    "model.lora": "--enable-lora",
}
"""First flags of the fields that take several, of which vLLM alone has tables."""


def outcome(kind, field):
    """Return the arguments of all engines of a stack that sets one field, and what is said of it, as lines."""
    keys = with_field(kind, field)
    stack = {**tree(), **keys, "services": {"qwen": {**tree()["services"]["qwen"], **keys["services"]["qwen"]}}}
    try:
        manifests = rendered(stack)
    except ConfigError as error:
        return [], str(error).splitlines()
    engines = [item for item in containers(manifests) if item["name"] in {"engine", "vllm"}]
    return [argument for item in engines for argument in item.get("args", [])], warnings(stack)


def test_each_field_that_an_engine_gets_by_a_flag_is_tried():
    flagged = {field for name in engine_kinds.names() for field in engine_kinds.kind(name).flags}
    assert flagged | BY_OTHERS.keys() == FIELDS.keys()


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", engine_kinds.names())
def test_each_field_reaches_each_engine_by_a_flag_or_is_refused_with_the_engines_name(name, field):
    kind = engine_kinds.kind(name)
    arguments, problems = outcome(name, field)
    if field in kind.flags:
        assert any(argument.partition("=")[0] == kind.flags[field] for argument in arguments)
        assert not any("does not reach" in line or "has no effect" in line for line in problems)
    elif field in BY_OTHERS and kind.vllm_tables:
        assert any(argument.partition("=")[0] == BY_OTHERS[field] for argument in arguments)
    elif field.startswith("observability."):
        assert [line for line in problems if f"does not get the address for traces ({kind.title})" in line]
    elif name != engine_kinds.CUSTOM or field not in OWN:
        place = f"services.qwen.{field}: "
        named = [line for line in problems if line.startswith(place) and (kind.title in line or kind.name in line)]
        assert len(named) == 1, problems
        assert arguments == []


def test_a_field_that_no_rule_refuses_gets_lost(monkeypatch):
    monkeypatch.setattr(kind_rules, "_reaches", lambda *_: True)
    arguments, problems = outcome("trtllm-serve", "kvCache.cpuOffload")
    assert not any("offload" in argument for argument in arguments)
    assert arguments
    assert [line for line in problems if "cpuOffload" in line] == []


def test_a_field_with_a_flag_is_taken():
    fields = {"model": {"source": "hf://org/model", "maxModelLen": 4096}, "kvCache": {"blockSize": 64}}
    assert container("sglang", **fields)["args"][-5:-2] == [
        "--served-model-name=org/model",
        "--context-length=4096",
        "--page-size=64",
    ]


def test_the_workers_of_sglang_share_the_host_memory_of_a_pod():
    rendering = container("sglang", kvCache={"cpuOffload": "400G"}, parallelism={"tensor": 2})
    assert {"--hicache-size=200", "--enable-hierarchical-cache"} <= set(rendering["args"])
    assert rendering["resources"]["limits"]["memory"] == f"{96 + 373}Gi"
    without = container("sglang", parallelism={"tensor": 2})
    assert not any("hi" in argument and "cache" in argument for argument in without["args"])


def test_sglang_without_a_prefix_cache_has_none_in_host_memory():
    fields = {"kvCache": {"cpuOffload": "9Gi"}}
    (problem,) = told(tree(qwen=service("sglang", {"args": ["--disable-radix-cache"]}, **fields)))
    assert problem == (
        "services.qwen.engine.args[0]: is refused by SGLang beside kvCache.cpuOffload (--disable-radix-cache); "
        "remove one of them"
    )
    plan(tree(qwen=service("sglang", **fields)))


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (
            {"kvCache": {"cpuOffload": "1Gi"}, "parallelism": {"tensor": 2}},
            "leaves each worker of SGLang less than a unit (1Gi, 1000000000 bytes); raise it, or remove it",
        ),
        (
            {"kvCache": {"cpuOffload": "9Gi"}, "prefill": {}},
            "does not work with prefill in SGLang (9Gi); remove it, or remove prefill",
        ),
    ],
)
def test_host_memory_with_which_sglang_does_not_start_is_refused(fields, line):
    assert f"services.qwen.kvCache.cpuOffload: {line}" in told(tree(qwen=service("sglang", **fields)))
