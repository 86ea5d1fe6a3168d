"""Flags of the engine: what a list of tokens means, how two lists merge, and what is wrong in one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.flags import Flag, merge, parse, problems
from models.paths import Path
from models.problems import Problem

PATH = Path("services", "qwen", "engine", "args")
KEEP = "keep one of them"
ONE_ENTRY = "write --flag=value as one entry, or flag and value as two"
NAMES = st.sampled_from(["--seed", "--max_num_seqs", "-tp", "--enforce-eager", "--no-enforce-eager", "--kv.a", "--x"])
VALUES = st.sampled_from(["1", "-1", "auto", '{"a":1}', '{"a":{"b":null}}', "{broken", "a b", ""])
TOKENS = st.lists(
    st.one_of(NAMES, VALUES.filter(bool), st.builds("{}={}".format, NAMES, VALUES), st.just("--")), max_size=8
)


def named(*tokens):
    return [(flag.name, flag.value) for flag in parse(tokens)]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["--seed=1"], ("--seed", "1")),
        (["--seed", "1"], ("--seed", "1")),
        (["--seed", "-1"], ("--seed", "-1")),
        (["--gpu-memory-utilization", "-.5"], ("--gpu-memory-utilization", "-.5")),
        (["--max_num_seqs=a_b"], ("--max-num-seqs", "a_b")),
        (["-tp", "2"], ("--tp", "2")),
        (["--enforce-eager"], ("--enforce-eager", None)),
        (["--chat-template="], ("--chat-template", "")),
        (["--override=a=b"], ("--override", "a=b")),
        (["--served-model-name", "a", "b"], ("--served-model-name", "a b")),
        (["--kv_transfer_config", '{"a": "--b"}'], ("--kv-transfer-config", '{"a": "--b"}')),
        (["--compilation_config.pass_config.x", "1"], ("--compilation-config.pass_config.x", "1")),
        (["-O3"], ("--optimization-level", "3")),
        (["-O=3"], ("--optimization-level", "3")),
        (["-O", "3"], ("--optimization-level", "3")),
        (["--optimization_level=3"], ("--optimization-level", "3")),
    ],
)
def test_a_flag_and_its_value_as_vllm_reads_them(tokens, expected):
    assert named(*tokens) == [expected]


@pytest.mark.parametrize(
    ("tokens", "strays"),
    [
        (["a", "b", "--seed=1"], [("a", "b")]),
        (["--seed=1", "a"], [("a",)]),
        (["-O3", "a"], [("a",)]),
        (["--enforce-eager", "--seed 1"], [("--seed 1",)]),
        (["--enforce-eager", "--", "a"], [("--", "a")]),
        (["--seed", "1"], []),
    ],
)
def test_tokens_that_belong_to_no_flag(tokens, strays):
    assert [flag.tokens for flag in parse(tokens) if not flag.name] == strays


def test_a_flag_knows_where_it_stands():
    assert parse(["--a", "1", "--b=2"]) == (Flag("--a", ("--a", "1"), 0), Flag("--b", ("--b=2",), 2))


@given(TOKENS)
def test_no_token_is_lost(tokens):
    flags = parse(tokens)
    assert [token for flag in flags for token in flag.tokens] == tokens
    assert all(tokens[flag.index] == flag.tokens[0] for flag in flags)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ({"max-model-len": 4096}, {"kv": "value"}, {"max-model-len": 4096, "kv": "value"}),
        ({"key": "base-value"}, {"key": "override-value"}, {"key": "override-value"}),
        ({"outer": {"inner1": "a"}}, {"outer": {"inner2": "b"}}, {"outer": {"inner1": "a", "inner2": "b"}}),
        ({"outer": {"a": 1}}, {"outer": 2}, {"outer": 2}),
        ({"outer": 1}, {"outer": {"a": 2}}, {"outer": {"a": 2}}),
        ({"list": [1, 2]}, {"list": [3]}, {"list": [3]}),
        ({"a": 1, "b": 2}, {"b": 0, "a": False}, {"a": False, "b": 0}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": 1}, {"b": {"c": None, "d": 1}}, {"a": 1, "b": {"d": 1}}),
    ],
)
def test_json_objects_merge_deeply_with_keys_low_then_high(low, high, expected):
    """See aim-engine 7.3."""
    merged = merge([f"--c={json.dumps(low)}"], ["--c", json.dumps(high)])
    assert merged == [f"--c={json.dumps(expected, separators=(',', ':'))}"]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("not-valid-json", '{"valid":"json"}'),
        ('{"valid":"json"}', "not-valid-json"),
        ("", '{"valid":"json"}'),
        ('{"valid":"json"}', ""),  # deviation: aim-engine keeps the base; an explicit "" wins here
        ("plain", "words"),
        ("[1]", '{"a":1}'),
        ('{"a":1}', "[1]"),
    ],
)
def test_what_is_no_pair_of_json_objects_is_replaced_whole(low, high):
    """See aim-engine 7.3, B61."""
    assert merge([f"--c={low}"], [f"--c={high}"]) == [f"--c={high}"]


@pytest.mark.parametrize("value", ["not-valid-json", '{"a": }', "{'a': 1}", ""])
def test_invalid_json_is_an_error_where_aim_engine_lets_it_silently_replace_the_other_layer(value):
    """See aim-engine 7.3, B61."""
    (found,) = problems(PATH, merge(['--c={"a":1}'], [f"--c={value}"]), {"--c"})
    assert found.path == PATH / 0
    assert found.what.startswith("is not valid JSON (--c: line 1 column ")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (["--a=1", "--b=2", "--c=3"], ["--d=4", "--b=5"], ["--a=1", "--b=5", "--c=3", "--d=4"]),
        (["--max_num_seqs=1", "--b"], ["--max-num-seqs", "2"], ["--max-num-seqs", "2", "--b"]),
        (["--a", "1", "2", "--b"], ["--a=3"], ["--a=3", "--b"]),
        (["--x", "--b"], ["--no-x"], ["--no-x", "--b"]),
        (["--no-x", "--b"], ["--x"], ["--x", "--b"]),
        (["-O2", "--b"], ["--optimization-level=3"], ["--optimization-level=3", "--b"]),
        (['-cc={"a":1}'], ['-cc={"b":2}'], ['-cc={"a":1,"b":2}']),
        (["--c.a=1", "--c.b=2"], ["--c.b=3"], ["--c.a=1", "--c.b=3"]),
        (["--c.l+=1", "--b"], ["--c.l+=2", "--c.l+=3"], ["--c.l+=2", "--c.l+=3", "--b"]),
        (["--a=1", "--a=2"], ["--a=3"], ["--a=3"]),
        (["--b"], ["--a=1", "--a=2"], ["--b", "--a=1", "--a=2"]),
        (["--b"], ["stray"], ["stray", "--b"]),
        ([], ["stray", "--a"], ["stray", "--a"]),
        (["--a", "1"], [], ["--a", "1"]),
    ],
)
def test_lists_merge_by_flag_name(low, high, expected):
    assert merge(low, high) == expected


@given(TOKENS, TOKENS)
def test_a_merge_has_every_flag_of_the_higher_layer_and_no_other_contrary(low, high):
    merged = {flag.name for flag in parse(merge(low, high))}
    switches = {flag.switch for flag in parse(high) if flag.name}
    assert merged == {flag.name for flag in parse(high)} | {
        flag.name for flag in parse(low) if flag.switch not in switches
    }


@given(TOKENS)
def test_nothing_changes_nothing(tokens):
    assert merge(tokens, []) == merge([], tokens) == tokens


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["--seed=1", "--a", "--seed=2"], [(2, "repeats an earlier flag (--seed)", KEEP)]),
        (["--max_num_seqs=1", "--max-num-seqs", "2"], [(1, "repeats an earlier flag (--max-num-seqs)", KEEP)]),
        (["-O3", "--optimization-level=2"], [(1, "repeats an earlier flag (--optimization-level)", KEEP)]),
        (["--x", "--no-x"], [(1, "contradicts an earlier flag (--no-x, --x)", KEEP)]),
        (["--no-x", "--x"], [(1, "contradicts an earlier flag (--x, --no-x)", KEEP)]),
        (["stray", "--x"], [(0, "is no flag", ONE_ENTRY)]),
        (["--x=1", "stray", "hunter2"], [(1, "is no flag", ONE_ENTRY)]),
        (["--json", '{"a":', "1}"], [(2, "is no flag", ONE_ENTRY)]),
        (["--c.a=1", "--c.b=2", "--c.l+=1", "--c.l+=2", "--d", "1", "2"], []),
        (["--no-x", "--no-y", "--y-z"], []),
        (['--json={"a": 1}', "--json-other", "{"], []),
    ],
)
def test_what_is_wrong_in_one_list(tokens, expected):
    assert problems(PATH, tokens, {"--json"}) == [Problem(PATH / at, *rest) for at, *rest in expected]


@pytest.mark.parametrize("tokens", [["--c.a=1", "--c={}"], ["--c={}", "--c.a", "1"]])
def test_json_in_pieces_beside_the_whole_is_refused_because_vllm_drops_the_whole(tokens):
    (found,) = problems(PATH, tokens, set())
    assert found.path == PATH / 1
    assert "written both as one JSON value and in pieces" in found.what


@pytest.mark.parametrize(
    ("tokens", "at", "where"),
    [
        (["--json={'hunter2': 1}"], 0, "line 1 column 2"),
        (["--json", '{"a":1, hunter2}'], 1, "line 1 column 9"),
        (["--json"], 0, "line 1 column 1"),
        (["--json", "[" * 100_000], 1, "a number or a nesting beyond all bounds"),
        (["--json", "1" * 5_000], 1, "a number or a nesting beyond all bounds"),
    ],
)
def test_invalid_json_is_reported_by_its_place_and_never_echoed(tokens, at, where):
    (found,) = problems(PATH, tokens, {"--json"})
    assert found.path == PATH / at
    assert found.what == f"is not valid JSON (--json: {where})"
    assert "hunter2" not in str(found)
