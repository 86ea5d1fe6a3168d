"""Objectives and rewrites: what the endpoint picker of a pool is told of requests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.assembly import objects, render
from planning import outputs
from planning.ground import parts
from planning.ground.order import Id
from tests.support.stacks import exactly, lines, plan, rendered, tree
from tests.support.stacks.routed import routed, told, tried
from tests.support.stacks.varied import VARIED

UNREADING = "gie-1.3"
"""A release whose picker reads neither objectives nor rewrites."""


def test_objectives_are_called_as_clients_name_them():
    everything = rendered(routed(service={"objectives": {"batch": {"priority": -1}}}))
    objective = exactly(everything, "InferenceObjective", "qwen-batch")
    pool = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "qwen"}
    assert (objective["apiVersion"], objective["spec"]) == ("llm-d.ai/v1alpha2", {"priority": -1, "poolRef": pool})


def test_a_priority_of_0_is_written_out():
    everything = rendered(routed(service={"objectives": {"batch": {"priority": 0}}}))
    assert exactly(everything, "InferenceObjective", "qwen-batch")["spec"]["priority"] == 0


def test_the_outputs_list_objectives_by_variant():
    stack = tried()
    stack["services"]["qwen"]["objectives"] = {"b": {"priority": 1}, "a": {"priority": 2}}
    told_of = outputs.of_stack(plan(stack), None)["services"]["qwen"]
    assert told_of["primary"]["objectives"] == ["qwen-a", "qwen-b"]
    assert told_of["canary"]["objectives"] == ["qwen-canary-a", "qwen-canary-b"]


@pytest.mark.parametrize(("weight", "warned"), [(0, False), (10, True)])
def test_requests_that_reach_a_canary_by_its_weight_have_no_priority_and_that_is_said(weight, warned):
    stack = tried(weight, {"x-canary": "1"})
    stack["services"]["qwen"]["objectives"] = {"batch": {"priority": 1}}
    assert any("have priority 0" in line for line in lines(plan(stack).warnings, "warning")) is warned


@pytest.mark.parametrize("release", ["llm-d-0.6", "gie-1.3"])
def test_older_pickers_are_told_in_their_own_group(release):
    rewrites = [{"model": "latest", "targets": [{"model": "org/m"}]}]
    stack = routed(service={"objectives": {"batch": {"priority": 1}}, "rewrites": rewrites}) | {"release": release}
    everything = rendered(stack)
    assert {
        manifest["apiVersion"]
        for manifest in everything
        if manifest["kind"] in {"InferenceObjective", "InferenceModelRewrite"}
    } == {"inference.networking.x-k8s.io/v1alpha2"}


def test_both_variants_know_a_model_by_all_its_names():
    stack = tried()
    stack["services"]["qwen"]["rewrites"] = [{"model": "latest", "targets": [{"model": "org/m", "weight": 3}]}]
    pools = {
        manifest["metadata"]["name"]: manifest["spec"]["poolRef"]["name"]
        for manifest in rendered(stack)
        if manifest["kind"] == "InferenceModelRewrite"
    }
    assert pools == {"qwen": "qwen", "qwen-canary": "qwen-canary"}


def test_each_generation_has_its_own_rewrite_and_objectives_move_from_one_to_the_next():
    def told_of(revision):
        model = {"name": "org/m", "source": f"hf://org/m@{revision}"}
        service = {"prefill": {}, "objectives": {"batch": {"priority": 1}}, "model": model}
        rewrites = [{"model": "latest", "targets": [{"model": "org/m"}]}]
        everything = rendered(routed(service={**service, "rewrites": rewrites}))
        named = [
            manifest for manifest in everything if manifest["kind"] in {"InferenceModelRewrite", "InferenceObjective"}
        ]
        return {
            manifest["kind"]: (manifest["metadata"]["name"], manifest["spec"]["poolRef"]["name"]) for manifest in named
        }

    before = told_of("v1")
    after = told_of("v2")
    assert before["InferenceModelRewrite"][0] == before["InferenceModelRewrite"][1] == before["InferenceObjective"][1]
    assert before["InferenceModelRewrite"] != after["InferenceModelRewrite"]
    assert before["InferenceObjective"][0] == after["InferenceObjective"][0] == "qwen-batch"


def test_the_picker_is_told_before_requests_come_and_after_its_pool():
    service = {"objectives": {"a": {"priority": 1}, "b": {"priority": 2}}}
    service["rewrites"] = [{"model": "latest", "targets": [{"model": "org/m"}]}]
    after = {resource.id: set(resource.after) for resource in objects(render(plan(routed(service=service))))}
    told_of = [Id("qwen", parts.OBJECTIVE, "a"), Id("qwen", parts.OBJECTIVE, "b"), Id("qwen", parts.MODEL_REWRITE)]
    assert set(told_of) <= after[Id("qwen", parts.ROUTE)]
    assert all(Id("qwen", parts.POOL) in after[object_id] for object_id in told_of)


def test_an_objective_of_two_services_is_refused_with_both():
    stack = tree(a={"objectives": {"b-c": {"priority": 1}}}, **{"a-b": {"objectives": {"c": {"priority": 1}}}})
    (line,) = told(stack)
    assert line == (
        "services.a-b: would make the same object as services.a (InferenceObjective models/a-b-c); "
        "choose another name for one of them"
    )


def test_logical_names_of_objectives_never_meet():
    names = st.from_regex(r"[a-z]([-a-z]{0,8}[a-z])?", fullmatch=True) | st.sampled_from(["a", "a-objective", "a-b"])

    @given(st.dictionaries(names, st.lists(names, min_size=1, unique=True), min_size=2, max_size=3))
    def check(services):
        suffixes = [f"{key}-objective.{name}" for key, every in services.items() for name in every]
        assert len(set(suffixes)) == len(suffixes)

    check()
    result = [
        resource.suffix for resource in objects(render(plan(VARIED["routed"]))) if resource.id.part is parts.OBJECTIVE
    ]
    assert result == ["qwen-objective.batch", "qwen-objective.chat"]


@pytest.mark.parametrize("release", ["gie-1.3", "llm-d-0.8", "llm-d-0.9", "llm-d-0.10"])
def test_what_no_picker_of_a_release_reads_is_told(release):
    service = {
        "objectives": {"batch": {"priority": -1}},
        "rewrites": [{"model": "latest", "targets": [{"model": "org/model"}]}],
    }
    image = {"endpointPicker": {"image": "registry.k8s.io/gateway-api-inference-extension/epp:v1.3.1"}}
    told_of = lines(plan(tree(qwen=service) | {"release": release}).warnings, "warning")
    unread = release == "gie-1.3"
    places = [message.partition(": ")[0] for message in told_of if f"no picker of {release} reads them" in message]
    assert places == ["services.qwen.objectives", "services.qwen.rewrites"] * unread
    if release == "gie-1.3":
        assert lines(plan(tree(qwen=service | image) | {"release": release}).warnings, "warning") == []


def test_what_the_picker_of_a_canarys_release_does_not_read_is_told():
    stack = tried(0, {"x-canary": "1"})
    stack["services"]["qwen"] |= {"objectives": {"batch": {"priority": 1}}}
    stack["services"]["qwen"]["canary"]["release"] = UNREADING
    assert unread(stack) == [f"services.qwen.canary.objectives: no picker of {UNREADING} reads them"]
    stack["services"]["qwen"]["release"] = UNREADING
    assert unread(stack) == [f"services.qwen.objectives: no picker of {UNREADING} reads them"]


def unread(stack):
    return [line.partition(";")[0] for line in lines(plan(stack).warnings, "warning") if "reads them" in line]
