"""Environment variables: unique, ordered and resolvable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.paths import Path
from planning.ground import environment

AT = Path("services", "qwen", "engine", "env")
FROM_SECRET = {"secretKeyRef": {"name": "hf", "key": "token"}}
NAMES = st.sampled_from("ABCDEFGH")
TEXTS = st.lists(st.one_of(st.sampled_from(["x", "$$", "$", "$$(A)", "$("]), NAMES.map("$({})".format)), max_size=3)
VARIABLES = st.dictionaries(NAMES, TEXTS.map("".join), max_size=8)


def names(generated, env):
    return [variable.name for variable in environment.container_variables(generated, env, Path())]


def told(env, generated=None, reserved=None):
    return [str(problem) for problem in environment.problems(AT, generated or {}, env, reserved or {})]


def test_the_users_value_takes_the_place_of_a_generated_one():
    named = {"NEW": "1", "HOME": FROM_SECRET}
    found = environment.container_variables({"HOME": "/home", "LEVEL": "info"}, named, Path())
    assert [(variable.name, variable.value, variable.source) for variable in found] == [
        ("HOME", None, FROM_SECRET),
        ("LEVEL", "info", None),
        ("NEW", "1", None),
    ]


def test_a_variable_moves_before_one_that_refers_to_it_and_nothing_else_moves():
    env = {"Z": "1", "URL": "http://$(HOST):$(PORT)", "A": "2", "PORT": "$(BASE)1", "HOST": "h", "BASE": "8"}
    assert names({}, env) == ["Z", "HOST", "BASE", "PORT", "URL", "A"]


def test_a_users_variable_moves_before_a_generated_one_that_refers_to_it():
    assert names({"G": "1", "OURS": "$(MINE)"}, {"FIRST": "1", "MINE": "2"}) == ["G", "MINE", "OURS", "FIRST"]


@pytest.mark.parametrize("text", ["$$(B)", "$B", "$(B", "${B}", "$$$$(B)"])
def test_what_kubernetes_does_not_replace_moves_nothing(text):
    assert names({}, {"A": text, "B": "1"}) == ["A", "B"]
    assert told({"A": text.replace("B", "ABSENT")}) == []


def test_a_reference_behind_an_escape_is_one():
    assert names({}, {"A": "$$$(B)", "B": "1"}) == ["B", "A"]


@given(generated=VARIABLES, env=VARIABLES)
def test_every_variable_is_there_once_with_the_users_value(generated, env):
    found = environment.container_variables(generated, env, Path())
    assert {variable.name: variable.value for variable in found} == {**generated, **env}
    assert len(found) == len({variable.name for variable in found})


@given(generated=VARIABLES, env=VARIABLES)
def test_what_is_accepted_is_resolved_by_kubernetes_in_order(generated, env):
    everything = {**generated, **env}
    if environment.problems(AT, {}, everything, {}):
        return
    earlier = set()
    for variable in environment.container_variables(generated, env, Path()):
        assert {name for name in replaced(variable.value) if name} <= earlier
        earlier.add(variable.name)


@given(env=VARIABLES)
def test_an_order_in_which_everything_is_resolved_stays(env):
    found = environment.container_variables({}, env, Path())
    again = {variable.name: variable.value for variable in found}
    assert environment.container_variables({}, again, Path()) == found or told(env)


def replaced(text):
    """Return what Kubernetes replaces in a text, read character by character as it does."""
    position, found = 0, []
    while position < len(text) - 1:
        if text[position] != "$":
            position += 1
        elif text[position + 1] == "(" and ")" in text[position:]:
            end = text.index(")", position)
            found.append(text[position + 2 : end])
            position = end + 1
        else:
            position += 2
    return found


def test_a_dangling_reference_is_refused_with_the_nearest_name():
    assert told({"PROXY": "http://$(HOTS):1", "HOST": "h"}) == [
        f"{AT}.PROXY: refers to no variable of this container ($(HOTS)); did you mean $(HOST)?"
    ]
    (problem,) = told({"DIRECTORIES": "$(PATH):/x"})
    assert problem.endswith("($(PATH)); set PATH, or write $$(PATH) for the text itself")


def test_text_that_no_variable_can_be_named_is_refused_without_an_echo():
    assert told({"X": "a$(s3cr3t phrase)"}) == [
        f"{AT}.X: refers to no variable; write $$(...) for text that Kubernetes shall not replace"
    ]


def test_generated_variables_and_the_api_servers_address_can_be_referred_to():
    assert told({"A": "$(HOME)/a", "B": "$(KUBERNETES_SERVICE_HOST)"}, {"HOME": "/home"}) == []


def test_a_circle_is_told_once_with_its_way():
    assert told({"A": "$(B)", "B": "$(C)", "C": "$(A)", "D": "$(A)"}) == [
        f"{AT}.A: refers to itself (A → B → C → A); remove one of these references, or write $$(C) for the text itself"
    ]
    assert told({"A": "$(A):x"}) == [
        f"{AT}.A: refers to itself (A → A); remove one of these references, or write $$(A) for the text itself"
    ]


def test_a_circle_through_a_generated_variable_is_told_where_the_user_closed_it():
    assert [problem.partition(":")[0] for problem in told({"MINE": "$(OURS)"}, {"OURS": "$(MINE)"})] == [f"{AT}.MINE"]


@pytest.mark.parametrize("last", ["1", "$(A0)"])
def test_a_chain_of_any_length_is_ordered(last):
    """See defects H15."""
    env = {f"A{index}": f"$(A{index + 1})" for index in range(5000)} | {"A5000": last}
    assert names({}, env) == [f"A{index}" for index in reversed(range(5001))]
    circle = "A0 → A1 → A2 → A3 → A4 → A5 → A6 → A7 → A8 → A9 → … → A5000 → A0"
    remedy = "remove one of these references, or write $$(A5000) for the text itself"
    assert told(env) == ([f"{AT}.A0: refers to itself ({circle}); {remedy}"] if last == "$(A0)" else [])


def looked_at(monkeypatch, env):
    """Return how many values are searched for references while variables are checked and ordered."""
    count, search = [0], environment._references

    def counted(value):
        count[0] += 1
        return search(value)

    monkeypatch.setattr(environment, "_references", counted)
    told(env)
    names({}, env)
    monkeypatch.setattr(environment, "_references", search)
    return count[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda count: {f"A{index}": f"$(A{index + 1})" for index in range(count)} | {f"A{count}": ""},
        lambda count: {f"A{index}": f"$(A{(index + 1) % count})" for index in range(count)},
        lambda count: {f"A{index}": "$(B)" for index in range(count)} | {"B": "$(C)", "C": "$(B)"},
        lambda count: {f"A{index}": f"$(A{index ^ 1})" for index in range(count)},
        lambda count: {
            f"A{index}": f"$(A{max(0, index - 1)})$(A{min(count - 1, index + 1)})" for index in range(count)
        },
    ],
    ids=["chain", "circle", "beside", "pairs", "both-ways"],
)
def test_the_work_grows_with_the_number_of_variables(monkeypatch, make):
    """See defects H15."""
    few, many = (looked_at(monkeypatch, make(count)) for count in (100, 1000))
    assert many < 12 * few


def test_similar_names_are_sought_for_the_first_references_alone():
    """See defects H15."""
    found = told({f"VARIABLE_{index}": f"$(VARIABL_{index})" for index in range(30)})
    assert [("did you mean" in problem) for problem in found] == [True] * 20 + [False] * 10
    found = told({"A_NAME": "".join(f"$(A_NAM{index})" for index in range(30))})
    assert [("did you mean" in problem) for problem in found] == [True] * 20 + [False] * 10


def test_a_reserved_name_is_refused_with_what_to_do_instead():
    reserved = {"VLLM_NIXL_SIDE_CHANNEL_HOST": "it follows from kvCache.connector"}
    assert told({"VLLM_NIXL_SIDE_CHANNEL_HOST": "h"}, reserved=reserved) == [
        f"{AT}.VLLM_NIXL_SIDE_CHANNEL_HOST: is set by this program; remove it: it follows from kvCache.connector"
    ]


def test_a_dangling_reference_in_an_argument_is_told_by_its_place():
    found = environment.dangling_in(AT.parent / "args", ["--a=$(HOME)", "--b=$(HOEM)", "$$(X)"], ["HOME"])
    assert [str(problem) for problem in found] == [
        "services.qwen.engine.args[1]: refers to no variable of this container ($(HOEM)); did you mean $(HOME)?"
    ]
