"""Serving contracts: converted services serve as the objects of the other systems do, and every change is told."""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path as File
from typing import Any

import pytest

from cli.convert import PrintedConfiguration, compare, convert
from migration.contract import RenderingComparison
from migration.files import RawDocument, documents
from tests.heritage.fidelity import canonical
from tests.heritage.fidelity.deviation import mapped
from tests.heritage.fidelity.mapping import DEVIATIONS
from tests.heritage.fidelity.scenarios import SCENARIOS
from tests.support.migration import objects

SAMPLES = File(__file__).with_name("samples")
WORKLOADS = ("Deployment decode", "Deployment prefill")
TOLERATION = {"key": "seeded", "operator": "Exists"}


@dataclass(frozen=True)
class Peer:
    """A service of another system, and what that system makes of it."""

    files: str
    """Path of its file below the samples, without `.yaml`. Files with `-companions` and `-rendered` are beside it."""
    origin: str | None = None
    """Name for `--from`."""
    scenario: str = ""
    """Scenario of the model-operator, whose objects have fingerprints; empty: the objects are in the file."""

    def documents(self) -> tuple[list[RawDocument], list[RawDocument]]:
        """Return the documents of the service, and those beside them."""
        return self._documents(""), self._documents("-companions")

    def rendered(self) -> list[dict[str, Any]]:
        if self.scenario:
            return operators_objects(self.scenario)
        return [dict(document.tree) for document in self._documents("-rendered")]

    def _documents(self, ending: str) -> list[RawDocument]:
        path = SAMPLES / f"{self.files}{ending}.yaml"
        return documents(path.read_text(encoding="utf-8"), path.name) if path.exists() else []


PEERS = {
    "modelservice-min": Peer("gold/min", scenario="min"),
    "modelservice-full": Peer("gold/full", scenario="full"),
    "modelservice-alt": Peer("gold/alt", scenario="alt"),
    "kserve": Peer("peers/kserve"),
    "modelservice-chart": Peer("peers/modelservice-chart", "llm-d-modelservice"),
    "zerfoo": Peer("peers/zerfoo", "zerfoo"),
    "aim": Peer("peers/aim"),
}


def operators_objects(name: str) -> list[dict[str, Any]]:
    """Return the model-operator's own workloads of a scenario, which their fingerprints prove."""
    scenario = SCENARIOS[name]
    ours = scenario.ours()
    manifests = [mapped(ours[part], part, name, DEVIATIONS) for part in WORKLOADS if part in scenario.fingerprints]
    prints = [scenario.fingerprints[part] for part in WORKLOADS if part in scenario.fingerprints]
    assert [canonical.fingerprint(manifest) for manifest in manifests] == prints
    return json.loads(json.dumps(manifests))


@cache
def converted(peer: Peer) -> PrintedConfiguration:
    return convert(*peer.documents(), peer.origin, "ml")


def comparison(peer: Peer, manifests: list[dict[str, Any]]) -> RenderingComparison:
    return compare(converted(peer), [RawDocument("rendered.yaml", manifest) for manifest in manifests])


def lines(peer: Peer, manifests: list[dict[str, Any]]) -> list[str]:
    return [str(difference) for difference in comparison(peer, manifests).surprising]


def pod(workload: dict[str, Any]) -> dict[str, Any]:
    if workload["kind"] == "InferenceService":
        return workload["spec"]["predictor"]
    return workload["spec"]["template"]["spec"]


def engine(workload: dict[str, Any]) -> dict[str, Any]:
    return pod(workload)["containers"][0]


