"""Object names: legal, unique and stable for all inputs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.problems import ConfigError
from planning.names import names, shortened
from tests.stacks import rendered, tree

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
DERIVED = ("-epp", "-decode", "-prefill")
services = st.from_regex(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
near = st.sampled_from(["qwen", "qwen-epp", "qwen-decode", "q" * 63, "q" * 62 + "r", "q" * 44, "q" * 45])


@given(services | near)
def test_every_name_is_legal_with_the_longest_suffix(service):
    own = names("models", service)
    assert all(DNS_1035.fullmatch(name) for name in (own.base, own.decode, own.prefill, own.picker))
    assert DNS_1035.fullmatch(f"{own.base}-canary-ip-00000000")
    assert DNS_LABEL.fullmatch(own.base)


@given(st.tuples(services | near, services | near))
def test_two_services_share_no_name_of_one_kind_unless_one_is_called_like_an_object_of_the_other(pair):
    one, other = pair
    if one == other:
        return
    first, second = set(names("models", one).claims), set(names("models", other).claims)
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
        with pytest.raises(ConfigError, match="would make an object of"):
            rendered(stack)
        return
    everything = rendered(stack)
    places = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in everything]
    assert len(places) == len(set(places))


def test_a_cut_name_keeps_a_hash_of_the_whole():
    assert shortened("a" * 63, 44) != shortened("a" * 62 + "b", 44)
    assert shortened("a" * 44, 44) == "a" * 44
    assert len(shortened("a" * 63, 44)) == 44


def test_names_are_those_of_the_contract():
    own = names("models", "qwen")
    assert (own.base, own.decode, own.prefill, own.picker) == ("qwen", "qwen-decode", "qwen-prefill", "qwen-epp")
    assert own.picker_cluster_scoped == "inference-stacks:models:qwen-epp"
