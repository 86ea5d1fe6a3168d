"""Kinds that the cluster has to serve: what is an error, what is a warning, and what is skipped."""

from judging.preflight import kinds as preflight_kinds
from judging.preflight.kinds import bundles, kinds
from planning.ground.cluster_facts import Bundles, ClusterFacts, Served, Unknown
from planning.releases import channel
from tests.support.stacks import lines, plan, tree

REWRITES = "inferencemodelrewrites.inference.networking.x-k8s.io"
ROUTES = "httproutes.gateway.networking.k8s.io"
NEEDED = ["inference.networking.k8s.io/v1/InferencePool", "v1/Service"]


def test_a_missing_kind_is_an_error_with_its_bundle_version_and_command():
    verdict = kinds(NEEDED, ClusterFacts(Served(frozenset({"v1/Service"}))), "strict")
    (error,) = lines(verdict, "error")
    assert "inference.networking.k8s.io/v1/InferencePool" in error
    assert "Gateway API Inference Extension v1.5.0: kubectl apply" in error


def test_a_failed_read_is_a_warning_that_says_what_went_unchecked_whatever_the_mode():
    verdict = kinds(NEEDED, ClusterFacts(Unknown("no answer")), "strict")
    assert lines(verdict, "error") == []
    assert lines(verdict, "warning") == [f"whether the cluster serves {', '.join(NEEDED)} went unchecked: no answer"]


def test_the_modes_of_the_check():
    facts = ClusterFacts(Served(frozenset({"v1/Service"})))
    assert len(lines(kinds(NEEDED, facts, "warn"), "warning")) == 1
    assert kinds(NEEDED, facts, "skip") == kinds([], facts, "strict")


def test_definitions_have_to_be_as_new_as_the_newest_of_the_channels_in_use_asks(monkeypatch):
    """The message names the channel that asks for the highest version."""
    newest = channel("llm-d-0.8")
    requirements = newest.requirements
    gateway_api = requirements.gateway_api.model_copy(update={"version": "v1.10.0"})
    requirements = requirements.model_copy(update={"gateway_api": gateway_api})
    newest = newest.model_copy(update={"requirements": requirements})
    monkeypatch.setattr(preflight_kinds, "channel", lambda name: newest if name == "llm-d-0.8" else channel(name))
    facts = ClusterFacts(Served(frozenset()), bundles=Bundles({ROUTES: "v1.9.0"}))
    mixed = plan(tree(qwen={"release": "gie-1.3", "canary": {"weight": 1, "release": "llm-d-0.8"}}, bert={}))
    (line,) = lines(bundles(mixed, facts, "strict"), "error")
    assert line.startswith(f"{ROUTES}: comes from Gateway API v1.9.0, but release llm-d-0.8 needs v1.10.0 or newer")
    assert bundles(plan(tree(qwen={"release": "gie-1.3"}, bert={})), facts, "strict") == []


def test_definitions_of_every_channel_in_use_are_asked_for():
    facts = ClusterFacts(Served(frozenset()), bundles=Bundles({REWRITES: "v1.0.0"}))
    (line,) = lines(bundles(plan(tree(qwen={"release": "gie-1.3"}, bert={})), facts, "strict"), "error")
    assert line.startswith(f"{REWRITES}: ")
    assert "but release gie-1.3 needs v1.3.0 or newer" in line
    assert bundles(plan(tree()), facts, "strict") == []
