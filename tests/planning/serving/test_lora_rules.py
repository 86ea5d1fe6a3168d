"""Adapters that engines load while they run."""

from models.problems import ConfigError
from tests.support.stacks import find, plan, rendered, tree

AT = "services.qwen.model.lora.dynamic"
CLAIM = {"type": "claim", "claimName": "adapters", "mountPath": "/var/adapters"}


def stack(dynamic, **service):
    model = {"name": "org/model", "source": "hf://org/model@v1", "lora": {"dynamic": dynamic}}
    return tree(qwen={"model": model, **service})


def problems(dynamic, **service):
    try:
        return [str(problem) for problem in plan(stack(dynamic, **service)).warnings]
    except ConfigError as error:
        return [str(problem) for problem in error.problems]


def test_an_engine_reads_adapters_of_a_volume():
    objects = rendered(stack({"directory": "adapters", "names": ["sql-v1"]}, pod={"volumes": {"adapters": CLAIM}}))
    (engine,) = find(objects, "Deployment", "qwen-decode")["spec"]["template"]["spec"]["containers"]
    variables = {entry["name"]: entry.get("value") for entry in engine["env"]}
    assert variables["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "True"
    assert variables["VLLM_LORA_RESOLVER_CACHE_DIR"] == "/var/adapters"
    assert "--enable-lora" in engine["args"]
    assert "--lora-modules" not in engine["args"]


def test_rewrites_may_lead_to_the_names():
    rewrites = [{"model": "sql", "targets": [{"model": "sql-v1"}]}]
    assert not any("rewrites" in line for line in problems({"names": ["sql-v1"]}, rewrites=rewrites))
    assert any("is not a model of this service" in line for line in problems({}, rewrites=rewrites))


def test_the_volume_has_to_be_one_that_the_engine_mounts():
    directory = f"{AT}.directory"
    assert f"{directory}: is no volume of the pods (gone); name one of pod.volumes (it has none)" in problems(
        {"directory": "gone"}
    )
    unmounted = {"volumes": {"adapters": {"type": "empty-dir"}}}
    (line,) = [line for line in problems({"directory": "adapters"}, pod=unmounted) if line.startswith(directory)]
    assert "is a volume that the engine does not mount" in line


def test_several_servers_are_refused_as_vllm_refuses_them():
    lines = problems({}, engine={"args": ["--api-server-count=2"]})
    assert any(line.startswith(f"{AT}: does not work with several HTTP servers") for line in lines)


def test_clients_that_may_load_adapters_are_warned_of_unless_they_need_a_key():
    assert any("lets every client load and remove adapters" in line for line in problems({}))
    key = {"engine": {"env": {"VLLM_API_KEY": {"secretKeyRef": {"name": "key", "key": "key"}}}}}
    assert not any("lets every client" in line for line in problems({}, **key))
