"""A stack keeps the channel that runs, if the channel's name has got another meaning."""

import pytest

from composition import Composition, Given, Refusal, compose
from models.load import load
from planning.ground.cluster_facts import NOTHING_READ, Unknown
from planning.ground.instances import MAIN, Instance
from planning.ground.recorded import (
    NOTHING_RECORDED,
    Recorded,
    RecordedIdentity,
    RecordedObject,
    ServiceRecord,
    WorkloadName,
)
from planning.releases import channel, former_channels
from planning.releases.former_names import interpret, takes_present_meaning
from tests.support.stacks import NAME, tree

FORMER = [(former.written, name) for name, former in former_channels().items()]


def stack(**fields):
    return load(tree() | fields).finish()


def running(release, name=MAIN.name):
    """Return the state of an inference stack that was deployed with a channel."""
    return Recorded(releases={name: release})


def deployed(image, name="qwen-epp-deployment"):
    """Return a state that no run has completed, with a picker of an image."""
    content = {"spec": {"template": {"spec": {"containers": [{"name": "epp", "image": image}]}}}}
    place = ("apps", "Deployment", "models", "qwen-epp")
    return Recorded((RecordedObject("urn", RecordedIdentity("", "", name), place, "1", content),))


@pytest.mark.parametrize(("written", "former"), FORMER)
def test_what_runs_is_kept_with_one_warning(written, former):
    result = interpret(stack(release=written), lambda: running(former))
    assert result.stack.release == former
    (warning,) = result.problems
    assert warning.severity == "warning"
    assert str(warning.path) == "release"


@pytest.mark.parametrize(("written", "former"), FORMER)
def test_a_new_stack_gets_the_release_of_upstream(written, former):
    for recorded in (NOTHING_RECORDED, running(written), running("gie-1.3")):
        assert interpret(stack(release=written), lambda recorded=recorded: recorded) == (stack(release=written), ())
    assert not takes_present_meaning(stack(release=written, allow=["meaning"]), running(written))


@pytest.mark.parametrize(("written", "former"), FORMER)
def test_a_word_in_allow_takes_the_release_of_upstream(written, former):
    chosen = stack(release=written, allow=["meaning"])
    assert interpret(chosen, lambda: running(former)) == (chosen, ())
    assert takes_present_meaning(chosen, running(former))


def test_services_and_siblings_with_a_former_channel_of_their_own_do_not_count():
    named = {WorkloadName("models", "Deployment", "chat-decode"): ServiceRecord("chat", "router-0.9")}
    recorded = Recorded(services=named, releases={MAIN.name: "llm-d-0.9", "sibling": "router-0.9"})
    assert interpret(stack(release="llm-d-0.9"), lambda: recorded).problems == ()
    sibling = interpret(stack(release="llm-d-0.9"), lambda: recorded, Instance("sibling", "sibling-"))
    assert sibling.stack.release == "router-0.9"
    assert interpret(stack(release="llm-d-0.9"), lambda: recorded, Instance("third", "third-")).problems == ()


def test_a_state_that_no_run_completed_is_known_by_its_pickers():
    former, present = (channel(name).images.picker.ref for name in ("router-0.9", "llm-d-0.9"))
    assert interpret(stack(release="llm-d-0.9"), lambda: deployed(former)).stack.release == "router-0.9"
    assert interpret(stack(release="llm-d-0.9"), lambda: deployed(present)).problems == ()
    other = Instance("team", "team-")
    assert interpret(stack(release="llm-d-0.9"), lambda: deployed(former), other).problems == ()


@pytest.mark.parametrize("name", [name for _, name in FORMER])
def test_the_engine_of_a_former_channel_has_no_newer_flags(name):
    former = former_channels()[name]
    facts = channel(name).engine
    flags = {*facts.json_flags, *facts.cache_flags, *facts.neutral_flags}
    assert former.newer_flags
    assert not flags & {*former.newer_flags}
    base = channel(former.base).engine
    assert {*former.newer_flags} <= {*base.json_flags, *base.cache_flags, *base.neutral_flags}


@pytest.mark.parametrize("release", ["gie-1.3", "router-0.10"])
def test_other_names_need_no_state(release):
    def state():
        raise AssertionError

    assert interpret(stack(release=release), state) == (stack(release=release), ())


def test_the_warning_names_both_meanings_and_both_ways():
    (problem,) = interpret(stack(release="llm-d-0.9"), lambda: running("router-0.9")).problems
    engine = channel("llm-d-0.8").images.engine["nvidia"].ref
    assert engine.startswith("vllm/vllm-openai:v")
    assert str(problem).startswith(
        "release: meant llm-d-router v0.9.0 with vLLM 0.21.0 when this stack was deployed, and the stack keeps that "
        "(llm-d-0.9); write release: router-0.9 to keep it; or write allow: [meaning] for one run, to get llm-d-router "
        "v0.10.0 with vLLM 0.26.0"
    )


def test_a_state_that_cannot_be_read_refuses_the_name():
    result = interpret(stack(release="llm-d-0.9"), lambda: Unknown("the state of the stack could not be read (X)"))
    (problem,) = result.problems
    assert problem.severity == "error"
    assert str(problem) == (
        "release: may have meant llm-d-router v0.9.0 with vLLM 0.21.0 when this stack was deployed (llm-d-0.9): the "
        "state of the stack could not be read (X); write release: router-0.9 to keep what runs, or allow: [meaning]"
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
