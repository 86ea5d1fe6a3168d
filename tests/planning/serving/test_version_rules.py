"""Flags and drain follow the version of vLLM in the image, and the number of its API servers."""

import pytest

from tests.support.stacks import SERVICE, find, lines, plan, rendered, tree
from tests.support.stacks.shapes import SPANNING, engine, flag, told

OLD, NEW = "vllm/vllm-openai:v0.15.1", "vllm/vllm-openai:v0.21.0"
CACHE = {"blockSize": 16, "connector": "mooncake", "events": True, "cpuOffload": "8Gi"}
LAYOUT = {"pipeline": 2, "data": 2, "dataLocal": 1, "expert": True}


def decode(release="llm-d-0.10", **service):
    """Return the engine of a service and the grace period of its pods."""
    template = find(rendered({**tree(qwen=service), "release": release}), "Deployment", "qwen-decode")["spec"][
        "template"
    ]
    return engine(template), template["spec"]["terminationGracePeriodSeconds"]


def image(name, **more):
    return {"engine": {"image": name, **more}}


def sleep(container):
    return container["lifecycle"]["preStop"]["sleep"]["seconds"]


@pytest.mark.parametrize(
    ("release", "name", "drains"),
    [
        ("llm-d-0.10", OLD, False),
        ("llm-d-0.10", "registry.example/mirror/vllm-openai:v0.15.1", False),
        ("llm-d-0.10", "vllm/vllm-openai:v0.17.1-cu130", False),
        ("llm-d-0.10", "ghcr.io/llm-d/llm-d-cuda:v0.5.1", False),
        ("llm-d-0.10", "ghcr.io/llm-d/llm-d-cuda:v0.9.0", True),
        ("llm-d-0.10", "vllm/vllm-openai:v0.18.0", True),
        ("llm-d-0.10", "registry.example/own:v1", True),
        ("gie-1.3", NEW, True),
        ("gie-1.3", OLD, False),
        ("gie-1.3", "registry.example/own:v1", False),
    ],
)
def test_an_engine_drains_if_its_version_can(release, name, drains):
    """See defects A22."""
    container, grace = decode(release, drainTimeout="80s", **image(name))
    assert flag(container, "--shutdown-timeout") == ("80" if drains else None)
    assert (sleep(container), grace) == (15 if drains else 95, 110)


@pytest.mark.parametrize("name", [OLD, NEW, "registry.example/own@sha256:" + "0f" * 32])
def test_no_time_to_drain_is_no_flag(name):
    """Its default is 0 in every version that knows it. See defects A22."""
    container, _ = decode(drainTimeout="0s", **image(name))
    assert flag(container, "--shutdown-timeout") is None


@pytest.mark.parametrize(
    ("parallelism", "args", "drains"),
    [
        ({}, [], True),
        ({"tensor": 2}, [], True),
        ({"data": 2}, [], False),
        ({"data": 2}, ["--api-server-count=1"], True),
        ({"data": 2}, ["-asc", "1"], True),
        ({}, ["--api-server-count=4"], False),
        ({}, ["--api_server_count", "1"], True),
    ],
)
def test_several_api_servers_do_not_drain(parallelism, args, drains):
    """The pod waits instead, before the engine is told to end. See defects A12."""
    container, grace = decode(drainTimeout="80s", parallelism=parallelism, engine={"args": args})
    assert (flag(container, "--shutdown-timeout") is not None) == drains
    assert (sleep(container), grace) == (15 if drains else 95, 110)


def paths(container):
    return [container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "readiness", "liveness")]


KEY = {"env": {"VLLM_API_KEY": {"secretKeyRef": {"name": "key", "key": "key"}}}}


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ({}, "/v1/models"),
        ({"engine": KEY}, "/health"),
        ({"engine": KEY, "health": {"path": "/ping"}}, "/ping"),
        ({"health": {"path": "/ping"}}, "/ping"),
    ],
)
def test_probes_of_an_engine_with_a_key_need_none(service, expected):
    """See defects A13."""
    container, _ = decode(**service)
    assert paths(container) == [expected, expected, "/health"]


def test_flags_of_an_api_server_stay_with_the_leader():
    """See defects A23."""
    args = ["--seed=1", "--api-server-count", "2", "--max-num-batched-tokens=4096", "--grpc"]
    group = find(rendered(tree(qwen={**SPANNING, "engine": {"args": args}})), "LeaderWorkerSet", "qwen-decode")["spec"]
    leader, worker = (
        group["leaderWorkerTemplate"][f"{member}Template"]["spec"]["containers"][0]["args"]
        for member in ("leader", "worker")
    )
    assert leader[-5:] == args
    assert worker[-2:] == ["--seed=1", "--max-num-batched-tokens=4096"]
    assert {"--api-server-count", "2", "--grpc"} & {*worker} == set()


def warnings(**service):
    stack = tree(qwen=service) | {"checks": {"advisories": "skip"}}
    return lines(plan(stack).warnings, "warning")


