"""A stack keeps the channel that runs, if the channel's name has got another meaning."""

import pytest

from composition import Composition, Given, Refusal, compose
from models.load import load
from planning.ground.cluster_facts import NOTHING_READ, Unknown
from planning.ground.recorded import NOTHING_RECORDED, Recorded, ServiceRecord, WorkloadName
from planning.releases import channel, former_channels
from planning.releases.kept import chooses, keep
from tests.support.stacks import NAME, tree

FORMER = [(former.written, name) for name, former in former_channels().items()]


def stack(**fields):
    return load(tree() | fields).finish()


def running(release):
    """Return a state in which a service runs with a channel."""
    return Recorded(services={WorkloadName("models", "Deployment", "qwen-decode"): ServiceRecord("qwen", release)})


@pytest.mark.parametrize(("written", "former"), FORMER)
def test_what_runs_is_kept_with_one_warning(written, former):
    result = keep(stack(release=written), lambda: running(former))
    assert result.stack.release == former
    (warning,) = result.problems
    assert warning.severity == "warning"
    assert str(warning.path) == "release"


@pytest.mark.parametrize(("written", "former"), FORMER)
def test_a_new_stack_gets_the_release_of_upstream(written, former):
    for recorded in (NOTHING_RECORDED, running(written), running("gie-1.3")):
        assert keep(stack(release=written), lambda recorded=recorded: recorded) == (stack(release=written), ())
    assert not chooses(stack(release=written, allow=["release"]), running(written))


@pytest.mark.parametrize(("written", "former"), FORMER)
def test_a_word_in_allow_takes_the_release_of_upstream(written, former):
    chosen = stack(release=written, allow=["release"])
    assert keep(chosen, lambda: running(former)) == (chosen, ())
    assert chooses(chosen, running(former))


@pytest.mark.parametrize("release", ["gie-1.3", "router-0.10"])
def test_other_names_need_no_state(release):
    def state():
        raise AssertionError

    assert keep(stack(release=release), state) == (stack(release=release), ())


def test_the_warning_names_both_meanings_and_both_ways():
    (problem,) = keep(stack(release="llm-d-0.9"), lambda: running("router-0.9")).problems
    engine = channel("llm-d-0.8").images.engine["nvidia"].ref
    assert engine.startswith("vllm/vllm-openai:v")
    assert str(problem).startswith(
        "release: meant llm-d-router v0.9.0 with vLLM 0.21.0 when this stack was deployed, and the stack keeps that "
        "(llm-d-0.9); write release: router-0.9; or write allow: [release] for one run, to get llm-d-router v0.10.0"
    )


def test_a_state_that_cannot_be_read_refuses_the_name():
    result = keep(stack(release="llm-d-0.9"), lambda: Unknown("the state of the stack could not be read (X)"))
    (problem,) = result.problems
    assert problem.severity == "error"
    assert str(problem) == (
        "release: may have meant llm-d-router v0.9.0 with vLLM 0.21.0 when this stack was deployed (llm-d-0.9): the "
        "state of the stack could not be read (X); write release: router-0.9 to keep what runs, or allow: [release]"
    )


def composed(state, **fields):
    return compose(tree() | fields, Given(NOTHING_READ), NAME, state=state)


def test_a_composition_renders_what_runs():
    result = composed(lambda: running("router-0.9"), release="llm-d-0.9")
    assert isinstance(result, Composition)
    assert result.contract["release"] == "router-0.9"
    assert [problem.path for problem in result.source_warnings] == [("release",)]
    written = composed(lambda: NOTHING_RECORDED, release="router-0.9")
    assert isinstance(written, Composition)
    assert [item.manifest for item in result.objects] == [item.manifest for item in written.objects]


def test_a_composition_with_an_unknown_state_is_refused():
    refusal = composed(lambda: Unknown("the state of the stack could not be read (X)"), release="llm-d-0.9")
    assert isinstance(refusal, Refusal)
    assert "release: may have meant" in str(refusal.error)
