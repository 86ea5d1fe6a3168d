"""The record of a stack: what each step of composing it found, and which questions it asked of the cluster."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

import planning
from composition import Composition, Given, Live, Refusal, compose
from facts import cluster
from judging import additions
from judging.validation import SchemaError
from manifests import marking, pods
from manifests.assembly import objects, render
from models.load import load
from models.problems import ConfigError
from models.stack import Cluster
from planning import outputs
from planning.ground import labels, parts
from planning.ground.cluster_facts import (
    NOTHING_READ,
    Bundles,
    ClusterFacts,
    FieldOwner,
    GatewayRef,
    Gateways,
    LiveGateway,
    LiveObject,
    LiveObjects,
    LiveRoute,
    LiveRouteMatch,
    ParentRef,
    Permissions,
    Pools,
    Routes,
    Served,
    Unknown,
)
from planning.ground.inventory import LiveNamespace, LiveNode, LivePool, LivePools, Namespaces, Nodes, Quotas
from planning.ground.needs import NOTHING_NEEDED
from tests.support.stacks import NAME, lines, plan, tree

REF = GatewayRef("gateway.networking.k8s.io", "Gateway", "gateways", "gateway")
UNCHECKED = "changes by others to objects went unchecked"
TAKES_BACK = "and a run that refreshes the state or changes the object undoes this"
RBAC = "rbac.authorization.k8s.io"
TWO_GENERATIONS = tree(qwen={"canary": {"weight": 10, "prefill": {}}})


@dataclass
class Asked:
    """A target that answers with given facts and pools, and notes what it was asked."""

    known: ClusterFacts
    live: Pools | Unknown = field(default_factory=lambda: Pools({}))
    made: LiveObjects | Unknown = field(default_factory=lambda: LiveObjects({}))
    questions: list = field(default_factory=list)
    permitted: Callable[[frozenset[str]], Permissions | Unknown] | None = None

    def facts(self, spec, needs):
        self.questions.append(("facts", spec, needs.gateways))
        return self.known

    def name(self, _spec):
        return None

    def earlier_facts(self):
        return None

    def pools(self, spec, namespaces):
        self.questions.append(("pools", spec, frozenset(namespaces)))
        return self.live

    def objects(self, spec, kinds, names):
        self.questions.append(("objects", spec, frozenset(kinds), names))
        return self.made

    def permissions(self, _spec, namespaces):
        return None if self.permitted is None else self.permitted(frozenset(namespaces))


def composition(stack, known=NOTHING_READ):
    composed = compose(stack, Given(known), NAME)
    assert isinstance(composed, Composition)
    return composed


def fitting(stack, *routes):
    """Return facts of a cluster that has what a stack needs, its Gateway accepted."""
    kinds = Served(frozenset(each.api for each in composition(stack).objects))
    gateways = Gateways((LiveGateway(REF, accepted=True, programmed=True),))
    namespaces = Namespaces({"models": LiveNamespace({}, {})})
    nodes = Nodes((LiveNode("gpu-0", {}, ready=True, cordoned=False, taints=(), devices={"nvidia.com/gpu": 8}),))
    known = {"bundles": Bundles({}), "namespaces": namespaces, "nodes": nodes, "quotas": Quotas(())}
    return ClusterFacts(kinds, gateways, Routes(routes), **known)


def claimed_by_another():
    """Return a route of somebody else's that gets the requests of `qwen`."""
    match = LiveRouteMatch("PathPrefix", "/models/qwen")
    return LiveRoute("elsewhere", "theirs", (ParentRef(REF, None, None),), (), (match,))


def test_the_plan_is_that_of_the_configuration_and_the_objects_are_those_of_the_plan():
    composed = composition(tree(qwen={}, bert={}))
    assert composed.stack == load(tree(qwen={}, bert={})).stack
    assert composed.plan == plan(tree(qwen={}, bert={}))
    assert composed.components == marking.mark(render(composed.plan), NAME)
    assert composed.objects == tuple(objects(composed.components))
    assert composed.plan_warnings == composed.plan.warnings
    assert composed.source_warnings == ()


