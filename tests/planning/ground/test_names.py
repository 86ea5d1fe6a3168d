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
    variant_names = names("models", service, variant, generation)
    derived = [
        variant_names.service,
        variant_names.base,
        variant_names.pool,
        variant_names.decode,
        variant_names.prefill,
        variant_names.picker,
        f"{variant_names.weights}-0123abcd",
    ]
    derived += [f"{variant_names.base}-ip-00000000", f"{variant_names.pool}-ip-00000000"]
    derived += [f"{name}-999-4294967295" for name in (variant_names.decode, variant_names.prefill)]
    assert [name for name in derived if not DNS_1035.fullmatch(name)] == []


def test_the_longest_name_leaves_no_character_unused():
    variant_names = names("models", "q" * 63, CANARY, "0fe1d")
    assert len(f"{variant_names.prefill}-999-4294967295") == LONGEST


@given(services | near, generations, generations)
def test_variants_and_generations_share_the_service_and_nothing_that_is_their_own(service, generation, other):
    primary, canary = (names("models", service, variant, generation) for variant in (PRIMARY, CANARY))
    assert not set(primary.exclusive_names()) & set(canary.exclusive_names())
    assert (primary.service, primary.weights) == (canary.service, canary.weights)
    assert primary.picker_cluster_scoped != canary.picker_cluster_scoped
    next_one = names("models", service, PRIMARY, other)
    assert (primary.base, primary.service, primary.weights) == (next_one.base, next_one.service, next_one.weights)
    assert (set(primary.exclusive_names()) & set(next_one.exclusive_names()) == {("Service", primary.base)}) is (
        generation != other
    )


@given(st.tuples(services | near, services | near))
def test_two_services_share_no_name_of_one_kind_unless_one_is_called_like_an_object_of_the_other(pair):
    service, other = pair
    if service == other:
        return
    first, second = set(names("models", service).exclusive_names()), set(names("models", other).exclusive_names())
    derived = any(f"{service}{suffix}" == other or f"{other}{suffix}" == service for suffix in DERIVED)
    assert derived or not first & second


@given(st.tuples(services, services), st.tuples(services, services))
def test_cluster_scoped_names_are_unambiguous(place, other):
    same = names(*place).picker_cluster_scoped == names(*other).picker_cluster_scoped
    assert same == (place == other)


@given(st.dictionaries(services | near, st.sampled_from(["a", "b"]), min_size=1, max_size=4))
def test_an_accepted_stack_never_makes_one_object_twice(placed):
    stack = tree(**{key: {"namespace": namespace} for key, namespace in placed.items()})
    if any(placed.get(f"{key}{suffix}") == namespace for key, namespace in placed.items() for suffix in DERIVED):
        with pytest.raises(ConfigError, match="would make the same object as"):
            rendered(stack)
        return
    everything = rendered(stack)
    places = [
        (manifest["kind"], manifest["metadata"].get("namespace"), manifest["metadata"]["name"])
        for manifest in everything
    ]
    assert len(places) == len(set(places))


def test_a_cut_name_keeps_a_hash_of_the_whole():
    assert shorten("a" * 63, 44) != shorten("a" * 62 + "b", 44)
    assert shorten("a" * 44, 44) == "a" * 44
    assert len(shorten("a" * 63, 44)) == 44


def test_names_are_those_of_the_contract():
    variant_names = names("models", "qwen")
    assert (variant_names.base, variant_names.decode, variant_names.prefill, variant_names.picker) == (
        "qwen",
        "qwen-decode",
        "qwen-prefill",
        "qwen-epp",
    )
    assert variant_names.picker_cluster_scoped == "inference-stacks:models:qwen-epp"


def test_names_of_a_canary_and_of_a_generation_are_those_of_the_contract():
    variant_names = names("models", "qwen", CANARY, "0fe1d")
    assert (variant_names.service, variant_names.base, variant_names.pool) == (
        "qwen",
        "qwen-canary",
        "qwen-canary-0fe1d",
    )
    assert (variant_names.decode, variant_names.prefill) == ("qwen-canary-0fe1d-decode", "qwen-canary-0fe1d-prefill")
    assert (variant_names.picker, variant_names.weights) == ("qwen-canary-0fe1d-epp", "qwen-weights")
    assert names("models", "qwen", CANARY).decode == "qwen-canary-decode"
    assert names("models", "qwen", PRIMARY, "0fe1d").decode == "qwen-0fe1d-decode"


@pytest.mark.parametrize("other", [f"qwen{suffix}" for suffix in CANARYS])
def test_a_service_called_like_an_object_of_a_canary_is_refused(other):
    prefill = {"rollout": {"type": "Recreate"}}
    canary = {"prefill": prefill, **prefill, "canary": {"weight": 10}}
    for services_of in ({"qwen": canary, other: {}}, {"a": {**canary, "name": "qwen"}, "b": {"name": other}}):
        with pytest.raises(ConfigError, match="would make the same object as"):
            rendered(tree(**services_of))
        rendered(
            tree(**{key: {k: v for k, v in service.items() if k != "canary"} for key, service in services_of.items()})
        )


@pytest.mark.parametrize(
    ("key", "set_name", "place"),
    [
        ("qwen-decode", "decode", "qwen-decode-decode"),
        ("qwen-decode-files", "decode-files", "qwen-decode-files-decode-files"),
    ],
)
def test_a_set_and_a_role_of_another_service_have_no_common_logical_name(key, set_name, place):
    other = {key: {"name": "other"}}
    with pytest.raises(
        ConfigError, match=rf"services.{key}: would make .* \(logical name {place}\); choose another key"
    ):
        rendered(tree(qwen={"decode": {"sets": {set_name: {}, "b": {}}}}, **other))
    rendered(tree(qwen={"decode": {"sets": {"a": {}, "b": {}}}}, **other))
    rendered(tree(qwen={}, **other))
