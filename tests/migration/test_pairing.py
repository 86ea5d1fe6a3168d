"""Pairs of workloads of two renderings."""

from typing import Any

from migration import conversion, pairing, renderings
from migration.accounts import Original
from migration.fields import table
from migration.pairing import ServiceFiles
from planning.ground import labels


def deployment(name: str, namespace: str = "ml", model: str = "acme/chat", **pod_labels: str) -> dict[str, Any]:
    container = {"name": "vllm", "args": ["--served-model-name", model]}
    template = {"metadata": {"labels": pod_labels}, "spec": {"containers": [container]}}
    return {"kind": "Deployment", "metadata": {"name": name, "namespace": namespace}, "spec": {"template": template}}


def ours(service: str, role: str = "decode", variant: str = "primary", model: str = "acme/chat") -> dict[str, Any]:
    marks = {labels.SERVICE: service, labels.ROLE: role, labels.VARIANT: variant}
    return deployment(f"{service}-{variant}-{role}", "ml", model, **marks)


def origin(source: str, key: str, tree: dict[str, Any]) -> ServiceFiles:
    return ServiceFiles(key, key, "ml", source, {"primary": Original("a.yaml", tree, table(source))})


def kserve(key: str, name: str = "") -> ServiceFiles:
    return origin("kserve", key, {"metadata": {"name": name or key, "namespace": "ml"}})


def chart(key: str) -> ServiceFiles:
    return origin("modelservice-chart", key, {})


def names(
    program: list[dict[str, Any]], others: list[dict[str, Any]], *origins: ServiceFiles
) -> tuple[dict[str, str | None], list[str]]:
    """Return the name of the other system's workload for each place, and the workloads of nobody."""
    result = pairing.pair(renderings.workloads(program), renderings.workloads(others), origins)
    pairs = {str(pair.place): pair.theirs and pair.theirs.name for pair in result.pairs}
    return pairs, [workload.name for workload in result.strangers]


def test_names_decide_service_and_role() -> None:
    """A name of the file that is no name here decides all the same; a role without pods has none."""
    program = [ours("chat"), ours("chat", "prefill"), ours("m-9b")]
    others = [deployment("9b-kserve-mn"), deployment("chat-kserve"), deployment("chat-kserve-router")]
    pairs, strangers = names(program, others, kserve("chat"), kserve("m-9b", "9b"))
    assert pairs == {"chat decode": "chat-kserve", "chat prefill": None, "m-9b decode": "9b-kserve-mn"}
    assert strangers == ["chat-kserve-router"]


def test_another_namespace_is_another_service() -> None:
    """A rendering without a namespace is that of any."""
    assert names([ours("chat")], [deployment("chat-kserve", "dev")], kserve("chat")) == (
        {"chat decode": None},
        ["chat-kserve"],
    )
    assert names([ours("chat")], [deployment("chat-kserve", "")], kserve("chat"))[0] == {"chat decode": "chat-kserve"}


def test_a_canary_has_its_own_workload() -> None:
    """One file of zerfoo has both variants, and two files of KServe have one each."""
    tree = {"name": "chat", "namespace": "ml"}
    program = [ours("chat"), ours("chat", variant="canary")]
    both = {"chat decode": "chat-primary", "chat canary decode": "chat-canary"}
    others = [deployment("chat-primary"), deployment("chat-canary")]
    assert names(program, others, origin("zerfoo", "chat", tree)) == (both, [])
    first = kserve("chat")
    second = kserve("next").originals["primary"]
    group = ServiceFiles("chat", "chat", "ml", "kserve", {**first.originals, "canary": second})
    others = [deployment("chat-kserve"), deployment("next-kserve")]
    assert names(program, others, group)[0] == {"chat decode": "chat-kserve", "chat canary decode": "next-kserve"}


def test_the_model_decides_where_the_file_has_no_name() -> None:
    """The name of a release of a chart is in no file."""
    program = [ours("chat"), ours("code", model="acme/code")]
    others = [deployment("a-decode", model="acme/code"), deployment("b-decode"), deployment("b-prefill")]
    pairs, strangers = names(program, others, chart("chat"), chart("code"))
    assert pairs == {"chat decode": "b-decode", "chat prefill": "b-prefill", "code decode": "a-decode"}
    assert strangers == []


def test_the_only_service_left_has_the_only_workloads_left() -> None:
    """With two of either, nothing is guessed."""
    program = [ours("chat", model="x")]
    assert names(program, [deployment("a-decode")], chart("chat"))[0] == {"chat decode": "a-decode"}
    others = [deployment("a-decode"), deployment("b-decode")]
    assert names(program, others, chart("chat")) == ({"chat decode": None}, ["a-decode", "b-decode"])


def test_services_with_one_model_are_not_guessed() -> None:
    """Two releases of a chart that serve the same model are not told apart by it."""
    others = [deployment("a-decode"), deployment("b-decode")]
    pairs, strangers = names([ours("chat"), ours("more")], others, chart("chat"), chart("more"))
    assert (set(pairs.values()), strangers) == ({None}, ["a-decode", "b-decode"])


def test_objects_of_this_program_are_their_own_counterparts() -> None:
    """A rendering of this program can be compared too."""
    assert names([ours("chat")], [ours("chat")], chart("chat"))[0] == {"chat decode": "chat-primary-decode"}


def test_every_source_says_how_it_names_workloads() -> None:
    """Otherwise `--compare` finds nothing of the source."""
    assert [source for source in conversion.READERS if not pairing.rows(source)] == []