def test_routes_of_an_accepted_gateway_are_awaited_in_objects_outputs_and_readiness():
    composed = composition(tree(), fitting(tree()))
    assert composed.waits.routes == {"qwen"}
    assert composed.components == marking.mark(render(composed.plan, {"qwen"}), NAME)
    assert render(composed.plan, {"qwen"}) != render(composed.plan)
    assert composed.contract["services"]["qwen"]["awaited"] == [
        "endpointPicker",
        "pool",
        "replicas",
        "route",
        "workload",
    ]
    (service,) = composed.plan.services
    assert {each.part for each in composed.awaited_objects(service)} == {
        parts.DECODE.workload,
        parts.PICKER,
        parts.POOL,
        parts.ROUTE,
    }


def test_a_service_is_up_once_pods_pools_and_pickers_of_it_and_its_canary_are():
    composed = composition(tree(qwen={"prefill": {}, "canary": {"weight": 1}}, bert={}))
    bert, qwen = composed.plan.services
    assert {(each.owner, each.part) for each in composed.awaited_objects(bert)} == {
        ("bert", parts.DECODE.workload),
        ("bert", parts.PICKER),
        ("bert", parts.POOL),
    }
    assert {(each.owner, each.part) for each in composed.awaited_objects(qwen)} == {
        (owner, part)
        for owner in (variant.owner for variant in qwen.variants)
        for part in (parts.DECODE.workload, parts.PREFILL.workload, parts.PICKER, parts.POOL)
    }


def test_the_digest_is_of_the_kinds_that_are_needed_and_of_the_gateways_that_are_awaited():
    facts = fitting(tree())
    composed = composition(tree(), facts)
    assert composed.facts_digest == facts.digest({each.api for each in composed.objects}, [REF])
    assert composed.contract == outputs.of_stack(composed.plan, composed.facts_digest, {"qwen"})
    assert composition(tree()).facts_digest is None


def test_the_cluster_is_asked_for_the_gateways_of_the_routes_as_the_configuration_says():
    target = Asked(NOTHING_READ)
    compose(tree() | {"cluster": {"facts": {"type": "none"}, "context": "daily"}}, target, NAME)
    ((what, spec, used),) = target.questions
    assert (what, spec.context, used) == ("facts", "daily", {REF})


def test_pools_of_given_facts_announce_another_generation_as_those_of_the_cluster_do():
    stack = tree(qwen={"prefill": {}})
    selector = {labels.SERVICE: "qwen", labels.VARIANT: "primary"}
    pools = LivePools((LivePool("models", "qwen", selector, accepted=True),))
    found = composition(stack, replace(fitting(stack), live_pools=pools))
    assert ["qwen (one role)" in line for line in lines(found.announcements, "warning")] == [True]
    unread = lines(composition(stack, fitting(stack)).announcements, "warning")
    assert unread == ["services.qwen: generations of running pods went unchecked: the cluster was not asked"]


def test_pools_are_asked_for_where_pods_exchange_their_cache_and_the_change_is_announced():
    target = Asked(NOTHING_READ, Unknown("no answer"))
    composed = compose(TWO_GENERATIONS, target, NAME)
    assert [(what, about) for what, _, about, *_ in target.questions] == [("facts", {REF}), ("pools", {"models"})]
    assert lines(composed.announcements, "warning") == [
        "services.qwen.canary: generations of running pods went unchecked: no answer",
    ]


