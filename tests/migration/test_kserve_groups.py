"""Route groups of LLMInferenceServices as services with canaries."""

import itertools
from typing import Any

import pytest

from cli.convert import PrintedConfiguration
from migration import contract, renderings
from migration.contract import Contract
from planning.ground import labels
from tests.support.migration import objects, places, stack

BIG = """
  replicas: 4
  parallelism: {tensor: 2}
  template:
    nodeSelector: {zone: a}
    tolerations: [{key: gpu, operator: Exists}]
    containers:
      - name: main
        image: ghcr.io/acme/vllm:v0.26.0
        args: [--enforce-eager, --seed=1]
        env: [{name: LEVEL, value: debug}]
        resources: {limits: {cpu: "8", nvidia.com/gpu: "2"}}
"""
SMALL = """
  template:
    containers:
      - name: main
        image: ghcr.io/acme/vllm:v0.27.0
        args: [--seed=2]
        env: [{name: MODE, value: fast}]
        resources: {limits: {memory: 64Gi, nvidia.com/gpu: "1"}}
        livenessProbe: {httpGet: {path: /alive, port: 8000}}
"""
SPLIT = """
  replicas: 2
  template: {containers: [{name: main, args: [--seed=3], resources: {limits: {nvidia.com/gpu: "1"}}}]}
  prefill:
    replicas: 3
    template: {containers: [{name: main, args: [--max-num-seqs=8], resources: {limits: {nvidia.com/gpu: "1"}}}]}
"""
OTHER_SPLIT = """
  template: {containers: [{name: main, env: [{name: A, value: "1"}], resources: {limits: {amd.com/gpu: "1"}}}]}
  prefill:
    parallelism: {tensor: 4}
    template:
      nodeSelector: {zone: b}
      containers: [{name: main, args: [--enforce-eager], resources: {limits: {amd.com/gpu: "4"}}}]
"""
PLAIN = "\n  replicas: 1\n"
SPECS = {"big": BIG, "small": SMALL, "split": SPLIT, "other-split": OTHER_SPLIT, "plain": PLAIN}
GATEWAY = "gateway: {refs: [{name: public, namespace: gateways}]}"


def member(name: str, weight: int = 1, spec: str = PLAIN, **settings: Any) -> str:
    """Return an LLMInferenceService of a group.

    Settings: group, model, router, which are further lines of the router, and stop, the value of the annotation.
    """
    router = settings.get("router", f"{GATEWAY}\n    scheduler: {{}}")
    return (
        "apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\n"
        f"metadata: {{name: {name}, namespace: ml, "
        f"annotations: {{serving.kserve.io/stop: '{settings.get('stop', 'false')}'}}}}\n"
        f"spec:\n  model: {{uri: 'hf://acme/{name}', name: {settings.get('model', 'acme/chat')}}}\n  router:\n"
        f"    route: {{group: {settings.get('group', 'chat')}, weight: {weight}}}\n    {router}{spec}"
    )


def convert(*members: str) -> PrintedConfiguration:
    return objects("\n---\n".join(members))


def services(printed: PrintedConfiguration) -> dict[str, Any]:
    return stack(printed)["services"]


def reasons(printed: PrintedConfiguration, fate: str) -> set[str]:
    """Return the reasons of a fate for weights."""
    notes = (note for note in printed.notes if str(note.path) == "spec.router.route.weight")
    return {note.reason for note in notes if note.fate == fate}


def contracts(printed: PrintedConfiguration) -> dict[tuple[str, str], Contract]:
    """Return the contracts by variant and role."""
    workloads = [workload for workload in renderings.workloads(printed.objects) if labels.ROLE in workload.labels]
    return {
        (workload.labels[labels.VARIANT], workload.labels[labels.ROLE]): contract.contract(workload)
        for workload in workloads
    }


def test_two_members_become_a_service_and_its_canary() -> None:
    """The member with the smaller weight is the canary, with its share in percent and what differs."""
    printed = convert(member("next", 1, SMALL), member("chat", 9, BIG))
    assert list(services(printed)) == ["chat"]
    chat = services(printed)["chat"]
    assert chat["route"]["matches"] == [{"path": "/ml/chat"}, {"path": "/ml/next"}]
    assert chat["model"] == {"source": "hf://acme/chat", "name": "acme/chat"}
    canary = chat["canary"]
    assert (canary["weight"], canary["model"]) == (10, {"source": "hf://acme/next"})
    assert canary["engine"]["withoutArgs"] == ["--enforce-eager"]
    assert canary["pod"] == {"nodeSelector": {"zone": None}, "tolerations": None}
    route = next(manifest for manifest in printed.objects if manifest["kind"] == "HTTPRoute")
    weights = [sorted(backend["weight"] for backend in rule["backendRefs"]) for rule in route["spec"]["rules"]]
    assert weights == [[10, 90], [10, 90]]
    assert not places(printed, "cannot")


