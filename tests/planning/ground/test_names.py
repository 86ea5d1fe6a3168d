"""Object names: legal, unique and stable for all inputs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.problems import ConfigError
from planning.ground.names import _LONGEST_BASE, CANARY, LONGEST, PRIMARY, names, shorten
from tests.support.stacks import rendered, tree

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
DERIVED = ("-epp", "-decode", "-prefill")
CANARYS = ("-canary", "-canary-epp", "-canary-decode", "-canary-prefill")
services = st.from_regex(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
lengths = [length + more for length in (_LONGEST_BASE, 44) for more in (-1, 0, 1)]
near = st.sampled_from(["qwen", "qwen-epp", "qwen-decode", "qwen-canary", "qwen-0fe1d", "q" * 63, "q" * 62 + "r"]) | (
    st.sampled_from(lengths).map("q".__mul__)
)
variants = st.sampled_from([PRIMARY, CANARY])
generations = st.none() | st.from_regex(r"[0-9a-f]{5}", fullmatch=True)


@given(services | near, variants, generations)
def test_every_name_is_legal_with_the_longest_suffix(service, variant, generation):
    own = names("models", service, variant, generation)
    derived = [own.service, own.base, own.pool, own.decode, own.prefill, own.picker, f"{own.weights}-0123abcd"]
    derived += [f"{own.base}-ip-00000000", f"{own.pool}-ip-00000000"]
    derived += [f"{name}-999-4294967295" for name in (own.decode, own.prefill)]
    assert [name for name in derived if not DNS_1035.fullmatch(name)] == []


def test_the_longest_name_leaves_no_character_unused():
    own = names("models", "q" * 63, CANARY, "0fe1d")
    assert len(f"{own.prefill}-999-4294967295") == LONGEST


@given(services | near, generations, generations)
def test_variants_and_generations_share_the_service_and_nothing_that_is_their_own(service, one, other):
    primary, canary = (names("models", service, variant, one) for variant in (PRIMARY, CANARY))
    assert not set(primary.exclusive_names) & set(canary.exclusive_names)
    assert (primary.service, primary.weights) == (canary.service, canary.weights)
    assert primary.picker_cluster_scoped != canary.picker_cluster_scoped
    next_one = names("models", service, PRIMARY, other)
    assert (primary.base, primary.service, primary.weights) == (next_one.base, next_one.service, next_one.weights)
    assert (set(primary.exclusive_names) & set(next_one.exclusive_names) == {("Service", primary.base)}) is (
        one != other
    )


@given(st.tuples(services | near, services | near))
def test_two_services_share_no_name_of_one_kind_unless_one_is_called_like_an_object_of_the_other(pair):
    one, other = pair
    if one == other:
        return
    first, second = set(names("models", one).exclusive_names), set(names("models", other).exclusive_names)
    derived = any(f"{one}{suffix}" == other or f"{other}{suffix}" == one for suffix in DERIVED)
    assert derived or not first & second


@given(st.tuples(services, services), st.tuples(services, services))
def test_cluster_scoped_names_are_unambiguous(one, other):
    same = names(*one).picker_cluster_scoped == names(*other).picker_cluster_scoped
    assert same == (one == other)


@given(st.dictionaries(services | near, st.sampled_from(["a", "b"]), min_size=1, max_size=4))
def test_an_accepted_stack_never_makes_one_object_twice(placed):
    stack = tree(**{key: {"namespace": namespace} for key, namespace in placed.items()})
    if any(placed.get(f"{key}{suffix}") == namespace for key, namespace in placed.items() for suffix in DERIVED):
        with pytest.raises(ConfigError, match="would make the same object as"):
            rendered(stack)
        return
    everything = rendered(stack)
    places = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in everything]
    assert len(places) == len(set(places))


def test_a_cut_name_keeps_a_hash_of_the_whole():
    assert shorten("a" * 63, 44) != shorten("a" * 62 + "b", 44)
    assert shorten("a" * 44, 44) == "a" * 44
    assert len(shorten("a" * 63, 44)) == 44


def test_names_are_those_of_the_contract():
    own = names("models", "qwen")
    assert (own.base, own.decode, own.prefill, own.picker) == ("qwen", "qwen-decode", "qwen-prefill", "qwen-epp")
    assert own.picker_cluster_scoped == "inference-stacks:models:qwen-epp"


def test_names_of_a_canary_and_of_a_generation_are_those_of_the_contract():
    own = names("models", "qwen", CANARY, "0fe1d")
    assert (own.service, own.base, own.pool) == ("qwen", "qwen-canary", "qwen-canary-0fe1d")
    assert (own.decode, own.prefill) == ("qwen-canary-0fe1d-decode", "qwen-canary-0fe1d-prefill")
    assert (own.picker, own.weights) == ("qwen-canary-0fe1d-epp", "qwen-weights")
    assert names("models", "qwen", CANARY).decode == "qwen-canary-decode"
    assert names("models", "qwen", PRIMARY, "0fe1d").decode == "qwen-0fe1d-decode"


@pytest.mark.parametrize("other", [f"qwen{suffix}" for suffix in CANARYS])
def test_a_service_called_like_an_object_of_a_canary_is_refused(other):
    prefill = {"rollout": {"type": "Recreate"}}
    canary = {"prefill": prefill, **prefill, "canary": {"weight": 10}}
    for services_of in ({"qwen": canary, other: {}}, {"a": {**canary, "name": "qwen"}, "b": {"name": other}}):
        with pytest.raises(ConfigError, match="would make the same object as"):
            rendered(tree(**services_of))
        rendered(tree(**{key: {k: v for k, v in one.items() if k != "canary"} for key, one in services_of.items()}))