def scaled(stack, number):
    """Return the objects of a cluster in which somebody scaled a service and added a rule to its picker's Role."""
    made = {each.place: each.manifest for each in composition(stack).objects}
    decode, role = ("apps", "Deployment", "models", "qwen-decode"), (RBAC, "Role", "models", "qwen-epp")
    spec = {**made[decode], "spec": {**made[decode]["spec"], "replicas": number}}
    rules = {**made[role], "rules": [*made[role]["rules"], {}]}
    return LiveObjects(
        {
            decode: LiveObject(spec, (FieldOwner("kubectl", "today", {"f:spec": {"f:replicas": {}}}),)),
            role: LiveObject(rules, (FieldOwner("kubectl-patch", "today", {"f:rules": {}}),)),
        },
        ("apps/v1/Deployment",),
    )


def test_what_somebody_did_in_the_cluster_is_announced_and_taken_back():
    """See defects A17."""
    target = Asked(fitting(tree()), made=scaled(tree(), 3))
    composed = compose(tree(), target, NAME)
    assert [what for what, *_ in target.questions] == ["facts", "objects"]
    assert target.questions[1][2] == additions.kinds(render(plan(tree())))
    assert lines(composed.announcements, "warning") == [
        f"{UNCHECKED} for apps/v1/Deployment: the API server refused to list them",
        f"services.qwen.replicas: 3 replicas will become 1: kubectl scaled Deployment models/qwen-decode, {TAKES_BACK}",
        "Role models/qwen-epp: kubectl-patch added entries to rules (today); this run removes them",
    ]
    (role,) = [each for each in composed.objects if each.manifest["kind"] == "Role"]
    assert labels.TAKEN_BACK in role.manifest["metadata"]["annotations"]


def test_a_cluster_that_does_not_answer_a_second_time_is_told():
    composed = compose(tree(), Asked(fitting(tree()), made=Unknown("no answer")), NAME)
    assert lines(composed.announcements, "warning") == [f"{UNCHECKED}: no answer"]
    assert composed.objects == tuple(objects(marking.mark(render(composed.plan, {"qwen"}), NAME)))


def test_errors_of_preflight_are_of_kinds_then_of_routes_and_nothing_is_announced():
    stack = TWO_GENERATIONS
    known = replace(fitting(stack, claimed_by_another()), apis=Served(frozenset()))
    target = Asked(known, Unknown("no answer"))
    composed = compose(stack, target, NAME)
    *kinds, route = lines(composed.preflight, "error")
    assert len(kinds) == len({each.api for each in composed.objects})
    assert all("the cluster does not serve it" in line for line in kinds)
    assert route.startswith("services.qwen.route.matches[0].path: is taken on gateways/gateway by HTTPRoute")
    assert composed.announcements == ()
    assert [what for what, *_ in target.questions] == ["facts", "objects"]


@pytest.mark.parametrize(("mode", "errors", "warnings"), [("strict", 1, 0), ("warn", 0, 1), ("skip", 0, 0)])
def test_preflight_is_as_strict_as_the_configuration_says(mode, errors, warnings):
    stack = tree() | {"checks": {"preflight": mode}}
    found = composition(stack, fitting(stack, claimed_by_another())).preflight
    assert (len(lines(found, "error")), len(lines(found, "warning"))) == (errors, warnings)


def test_mistakes_of_the_configuration_are_refused_all_at_once():
    stack = tree(qwen={"accelerator": "abacus"}, bert={"replica": 2})
    with pytest.raises(ConfigError) as mistakes:
        planning.plan(load(stack), NAME)
    target = Asked(NOTHING_READ)
    refusal = compose(stack, target, NAME)
    assert isinstance(refusal, Refusal)
    assert isinstance(refusal.error, ConfigError)
    assert refusal.error.problems == mistakes.value.problems
    assert (refusal.source_warnings, refusal.plan_warnings, target.questions) == ((), (), [])


def test_what_sources_did_not_answer_is_kept_beside_the_refusal():
    source, storage = "kit://127.0.0.1:1/org/kit:v1", {"type": "dedicated", "storageClassName": "fast"}
    model = {"name": "org/kit", "source": source, "insecure": True}
    refusal = compose(tree(qwen={"model": model, "storage": storage}), Given(NOTHING_READ), NAME)
    assert isinstance(refusal, Refusal)
    (line,) = lines(refusal.source_warnings, "warning")
    assert f"neither size nor existence of {source} was checked" in line
    assert refusal.plan_warnings == ()