def serving(manifests: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the workloads with engines."""
    for manifest in manifests:
        is_workload = manifest["kind"] in {"Deployment", "InferenceService"}
        if is_workload and not manifest["metadata"]["name"].endswith("scheduler"):
            yield manifest


@pytest.mark.parametrize("name", PEERS)
def test_a_converted_service_serves_as_the_objects_of_the_other_system(name: str) -> None:
    """Every role and the canary have only differences that a note or the table announces."""
    peer = PEERS[name]
    rendered = peer.rendered()
    assert lines(peer, rendered) == []
    compared = {difference.place for difference in comparison(peer, rendered).differences}
    assert len(compared) == len(list(serving(rendered)))


SEEDS: dict[str, Callable[[dict[str, Any]], object]] = {
    "image": lambda workload: engine(workload).update(image="registry.example/other:1"),
    "arguments": lambda workload: engine(workload).setdefault("args", []).append("--enforce-eager=seeded"),
    "environment": lambda workload: engine(workload).setdefault("env", []).append({"name": "SEEDED", "value": "1"}),
    "devices": lambda workload: engine(workload)["resources"].update(limits={"nvidia.com/gpu": "7"}),
    "replicas": lambda workload: workload["spec"].get("predictor", workload["spec"]).update(replicas=9, minReplicas=9),
    "ports": lambda workload: engine(workload)["ports"][0].update(containerPort=9999),
    "probes": lambda workload: engine(workload).update(startupProbe={"httpGet": {"path": "/seeded", "port": 1}}),
    "nodes": lambda workload: pod(workload).update(nodeSelector={"seeded": "1"}),
    "tolerations": lambda workload: pod(workload).setdefault("tolerations", []).append(TOLERATION),
}
"""A change of a workload for each part of the contract."""


@pytest.mark.parametrize("part", SEEDS)
@pytest.mark.parametrize("name", PEERS)
def test_a_change_of_the_other_systems_objects_is_told(name: str, part: str) -> None:
    """Each change of each workload is told at its part, and nothing else is."""
    peer = PEERS[name]
    rendered = peer.rendered()
    for index in range(len(list(serving(rendered)))):
        changed = copy.deepcopy(rendered)
        SEEDS[part](list(serving(changed))[index])
        changes = comparison(peer, changed).surprising
        assert {difference.part for difference in changes} == {part}, index
        assert len({difference.place for difference in changes}) == 1
        assert any(difference.side == "theirs" for difference in changes)


def words(workload: dict[str, Any]) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yield a change for each argument and each variable of a workload."""

    def argument(index: int) -> Callable[[dict[str, Any]], None]:
        def change(changed: dict[str, Any]) -> None:
            engine(changed)["args"][index] += "0"

        return change

    def variable(index: int) -> Callable[[dict[str, Any]], None]:
        def change(changed: dict[str, Any]) -> None:
            entry = engine(changed)["env"][index]
            entry["value" if "value" in entry else "name"] += "0"

        return change

    for index, word in enumerate(engine(workload).get("args", [])):
        if word != "serve":
            yield argument(index)
    for index in range(len(engine(workload).get("env", []))):
        yield variable(index)


@pytest.mark.parametrize("name", PEERS)
def test_no_announcement_hides_another_value(name: str) -> None:
    """An argument or a variable with another value is told, although the table announces some of them."""
    peer = PEERS[name]
    printed = converted(peer)
    rendered = peer.rendered()
    hidden = list[str]()
    for index, workload in enumerate(serving(rendered)):
        for number, change in enumerate(words(workload)):
            changed = copy.deepcopy(rendered)
            change(list(serving(changed))[index])
            raw = [RawDocument("rendered.yaml", manifest) for manifest in changed]
            if not compare(printed, raw).surprising:
                hidden.append(f"{workload['metadata']['name']} {number}")
    assert hidden == []


def test_what_has_no_counterpart_is_told() -> None:
    """A workload of nobody, a role that lacks, a picker and objects without pods."""
    peer = PEERS["kserve"]
    rendered = peer.rendered()
    stranger = copy.deepcopy(rendered[0])
    stranger["metadata"]["name"] = "other-kserve"
    compared = comparison(peer, [rendered[0], stranger, *rendered[2:]])
    assert [str(difference) for difference in compared.surprising] == [
        "chat prefill pods: only ours: the other rendering has no such pods",
        "Deployment ml/other-kserve pods: only theirs: no service of the configuration has its pods",
    ]
    assert [str(workload) for workload in compared.without_engine] == ["Deployment ml/chat-kserve-router-scheduler"]
    assert dict(compared.other_kinds) == {"Service": 1}


def test_services_of_one_rendering_are_kept_apart() -> None:
    """Two services with the same roles: each is compared with its own pods, also in another namespace."""
    chat = (SAMPLES / "peers/kserve.yaml").read_text(encoding="utf-8")
    companions = (SAMPLES / "peers/kserve-companions.yaml").read_text(encoding="utf-8")
    rendered = (SAMPLES / "peers/kserve-rendered.yaml").read_text(encoding="utf-8")

    def other(text: str) -> str:
        return text.replace("chat-kserve", "code-kserve").replace("name: chat", "name: code").replace("/ml/", "/dev/")

    def elsewhere(text: str) -> str:
        return other(text).replace("namespace: ml", "namespace: dev").replace("replicas: 3", "replicas: 5")

    printed = objects(f"{chat}---\n{elsewhere(chat)}", companions)
    both = documents(f"{rendered}---\n{elsewhere(rendered)}", "rendered.yaml")
    assert compare(printed, both).surprising == ()
    swapped = documents(f"{rendered}---\n{other(rendered).replace('namespace: ml', 'namespace: dev')}", "rendered.yaml")
    assert [str(difference) for difference in compare(printed, swapped).surprising] == [
        "code decode replicas: only ours: 5",
        "code decode replicas: only theirs: 3",
    ]


def test_a_member_of_a_group_is_compared_as_a_canary() -> None:
    """KServe renders two services for what is one service here."""
    router = "router: {route: {group: chat, weight: 9}, gateway: {refs: [{name: public}]}, scheduler: {}}"
    chat = (SAMPLES / "peers/kserve.yaml").read_text(encoding="utf-8").replace("router: {scheduler: {}}", router)
    canary = chat.replace("weight: 9", "weight: 1").replace("name: chat,", "name: next,").replace("chat-7b", "chat-8b")
    companions = (SAMPLES / "peers/kserve-companions.yaml").read_text(encoding="utf-8")
    rendered = (SAMPLES / "peers/kserve-rendered.yaml").read_text(encoding="utf-8")
    changed = rendered.replace("chat-kserve", "next-kserve").replace('--max-num-seqs, "64"', "--seed=1")
    both = documents(f"{rendered}---\n{changed}", "rendered.yaml")
    printed = objects(f"{chat}---\n{canary}", companions)
    assert [str(difference) for difference in compare(printed, both).surprising] == [
        "chat canary decode arguments: only ours: --max-num-seqs=64",
        "chat canary decode arguments: only theirs: --seed=1",
    ]


def test_a_credential_of_a_rendering_is_not_shown() -> None:
    """A credential has no place in a report."""
    token = "hf_" + "aB3dE6gH9j" * 4
    peer = PEERS["modelservice-min"]
    rendered = peer.rendered()
    engine(rendered[0])["env"].append({"name": "HF_TOKEN", "value": token})
    shown = lines(peer, rendered)
    assert any("HF_TOKEN" in line for line in shown)
    assert token not in "".join(shown)


def test_two_inference_services_are_told_apart_by_their_label() -> None:
    """Their names have a hash, and their arguments no model."""
    texts = {
        ending: (SAMPLES / f"peers/aim{ending}.yaml").read_text(encoding="utf-8")
        for ending in ("", "-companions", "-rendered")
    }

    def other(text: str) -> str:
        return text.replace("name: chat,", "name: code,").replace("service: chat", "service: code")

    both = [f"{texts[ending]}---\n{other(texts[ending])}" for ending in ("", "-rendered")]
    printed = objects(both[0], texts["-companions"])
    assert compare(printed, documents(both[1], "rendered.yaml")).surprising == ()
    changed = both[1].replace("minReplicas: 3", "minReplicas: 2", 1)
    assert [str(difference) for difference in compare(printed, documents(changed, "rendered.yaml")).surprising] == [
        "chat decode replicas: only ours: 3",
        "chat decode replicas: only theirs: 2",
    ]