@pytest.mark.parametrize(("primary", "canary"), list(itertools.permutations(SPECS, 2)))
def test_a_canary_serves_as_the_member_alone(primary: str, canary: str) -> None:
    """A role of the canary inherits no value of the primary that the member lacks."""
    members = member("chat", 9, SPECS[primary]), member("next", 1, SPECS[canary])
    joined = contracts(convert(*members))
    for variant, alone in zip(("primary", "canary"), members, strict=True):
        expected = contracts(convert(alone))
        assert {role for other, role in joined if other == variant} == {role for _, role in expected}
        for (_, role), values in expected.items():
            assert joined[variant, role] == values


@pytest.mark.parametrize(
    ("weights", "percentage", "fate"),
    [
        ((9, 1), 10, "carried"),
        ((1, 1), 50, "carried"),
        ((2, 1), 33, "differs"),
        ((999, 1), 1, "differs"),
        ((1, 0), 0, "carried"),
    ],
)
def test_weights_become_percentages(weights: tuple[int, int], percentage: int, fate: str) -> None:
    """A share that is no whole percentage differs. One above 0 stays above 0."""
    printed = convert(member("chat", weights[0]), member("next", weights[1]))
    assert services(printed)["chat"]["canary"]["weight"] == percentage
    assert bool(reasons(printed, "differs")) == (fate == "differs")
    assert not reasons(printed, "cannot")


NO_GATEWAY = "gateway: {}\n    scheduler: {}"
NO_PICKER = GATEWAY
OTHER_GATEWAY = "gateway: {refs: [{name: other}]}\n    scheduler: {}"


@pytest.mark.parametrize(
    ("members", "fate", "reason"),
    [
        ([member("chat", 1)], "ask", "name the files of the other members, too"),
        ([member("chat"), member("next"), member("third")], "cannot", "a service has one canary"),
        ([member("chat"), member("next", router=NO_PICKER)], "cannot", "both have an endpoint picker"),
        ([member("chat"), member("next", router=OTHER_GATEWAY)], "cannot", "different Gateways"),
        ([member("chat", 0), member("next", 0)], "cannot", "nobody gets requests"),
        ([member("chat"), member("next", model="acme/other")], "dropped", "share no requests"),
        ([member("chat").replace("group: chat, ", "")], "dropped", "within a group alone"),
        ([member("chat"), member("next", stop="true")], "dropped", "a stopped member gets no requests"),
    ],
)
def test_members_stay_apart_with_a_reason(members: list[str], fate: str, reason: str) -> None:
    """A service for each member, and a note about each weight whose meaning is lost."""
    printed = convert(*members)
    assert len(services(printed)) == len(members)
    assert all("canary" not in service for service in services(printed).values())
    assert any(reason in text for text in reasons(printed, fate))


def test_a_group_without_a_gateway_asks_for_it() -> None:
    """A canary without a share runs, and gets no requests until somebody names the Gateway."""
    printed = convert(member("chat", 9, router=NO_GATEWAY), member("next", 1, router=NO_GATEWAY))
    assert services(printed)["chat"]["canary"]["weight"] == 0
    assert reasons(printed, "ask") == {"a weight needs a gateway; 0 is taken"}


def test_groups_and_namespaces_are_kept_apart() -> None:
    """The control: the same members in another group or namespace."""
    assert len(services(convert(member("chat"), member("next", group="other")))) == 2
    elsewhere = member("next").replace("namespace: ml", "namespace: dev")
    assert len(services(convert(member("chat"), elsewhere))) == 2


def test_a_route_of_the_users_own_is_that_of_the_primary() -> None:
    """The route of the other member differs, and a note says so at its place."""
    own_route = member("next", 1).replace("weight: 1}", "weight: 1, http: {spec: {hostnames: [a.example.com]}}}")
    printed = convert(member("chat", 9), own_route)
    assert "hostnames" not in services(printed)["chat"]["route"]
    assert "spec.router.route.http.spec" in places(printed, "differs")


def test_the_rest_of_the_stack_is_that_of_both() -> None:
    """Needs of one member stay, and a contradiction is a note."""
    traced = "\n  tracing: {exporterEndpoint: 'http://a:4317'}"
    printed = convert(member("chat", 9), member("next", 1, traced))
    assert stack(printed)["observability"]["tracing"]["endpoint"] == "http://a:4317"
    printed = convert(member("chat", 9, traced.replace("//a", "//b")), member("next", 1, traced))
    assert any("another member of the group says something else" in note.reason for note in printed.notes)