UNKNOWN = (
    "engine.image: has an unknown version of vLLM: it gets the flags of 0.30.0, and args are not checked; "
    "use a tag that names the version, such as vllm-openai:v0.21.0"
)


def test_an_engine_of_unknown_version_is_told_once():
    """See defects A22."""
    service = image("registry.example/own:v1", args=["--flag-of-our-own"])
    assert warnings(**service, prefill={}) == [f"services.qwen.{UNKNOWN}"]
    assert warnings(prefill=service) == [f"services.qwen.prefill.{UNKNOWN}"]
    custom = {"type": "custom", "image": "registry.example/own:v1"}
    assert warnings(engine=custom, pod={"labels": {"llm-d.ai/engine-type": "vllm"}}) == []


def test_a_variable_that_the_engine_does_not_know_is_told():
    service = image(NEW, env={"VLLM_LOGGING_LEVEL": "INFO", "VLLM_LOGING_LEVEL": "INFO", "OTHER": "x"})
    assert warnings(**service) == ["services.qwen.engine.env.VLLM_LOGING_LEVEL: is unknown to vLLM 0.21.0"]


@pytest.mark.parametrize("text", ["{% for m in messages %}\n{{ m.content }}\n{% endfor %}\n", "x" * 5000, " x", ""])
def test_an_argument_may_be_any_text(text):
    """See defects C5."""
    container, _ = decode(engine={"args": [f"--chat-template={text}"]})
    assert container["args"][-1] == f"--chat-template={text}"


def test_json_arguments_may_grow_when_layers_merge():
    """See defects C5."""
    parts = [f'--additional-config={{"{key}":"{key * 200}"}}' for key in "ab"]
    stack = {**tree(qwen={"engine": {"args": parts[1:]}}), "defaults": {"engine": {"args": parts[:1]}}}
    container = engine(find(rendered(stack), "Deployment", "qwen-decode")["spec"]["template"])
    assert len(container["args"][-1]) > 400


CUSTOM = {"type": "custom", "image": "registry.example/server:v1"}


@pytest.mark.parametrize(
    ("path", "service"),
    [
        ("engine.maxNumSeqs", {"engine": {**CUSTOM, "maxNumSeqs": 8}}),
        ("engine.gpuMemoryUtilization", {"engine": {**CUSTOM, "gpuMemoryUtilization": 0.8}}),
        ("model.maxModelLen", {"engine": CUSTOM, "model": {**SERVICE["model"], "maxModelLen": 8192}}),
        *((f"kvCache.{key}", {"engine": CUSTOM, "kvCache": {key: value}}) for key, value in CACHE.items()),
        *((f"parallelism.{key}", {"engine": CUSTOM, "parallelism": {key: value}}) for key, value in LAYOUT.items()),
    ],
)
def test_a_custom_engine_takes_no_settings_that_nobody_tells_it(path, service):
    """Inherited ones are for other services. See defects C1."""
    devices = {"accelerator": "nvidia-h100-80gb"}
    (message,) = told(tree(qwen={**devices, **service}))
    assert message.startswith(f"services.qwen.{path}: ")
    assert "engine.args" in message
    assert rendered({**tree(qwen=devices), "defaults": inheritable(service)})


def inheritable(service):
    return {key: value for key, value in service.items() if key != "model"}


def test_a_custom_engine_has_the_devices_of_tensor():
    container, _ = decode(engine=CUSTOM, parallelism={"tensor": 4})
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "4"


@pytest.mark.parametrize(
    ("path", "service"),
    [
        ("health.path", {"engine": KEY, "health": {"path": "/v1/models"}}),
        ("health.path", {"engine": KEY, "health": {"path": "/v1"}}),
    ],
)
def test_a_path_that_needs_the_key_is_refused(path, service):
    """See defects A13."""
    (message,) = told(tree(qwen=service))
    assert message.startswith(f"services.qwen.{path}: answers 401")


def test_copies_whose_cache_nobody_reads_are_refused():
    """See defects A23."""
    profile = {"name": "default", "plugins": [{"pluginRef": "precise-prefix-cache-scorer"}]}
    custom = {"plugins": [{"type": "precise-prefix-cache-scorer"}], "schedulingProfiles": [profile]}
    pickers = {"preset": {"preset": "precise-prefix-cache"}, "config": {"preset": "custom", "config": custom}}
    for key, picker in pickers.items():
        found = told(tree(qwen={"parallelism": {"data": 2}, "endpointPicker": picker}))
        assert [
            line for line in found if line.startswith(f"services.qwen.endpointPicker.{key}: reads only the cache of")
        ]


@pytest.mark.parametrize("flag_name", ["--data-parallel-hybrid-lb", "--data_parallel_external_lb", "-dph"])
def test_load_balancing_that_leaves_copies_without_requests_is_refused(flag_name):
    """See defects A23."""
    (message,) = told(tree(qwen={"parallelism": {"data": 4, "dataLocal": 2}, "engine": {"args": [flag_name]}}))
    assert message.startswith("services.qwen.engine.args[0]: repeats a field (")
    assert message.endswith("; remove it and set parallelism.loadBalancing")
