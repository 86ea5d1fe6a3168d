"""Services whose pods somebody else runs have only keys with an effect, whatever they would inherit."""

from models.layers import Source
from models.load import load
from models.problems import errors
from tests.support.stacks import mistakes, rendered
from tests.support.stacks.existing import existing

OF_PODS = {
    "accelerator": "nvidia",
    "replicas": 3,
    "prefill": {},
    "storage": {"type": "dedicated"},
    "model": {"source": "hf://org/model", "maxModelLen": 8192},
    "engine": {"image": "registry.example/vllm:v0.21.0"},
}


def test_no_default_about_pods_reaches_pods_of_others():
    assert rendered({**existing(), "defaults": OF_PODS}) == rendered(existing())


def test_defaults_about_the_picker_reach_it():
    replicated = {**existing(), "defaults": {"endpointPicker": {"replicas": 2}}}
    assert rendered(replicated) != rendered(existing())
    assert mistakes(replicated) == []


def test_a_key_of_the_service_is_reported_where_it_is_written():
    base = Source("stacks/base.yaml", {"services": {"qwen": {"replicas": 2}}})
    (problem,) = errors(load(existing(), sources=[base]).problems)
    what = "has no effect on pods that somebody else runs (existingPods, from stacks/base.yaml)"
    assert str(problem) == f"services.qwen.replicas: {what}; remove it"


def test_an_unknown_key_is_reported_as_such():
    assert mistakes(existing(replica=2)) == ["services.qwen.replica: unknown key (replica); did you mean replicas?"]


def test_a_service_that_runs_its_pods_needs_source_and_accelerator():
    """The negative control: only pods of others need none."""
    stack = existing()
    del stack["services"]["qwen"]["existingPods"]
    assert {line.partition(":")[0] for line in mistakes(stack)} == {
        "services.qwen.model.source",
        "services.qwen.accelerator",
    }
