"""Verdicts of a real Istio on what stacks render to, and on stacks with a mistake."""

import copy
import re
from pathlib import Path

import pytest
import yaml

from tests.support.cluster.judge import UNJUDGED, Judge, gateways_for, judged, moved
from tests.support.cluster.refusals import MISTAKES
from tests.support.stacks import exactly, rendered, tree
from tests.support.stacks.varied_routes import routed_stacks
from tests.support.traffic.gateway import EXT_PROC
from tests.support.traffic.istio_routes import backends, routes
from tests.support.traffic.others import pools_of_others

pytestmark = pytest.mark.real

GOLDENS = {path.stem: path for path in sorted(Path("tests/contracts/goldens").glob("*.yaml"))}
GENERATED = 200
SEED = 20
SHARED = tree(chat={"canary": {"weight": 10, "engine": {"args": ["--seed=7"]}}})
"""Stack with a route to two pools."""
MENDED = """This version of Istio asks the picker of each pool of a rule; those before asked that of the last backend
alone. If it is a release, take it into `weightedPools.since` of planning/gateways.yaml. Once no older one is supported,
the order of backends (`rules` of planning/routes/httproute.py) and the refusals of planning/routes/pickers.py are free.
Delete these tests, and correct docs/reasons.md."""


@pytest.fixture(scope="module")
def judge(tools, new_plane, tmp_path_factory):
    plane = new_plane()
    found = Judge(tmp_path_factory.mktemp("judge"), tools, plane)
    found.start()
    yield found
    found.end()
    plane.stop()


@pytest.fixture(scope="module")
def mistaken(judge):
    """Apply the stacks with mistakes, and return what is to be said of each."""
    for mistake in MISTAKES:
        judge.submit(*mistake.gateways_and_objects(suffix(mistake)))
    return {mistake.name: mistake.verdicts(suffix(mistake)) for mistake in MISTAKES}


def suffix(mistake):
    return f"-mistake-{MISTAKES.index(mistake)}"


@pytest.fixture(scope="module")
def of_goldens(judge, mistaken):
    """Apply all goldens, and return the verdicts on each of them."""
    stacks = {
        name: list(yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader)) for name, path in GOLDENS.items()
    }
    return verdicts(
        judge,
        {name: moved([*manifests, *pools_of_others(manifests)], f"-{name}") for name, manifests in stacks.items()},
    )


@pytest.fixture(scope="module")
def of_generated(judge, of_goldens, configuration):
    """Apply the generated stacks when no proxy has to follow, and return the verdicts on each of them."""
    judge.leave_alone()
    return verdicts(judge, {name: rendered(stack) for name, stack in routed_stacks(GENERATED, SEED).items()})


@pytest.fixture(scope="module")
def final(judge, mistaken, of_generated):
    """Return all verdicts after everything was judged, the stacks with mistakes first."""
    return judge.verdicts()


def verdicts(judge, stacks):
    places = {name: judged(manifests) for name, manifests in stacks.items()}
    objects = [manifest for manifests in stacks.values() for manifest in manifests]
    judge.submit(gateways_for(objects), objects)
    found = judge.wait({place for each in places.values() for place in each}, is_final=lambda verdict: not verdict)
    return {name: {place: found[place] for place in each} for name, each in places.items()}


@pytest.mark.parametrize("name", GOLDENS)
def test_istio_accepts_every_route_and_pool_of_a_shipped_stack(name, of_goldens):
    assert {place: verdict for place, verdict in of_goldens[name].items() if verdict} == {}


def test_istio_accepts_every_route_and_pool_of_generated_stacks(of_generated):
    assert len(of_generated) == GENERATED
    refused = [(place, verdict) for found in of_generated.values() for place, verdict in found.items() if verdict]
    assert refused == []


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_istio_refuses_a_mistake_and_says_why(mistake, final, mistaken):
    expected = mistaken[mistake.name]
    assert {place: final.get(place, UNJUDGED) for place in expected} == expected


@pytest.fixture(scope="module")
def configuration(judge):
    """Return what a proxy is told of a route to a canary's pool and the primary's, and of one in the other order."""
    stack = moved(rendered(SHARED), "-shared")
    reversed_route = copy.deepcopy(exactly(stack, "HTTPRoute", "chat"))
    reversed_route["metadata"]["name"] = "reversed"
    (rule,) = reversed_route["spec"]["rules"]
    rule["matches"] = [{"path": {"type": "PathPrefix", "value": "/reversed"}}]
    rule["backendRefs"].reverse()
    objects = [*stack, reversed_route]
    assert not any(verdicts(judge, {"shared": objects})["shared"].values())
    return judge.configuration(objects, [f"models-shared.{name}.0" for name in ("chat", "reversed")])


def test_istio_asks_one_picker_for_a_rule_which_is_the_primarys_in_our_order(configuration):
    """The primary's pods, which most requests reach, are chosen by their own picker; the canary keeps its share."""
    primary, canary = (picker_cluster(name) for name in ("chat-epp", "chat-canary-epp"))
    ours, others = (asked(configuration, f"models-shared.{name}.0") for name in ("chat", "reversed"))
    assert ours == {"chat": (90, primary), "chat-canary": (10, primary)}, MENDED
    assert others == {"chat": (90, canary), "chat-canary": (10, canary)}, MENDED


def test_a_version_that_asks_the_picker_of_each_pool_is_told_apart(configuration):
    mended = copy.deepcopy(configuration)
    (rule,) = (each for each in routes(mended) if each.get("name") == "models-shared.chat.0")
    settings = rule.pop("typed_per_filter_config")
    for backend in rule["route"]["weighted_clusters"]["clusters"]:
        backend["typed_per_filter_config"] = copy.deepcopy(settings)
        service = "chat-canary-epp" if "chat-canary" in backend["name"] else "chat-epp"
        settings_of_one = backend["typed_per_filter_config"][EXT_PROC]["overrides"]
        settings_of_one["grpc_service"]["envoy_grpc"]["cluster_name"] = picker_cluster(service)
    assert {pool: picker for pool, (_, picker) in asked(mended, "models-shared.chat.0").items()} == {
        "chat": picker_cluster("chat-epp"),
        "chat-canary": picker_cluster("chat-canary-epp"),
    }


def picker_cluster(service):
    return f"outbound|9002||{service}.models-shared.svc.cluster.local"


def asked(configuration, rule):
    """Return weight and picker of each pool of a rule."""
    found = {}
    for backend in backends(configuration, rule):
        pool = re.fullmatch(r"outbound\|54321\|\|(.+)-ip-[0-9a-f]+\.models-shared\..+", backend.cluster)[1]
        found[pool] = (backend.weight, backend.picker)
    return found
