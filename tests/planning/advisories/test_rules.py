"""A stack is told which advisories its engines have; the ten lines of the README hear nothing of a default engine."""

import re
from pathlib import Path

import pytest
import yaml

from models.load import load
from planning.advisories import exposure, judge, table
from planning.releases import channel, channels, engine_versions
from planning.resolve import resolve
from tests.support.stacks import tree

OLD = {"image": "registry.example/vllm-openai:v0.30.0"}
TRUSTING = {"engine": {**OLD, "args": ["--trust-remote-code"]}}
GENERAL = {name for name, condition in table.read().conditions.items() if condition.general}
FREE = "0.31.0"
"""First version of vLLM without an advisory that every service meets."""


def problems(stack, mode="warn"):
    resolved = resolve(load({**stack, "checks": {"advisories": mode}}).stack)
    return list(judge(resolved.stack, [exposure(role) for role in resolved.contexts.roles.values()]))


def lines(stack, mode="warn"):
    return [str(problem) for problem in problems(stack, mode)]


def ten_lines(release):
    """Return the stack of the README's first example in a release channel."""
    (text, *_) = re.findall(r"```yaml\n(.*?)```", Path("README.md").read_text(encoding="utf-8"), re.DOTALL)
    return {**yaml.safe_load(text)["config"]["inference-stacks:stack"], "release": release}


def test_a_line_names_image_service_advisory_effect_fix_and_remedy():
    assert (
        "services.qwen.engine.image: gives vLLM 0.30.0, and services.qwen meets a published advisory for a service "
        "that trusts code of model repositories: GHSA-h3rc-6mm3-gc2m (high, fixed in 0.31.0: a parameter of a request "
        "can make the engine run code of a model repository); set engine.image to an image with vLLM 0.31.0 or newer, "
        "or remove --trust-remote-code"
    ) in lines(tree(qwen=TRUSTING))


def test_services_with_the_same_image_and_condition_share_a_line():
    single = lines(tree(a={"engine": OLD}))
    ten = lines(tree(**{f"s{number}": {"engine": OLD} for number in range(10)}))
    assert len(single) == len(ten) == 1
    assert "services.s0, services.s1, services.s2" in ten[0]
    assert "meet 2 published advisories" in ten[0]


def test_services_with_other_images_have_lines_of_their_own():
    older = {"image": "registry.example/vllm-openai:v0.29.0"}
    found = problems(tree(a={"engine": OLD}, b={"engine": older}))
    assert {str(problem.path) for problem in found} == {"services.a.engine.image", "services.b.engine.image"}


def test_the_remedy_is_the_first_version_without_any_of_the_advisories():
    old = {"image": "registry.example/vllm-openai:v0.29.0"}
    (line,) = lines(tree(qwen={"engine": old}))
    assert line.endswith("; set engine.image to an image with vLLM 0.31.0 or newer")


def test_the_word_decides_the_severity():
    assert {problem.severity for problem in problems(tree(qwen=TRUSTING))} == {"warning"}
    assert {problem.severity for problem in problems(tree(qwen=TRUSTING), "strict")} == {"error"}
    assert problems(tree(qwen=TRUSTING), "skip") == []


def test_an_unknown_version_is_one_line_of_a_strict_check_alone():
    stack = tree(a={"engine": {"image": "registry.example/server:v1"}}, b={"engine": {"type": "custom", **OLD}})
    assert problems(stack) == []
    (gap,) = problems(stack, "strict")
    assert gap.kind == "unchecked"
    assert str(gap) == (
        "checks.advisories: advisories of the engine went unchecked for services.a, services.b: no table says which "
        "version of vLLM their images hold"
    )


def test_an_image_of_the_channel_is_named_by_the_release():
    (problem,) = problems(tree(qwen={"engine": {"args": ["--trust-remote-code"]}}))
    assert str(problem.path) == "release"


def test_a_release_of_a_service_or_of_a_canary_is_named_where_it_is_written():
    trusting = {"engine": {"args": ["--trust-remote-code"]}}
    canary = {"canary": {"weight": 10, "release": "llm-d-0.9"}}
    stack = tree(a=trusting, b={**trusting, "release": "llm-d-0.9"}, c={**trusting, **canary})
    found = {str(problem.path): problem.what for problem in problems({**stack, "release": "llm-d-0.9"})}
    assert set(found) == {"release", "services.b.release"}
    assert "and services.a, services.c meet " in found["release"]
    assert "and services.b, services.c.canary meet " in found["services.b.release"]


def test_a_flag_that_the_engine_does_not_know_is_no_remedy():
    seeing = {
        "engine": {"image": "registry.example/vllm-openai:v0.16.0", "args": ["--allowed-media-domains=a.example"]}
    }
    lines_of_problems = [line for line in lines(tree(qwen=seeing)) if "accepts images or video" in line]
    assert lines_of_problems
    assert not any("--language-model-only" in line for line in lines_of_problems)
    seeing["engine"]["image"] = "registry.example/vllm-openai:v0.17.0"
    lines_of_problems = [line for line in lines(tree(qwen=seeing)) if "accepts images or video" in line]
    assert lines_of_problems
    assert all(line.endswith(", or add --language-model-only to engine.args") for line in lines_of_problems)


@pytest.mark.parametrize("release", channels())
def test_the_ten_lines_meet_no_advisory_that_their_words_could_avoid(release):
    stack = ten_lines(release)
    assert problems(stack) == []
    resolved = resolve(load(stack).stack)
    met = [advisory for role in resolved.contexts.roles.values() for advisory in exposure(role).met]
    assert {advisory.condition for advisory in met} <= GENERAL


@pytest.mark.parametrize("release", channels())
def test_a_strict_check_takes_a_default_engine_only_if_every_fix_is_in_it(release):
    image = channel(release).images.engine["nvidia"].ref
    version = engine_versions.number_in(image)
    is_free = not engine_versions.is_older(version, FREE)
    assert (problems(ten_lines(release), "strict") == []) == is_free


def test_every_service_meets_an_advisory_below_the_version_that_is_free_of_them():
    general = [row for row in table.read().advisories if row.condition in GENERAL]
    assert max((row.fixed_in for row in general), key=engine_versions.order) == FREE