def test_a_misfit_that_a_user_wrote_and_one_of_ours_are_refused_with_what_the_plan_warns_of(monkeypatch):
    idle = {"weight": 0}
    written = compose(
        tree(qwen={"canary": idle, "patch": {"decode": {"spec": {"replica": 1}}}}), Given(NOTHING_READ), NAME
    )
    monkeypatch.setattr(pods, "security", lambda *_: {"runAsNonRot": True})
    ours = compose(tree(qwen={"canary": idle}), Given(NOTHING_READ), NAME)
    for refusal, kind in ((written, ConfigError), (ours, SchemaError)):
        assert isinstance(refusal, Refusal)
        assert isinstance(refusal.error, kind)
        assert any("weight 0 without headers" in line for line in lines(refusal.plan_warnings, "warning"))


def test_a_live_target_reads_with_the_kubeconfig_and_the_context_of_the_configuration(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(cluster, "read", lambda *of: asked.append(of) or NOTHING_READ)
    monkeypatch.setattr(cluster, "pools", lambda *of: asked.append(of) or Pools({}))
    monkeypatch.setattr(cluster, "objects", lambda *of: asked.append(of) or LiveObjects({}))
    spec, access = Cluster(context="daily"), cluster.KubeAccess("kind: Config", "daily")
    target = Live("kind: Config", tmp_path)
    assert target.facts(spec, NOTHING_NEEDED) == NOTHING_READ
    assert target.pools(spec, {"models"}) == Pools({})
    names = {("v1/Service", "models"): ["qwen"]}
    assert target.objects(spec, {("v1/Service", "models")}, names) == LiveObjects({})
    assert asked == [
        (spec, access, tmp_path, NOTHING_NEEDED),
        (spec, access, {"models"}),
        (spec, access, {("v1/Service", "models")}, names),
    ]


def test_given_facts_hold_whatever_the_configuration_says_about_reading_them():
    facts = fitting(tree())
    assert composition(tree() | {"cluster": {"facts": {"type": "none"}}}, facts).facts == facts
    assert Given(facts).pools(Cluster(), ["models"]) == Unknown("the cluster was not asked")
    assert Given(facts).objects(Cluster(), [("v1/Service", "models")], {}) == LiveObjects({})


NOBODY = Permissions({"": (), "models": (), "gateways": ()})


def announced(permitted):
    composed = compose(tree(), Asked(fitting(tree()), permitted=permitted), NAME)
    assert isinstance(composed, Composition)
    return [str(problem) for problem in composed.announcements]


def test_a_run_that_lacks_rights_is_told_before_anything_changes():
    asked = []
    found = announced(lambda namespaces: asked.append(namespaces) or NOBODY)
    assert asked == [{"models", "gateways"}]
    assert {line.partition(" in ")[2].partition(",")[0] for line in found} == {
        "namespace gateways",
        "namespace models",
        "the whole cluster",
    }
    assert announced(lambda _: Unknown("it answered 403")) == ["the rights of this run went unchecked: it answered 403"]
    assert announced(None) == []


@pytest.mark.parametrize("count", [101, 300, 950])
def test_a_configuration_with_too_many_levels_is_told_at_its_key(count):
    """See defects H25. The engine passes on what no reader of files has bounded."""
    deep = []
    for _ in range(count - 1):
        deep = [deep]
    stack = tree(qwen={})
    stack["services"]["qwen"]["patch"] = {"spec": deep}
    refusal = compose(stack | {"labels": deep}, Given(NOTHING_READ), NAME)
    assert str(refusal.error).splitlines() == [
        "services: is nested too deeply; write at most 100 levels",
        "labels: is nested too deeply; write at most 100 levels",
    ]
