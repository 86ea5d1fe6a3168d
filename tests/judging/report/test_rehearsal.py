"""Rehearsal of an upgrade."""

from composition import Composition, Given, compose
from judging.report.growth import NOTHING
from judging.report.rehearsal import PlannedStack, rehearse
from planning.ground.cluster_facts import NOTHING_READ
from tests.support.stacks import NAME, tree

OLD = "vllm/vllm-openai:v0.21.0"
NEW = "vllm/vllm-openai:v0.26.0"


def planned(stack):
    composition = compose(stack, Given(NOTHING_READ), NAME)
    assert isinstance(composition, Composition), composition.error
    return PlannedStack(composition.stack, composition.plan, composition.objects)


def rehearsed(old, new):
    return rehearse(planned(old), planned(new))


def with_engine(image, **service):
    return tree(qwen={"engine": {"image": image}, **service}, bert={"engine": {"image": OLD}})


def test_an_equal_stack_restarts_nothing():
    result = rehearsed(with_engine(OLD), with_engine(OLD))
    assert result.restarting == ()
    assert {(step.devices, step.cache, step.workloads) for step in result.services} == {(NOTHING, None, ())}


def test_another_engine_restarts_its_service_alone():
    result = rehearsed(with_engine(OLD), with_engine(NEW))
    (step,) = result.restarting
    assert (step.service, step.engines) == ("qwen", ("0.21.0", "0.26.0"))
    assert [(workload.kind, workload.name, workload.edits) for workload in step.workloads] == [
        ("Deployment", "qwen-decode", ("image v0.21.0 → v0.26.0",))
    ]
    assert step.cache is not None
    assert step.cache.fate == "cold"


def test_another_channel_restarts_pickers_without_engines():
    image = {"engine": {"image": OLD}}
    old, new = (tree(qwen=image) | {"release": release} for release in ("llm-d-0.8", "llm-d-0.9"))
    (step,) = rehearsed(old, new).restarting
    assert step.channels == ("llm-d-0.8", "llm-d-0.9")
    assert [workload.name for workload in step.workloads] == ["qwen-epp"]
    assert (step.cache, step.devices) == (None, NOTHING)


def test_a_generation_starts_beside_the_old_one_with_devices_of_its_own():
    result = rehearsed(with_engine(OLD, prefill={"replicas": 2}), with_engine(NEW, prefill={"replicas": 2}))
    (step,) = result.restarting
    names = {workload.name for workload in step.workloads}
    assert len(names) == 6
    assert sum("ends when the new generation is ready" in workload.text for workload in step.workloads) == 3
    assert step.devices.high == 3
    assert step.cache is not None
    assert step.cache.fate == "never share"


def test_warnings_that_the_stack_has_already_are_left_out():
    warned = planned(with_engine(NEW)).plan.warnings
    assert warned
    result = rehearse(planned(with_engine(NEW)), planned(with_engine(NEW)))
    assert (result.warnings, {step.warnings for step in result.services}) == ((), {()})
    (step,) = rehearsed(with_engine(OLD), with_engine(NEW)).restarting
    assert all(problem.path[:2] == ("services", "qwen") for problem in step.warnings)


def test_an_unknown_engine_has_an_unknown_version():
    (step,) = rehearsed(with_engine(OLD), with_engine("registry.example/own:v1")).restarting
    assert step.engines == ("0.21.0", "unknown")


def test_pods_of_one_generation_restart_cold():
    image = {"engine": {"image": OLD}, "prefill": {}}
    old, new = (tree(qwen=image) | {"release": release} for release in ("llm-d-0.8", "llm-d-0.9"))
    (step,) = rehearsed(old, new).restarting
    assert not any("new generation" in workload.text for workload in step.workloads)
    assert step.cache is not None
    assert step.cache.fate == "cold"
